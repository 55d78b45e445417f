package main

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLinesComeInTheOrderOfTime(t *testing.T) {
	t.Chdir("testdata")
	var out bytes.Buffer
	if err := run(t.Context(), []string{"web.log", "empty.log", "db.log"}, &out); err != nil {
		t.Fatalf("run() = %v, want nil", err)
	}
	want := "db.log\t2026-01-01T00:00:01Z started\n" +
		"web.log\t2026-01-01T00:00:02Z GET /\n" +
		"web.log\t2026-01-01T00:00:05Z GET /a\n" + // at the same time: the earlier argument first
		"db.log\t2026-01-01T00:00:05Z query\n" +
		"web.log\t2026-01-01T00:00:09Z stop\n"
	if got := out.String(); got != want {
		t.Fatalf("output = %q, want %q", got, want)
	}
}

func TestAFileThatIsNotThereIsAnError(t *testing.T) {
	var out bytes.Buffer
	err := run(t.Context(), []string{filepath.Join(t.TempDir(), "none.log")}, &out)
	if !errors.Is(err, fs.ErrNotExist) || out.Len() > 0 {
		t.Fatalf("run() = %v and output %q, want %v and none", err, out.String(), fs.ErrNotExist)
	}
}
