package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBadLinesAreInTheFile(t *testing.T) {
	file := t.TempDir() + "/rejected.jsonl"
	var out bytes.Buffer
	if err := run(t.Context(), strings.NewReader(input), file, &out); err != nil {
		t.Fatalf("run() = %v, want nil", err)
	}
	if got, want := out.String(), "a: 300, b: 1000; 3 lines are in "+file+"\n"; got != want {
		t.Fatalf("output = %q, want %q", got, want)
	}
	rejected, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(rejected), "\n"), "\n")
	parts := []string{`\"many\"`, `"line":"not JSON at all"`, `"error":"no account"`}
	if len(lines) != len(parts) {
		t.Fatalf("the file has %d lines, want %d: %s", len(lines), len(parts), rejected)
	}
	for i, part := range parts {
		if !strings.Contains(lines[i], part) || !strings.Contains(lines[i], `"stage":"parse"`) {
			t.Errorf("line %d = %s, want %s and the stage in it", i, lines[i], part)
		}
	}
}

func TestAFileThatCannotBeMadeIsAnError(t *testing.T) {
	if err := run(t.Context(), strings.NewReader(input), t.TempDir()+"/no/such/directory", nil); err == nil {
		t.Fatal("run() = nil, want the error of the file")
	}
}
