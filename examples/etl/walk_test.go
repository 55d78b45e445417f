package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// watched is a tree that notes which folders are read, and has some that can't be.
type watched struct {
	fstest.MapFS
	read []string
	bad  string
}

func (w *watched) ReadDir(name string) ([]fs.DirEntry, error) {
	w.read = append(w.read, name)
	if name == w.bad {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return w.MapFS.ReadDir(name)
}

func newWatched(bad string) *watched {
	return &watched{bad: bad, MapFS: fstest.MapFS{
		"b.go": {}, "a/2.go": {}, "a/1.go": {}, "a/x/3.go": {}, "a/notes.txt": {}, "c/4.go": {}, "c/dir.go/5.go": {},
	}}
}

func TestWalkIsSortedAndDepthFirst(t *testing.T) {
	var got []string
	for path, err := range walk(newWatched(""), nil) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, path)
	}
	if want := strings.Fields("a/1.go a/2.go a/x/3.go b.go c/4.go c/dir.go/5.go"); !slices.Equal(got, want) {
		t.Errorf("walk() = %v, want %v", got, want)
	}
}

func TestWalkReadsAFolderWhenItGetsThere(t *testing.T) {
	w := newWatched("")
	for path, err := range walk(w, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if path == "a/2.go" {
			break
		}
	}
	if want := []string{".", "a"}; !slices.Equal(w.read, want) {
		t.Errorf("for the first two files walk read %v, want %v", w.read, want)
	}
}

func TestWalkGoesOnBehindAFolderThatCannotBeRead(t *testing.T) {
	var got, failed []string
	for path, err := range walk(newWatched("a"), func(path string, err error) { failed = append(failed, fmt.Sprint(path, ": ", err)) }) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, path)
	}
	if want := strings.Fields("b.go c/4.go c/dir.go/5.go"); !slices.Equal(got, want) {
		t.Errorf("walk() = %v, want %v", got, want)
	}
	if want := []string{"a: open a: permission denied"}; !slices.Equal(failed, want) {
		t.Errorf("failed = %q, want %q", failed, want)
	}
}

func TestWalkFailsIfTheRootCannotBeRead(t *testing.T) {
	var errs []error
	for _, err := range walk(newWatched("."), nil) {
		errs = append(errs, err)
	}
	if len(errs) != 1 || !errors.Is(errs[0], fs.ErrPermission) {
		t.Errorf("walk() gave the errors %v, want one: %v", errs, fs.ErrPermission)
	}
}

func TestFailuresKeepsTheFirstFewInOrder(t *testing.T) {
	f := &failures{}
	for i := range 25 {
		f.add(fmt.Sprintf("%02d.go", (i*7)%25), errors.New("no"))
	}
	var out bytes.Buffer
	f.print(&out)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if f.count() != 25 || len(lines) != 12 || lines[0] != "failed: 25" || lines[1] != "  00.go: no" || lines[10] != "  09.go: no" || lines[11] != "  and 15 more" {
		t.Errorf("it lists\n%s\nwant 00.go to 09.go of 25, and 15 more", out.String())
	}
}
