package main

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// asProgram makes the test binary the program, so that a test can send it signals.
const asProgram = "WEIR_ETL_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// etl runs the program in this process.
func etl(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return code, out.String(), errs.String()
}

// mustLoad runs the program with -json, and expects it to succeed.
func mustLoad(t *testing.T, args ...string) summary {
	t.Helper()
	code, stdout, stderr := etl(t, append(args, "-json")...)
	if code != exitDone {
		t.Fatalf("etl %v = exit %d, want %d; it said %q", args, code, exitDone, stderr)
	}
	return decode(t, stdout)
}

// decode reads the one object that -json prints.
func decode(t *testing.T, text string) (s summary) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		t.Fatalf("-json printed %q: %v", text, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		t.Fatalf("-json printed more than one object: %q", text)
	}
	return s
}

// edge returns the edge of a name.
func (s summary) edge(t *testing.T, name string) edge {
	t.Helper()
	for _, e := range s.Edges {
		if e.Name == name {
			return e
		}
	}
	t.Fatalf("there is no edge %q among %v", name, s.Edges)
	return edge{}
}

// tree writes n files with the functions F0, F1, ... each.
func tree(t *testing.T, files, functions int) string {
	t.Helper()
	var src strings.Builder
	src.WriteString("package p\n\n")
	for i := range functions {
		fmt.Fprintf(&src, "func F%d() {}\n", i)
	}
	dir := t.TempDir()
	for i := range files {
		write(t, filepath.Join(dir, fmt.Sprintf("d%d", i%7), fmt.Sprintf("f%04d.go", i)), src.String())
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// newDB returns the name of a database that is not there yet.
func newDB(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "new.db")
}

// stored is a row of the table.
type stored struct {
	function
	loads int
}

// rows returns the table, in order of seq.
func rows(t *testing.T, file string) []stored {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var sound string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&sound); err != nil || sound != "ok" {
		t.Fatalf("integrity_check of %s = %q, %v, want ok", file, sound, err)
	}
	found, err := db.Query("SELECT " + strings.Join(columns, ", ") + ", loads FROM functions ORDER BY seq, file, line, col")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = found.Close() }()
	var all []stored
	for found.Next() {
		var r stored
		if err := found.Scan(r.places()...); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// places are those for a row of all columns.
func (r *stored) places() []any { return append(r.function.places(), &r.loads) }

// checkPrefix checks that the rows are those of the first functions, each written once.
func checkPrefix(t *testing.T, got []stored) {
	t.Helper()
	for i, r := range got {
		if r.seq != int64(i+1) || r.loads != 1 {
			t.Fatalf("row %d has seq %d and loads %d, want seq %d and loads 1", i, r.seq, r.loads, i+1)
		}
	}
}
