package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestQuickstart(t *testing.T) {
	in, out := t.TempDir()+"/in", t.TempDir()+"/out"
	if err := os.WriteFile(in, []byte("1\n2\nthree\n4\n5"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := redirected(t, in, out), "1\n4\n16\n25\n"; got != want {
		t.Fatalf("output = %q, want %q", got, want)
	}
}

// redirected runs the program with files for its input and output, and returns the output.
func redirected(t *testing.T, in, out string) string {
	t.Helper()
	stdin, stdout := os.Stdin, os.Stdout
	defer func() { os.Stdin, os.Stdout = stdin, stdout }()
	var err error
	if os.Stdin, err = os.Open(in); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Stdin.Close() }() // the file's: only read
	if os.Stdout, err = os.Create(out); err != nil {
		t.Fatal(err)
	}
	main()
	if err := os.Stdout.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The program is the README's, to the letter.
func TestReadmeHasTheProgram(t *testing.T) {
	readme, err := os.Open("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = readme.Close() }() // only read
	text, err := io.ReadAll(readme)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(program), "\n") // behind the package comment
	if !strings.Contains(string(text), "```go\n"+code+"```") {
		t.Fatal("README.md lacks the code of quickstart/main.go")
	}
}
