package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestQuickstart(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), strings.NewReader(lines), &out); err != nil {
		t.Fatalf("run() = %v, want no error", err)
	}
	if got, want := out.String(), "[1 4 16]\n[25 36 49]\n"; got != want {
		t.Fatalf("output = %q, want %q", got, want)
	}
}
