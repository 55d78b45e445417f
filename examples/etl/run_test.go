package main

import (
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// reference extracts the functions of a tree one after the other, without any of the program's code.
func reference(t *testing.T, root string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		set := token.NewFileSet()
		file, err := goparser.ParseFile(set, path, nil, goparser.ParseComments)
		if err != nil {
			return nil //nolint:nilerr // such a file has no functions
		}
		rel, err := filepath.Rel(root, path)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				at := set.PositionFor(f.Type.Func, false)
				end := set.PositionFor(f.End(), false).Line
				found = append(found, fmt.Sprint(filepath.ToSlash(rel), at.Line, at.Column, file.Name.Name, " ", f.Name.Name,
					end-at.Line+1, token.IsExported(f.Name.Name)))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (f *function) String() string {
	name := f.name[strings.LastIndex(f.name, ".")+1:]
	return fmt.Sprint(f.file, f.line, f.col, f.pkg, " ", name, f.lines, f.exported)
}

func TestLoadsWhatASequentialProgramFinds(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	src, db := filepath.Join(strings.TrimSpace(string(root)), "src", "net"), newDB(t)
	s := mustLoad(t, "-src", src, "-db", db, "-parsers", "3")
	want := reference(t, src)
	var got []string
	for _, r := range rows(t, db) {
		got = append(got, r.String())
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%d rows differ from the %d of the reference", len(got), len(want))
	}
	if n := int64(len(want)); s.Extracted != n || s.Loaded != n || s.Dropped != 0 {
		t.Errorf("extracted %d, loaded %d, dropped %d, want %d, %d, 0", s.Extracted, s.Loaded, s.Dropped, n, n)
	}
	if s.Files != s.Parsed+s.Failed || s.edge(t, "files").In != s.Files {
		t.Errorf("files %d, parsed %d, failed %d, through the edge %d: they don't add up", s.Files, s.Parsed, s.Failed, s.edge(t, "files").In)
	}
}

func TestSecondRunGivesTheSameTable(t *testing.T) {
	src, db := tree(t, 20, 30), newDB(t)
	mustLoad(t, "-src", src, "-db", db)
	first := rows(t, db)
	checkPrefix(t, first)
	mustLoad(t, "-src", src, "-db", db, "-batch", "7", "-parsers", "1")
	if second := rows(t, db); len(first) != 600 || !slices.Equal(first, second) {
		t.Fatalf("a second run turned %d rows into %d others, want the same 600", len(first), len(second))
	}
}

func TestTwoDeclarationsOnOneLineStayApart(t *testing.T) {
	src, db := t.TempDir(), newDB(t)
	write(t, filepath.Join(src, "a.go"), "package a\n\nfunc A() {}; func B() {}\n")
	write(t, filepath.Join(src, "b.go"), "package b\n\n//line c.go:1:1\nfunc A() {}\n\n//line c.go:1:1\nfunc B() {}\n")
	if s := mustLoad(t, "-src", src, "-db", db); s.Loaded != 4 {
		t.Errorf("loaded %d, want 4", s.Loaded)
	}
	got := rows(t, db)
	if len(got) != 4 {
		t.Fatalf("the table has %d rows, want 4", len(got))
	}
	checkPrefix(t, got)
}

func TestPolicies(t *testing.T) {
	const all, depth = 500, 10
	tests := map[string]func(t *testing.T, s summary, seqs []int64){
		"block": func(t *testing.T, s summary, _ []int64) {
			t.Helper()
			e := s.edge(t, "functions")
			if s.Loaded != all || e.MaxDepth != depth || e.BlockedSeconds == 0 {
				t.Errorf("loaded %d, highest %d, blocked for %v s; want %d, %d and some", s.Loaded, e.MaxDepth, e.BlockedSeconds, all, depth)
			}
		},
		"drop-newest": func(t *testing.T, s summary, seqs []int64) {
			t.Helper()
			if s.Dropped == 0 || !slices.Equal(seqs[:depth], span(1, depth)) {
				t.Errorf("dropped %d, loaded %v first; want some dropped, and none of the first %d", s.Dropped, seqs[:depth], depth)
			}
		},
		"drop-oldest": func(t *testing.T, s summary, seqs []int64) {
			t.Helper()
			if last := seqs[len(seqs)-depth:]; s.Dropped == 0 || !slices.Equal(last, span(all-depth+1, all)) {
				t.Errorf("dropped %d, loaded %v last; want some dropped, and none of the last %d", s.Dropped, last, depth)
			}
		},
	}
	for _, through := range throughs {
		for policy, check := range tests {
			t.Run(through+"/"+policy, func(t *testing.T) {
				t.Parallel()
				db, slow := newDB(t), "20ms"
				if policy == "block" {
					slow = "1ms"
				}
				s := mustLoad(t, "-src", tree(t, 1, all), "-db", db, "-through", through, "-depth", strconv.Itoa(depth),
					"-batch", "5", "-slow", slow, "-on-full", policy)
				var seqs []int64
				for _, r := range rows(t, db) {
					seqs = append(seqs, r.seq)
				}
				if s.Extracted != all || s.Loaded+s.Dropped != all || s.Loaded != int64(len(seqs)) || s.Left != 0 {
					t.Errorf("extracted %d, loaded %d (%d rows), dropped %d, left %d: they don't add up to %d",
						s.Extracted, s.Loaded, len(seqs), s.Dropped, s.Left, all)
				}
				check(t, s, seqs)
			})
		}
	}
}

// span returns the numbers from first to last.
func span(first, last int64) (all []int64) {
	for i := first; i <= last; i++ {
		all = append(all, i)
	}
	return all
}

func TestRejectFailsWithTheNameOfTheEdge(t *testing.T) {
	db := newDB(t)
	code, stdout, stderr := etl(t, "-through", "none", "-src", tree(t, 1, 500), "-db", db, "-depth", "10", "-batch", "5", "-slow", "20ms", "-on-full", "reject", "-json")
	if code != exitFailed {
		t.Errorf("exit %d, want %d", code, exitFailed)
	}
	if want := `edge "functions" is full (capacity 10`; !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("stderr = %q, want one line with %q", stderr, want)
	}
	got := rows(t, db)
	if s := decode(t, stdout); s.Loaded != int64(len(got)) || len(got)%5 != 0 {
		t.Errorf("loaded %d and %d rows are there, want as many, in whole batches of 5", s.Loaded, len(got))
	}
	checkPrefix(t, got)
}

func TestRejectLeavesWhatTheStreamHasConfirmed(t *testing.T) {
	db, src := newDB(t), tree(t, 1, 500)
	code, stdout, stderr := etl(t, "-src", src, "-db", db, "-depth", "10", "-batch", "5", "-slow", "20ms", "-on-full", "reject", "-json")
	if code != exitFailed || !strings.Contains(stderr, "functions.in") || !strings.Contains(stderr, "stream is full") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit %d and %q, want exit %d and one line that names functions.in and a full stream", code, stderr, exitFailed)
	}
	s, got := decode(t, stdout), int64(len(rows(t, db)))
	if s.Loaded != got || s.Left == 0 || s.Loaded+s.Left != s.Published {
		t.Errorf("loaded %d (%d rows), left %d, confirmed %d; want as many rows, and the rest left", s.Loaded, got, s.Left, s.Published)
	}
	if load := mustLoad(t, "-half", "load", "-db", db); load.Found != s.Left || load.Loaded != s.Left || load.Left != 0 {
		t.Errorf("then %d were found, %d loaded and %d left, want %d, %d, 0", load.Found, load.Loaded, load.Left, s.Left, s.Left)
	}
}

func TestWhatCannotBeReadOrParsedIsCountedAndListed(t *testing.T) {
	src := tree(t, 3, 2)
	write(t, filepath.Join(src, "a", "broken.go"), "package a\n\nfunc {\n")
	for link, target := range map[string]string{"gone.go": "nowhere", "folder.go": "d0"} {
		if err := os.Symlink(target, filepath.Join(src, link)); err != nil {
			t.Skipf("NO SYMBOLIC LINKS HERE, unreadable files are not tested: %v", err)
		}
	}
	code, stdout, stderr := etl(t, "-src", src, "-db", newDB(t))
	if code != exitDone {
		t.Fatalf("exit %d, want %d; it said %q", code, exitDone, stderr)
	}
	for _, want := range []string{
		"6 files: 3 parsed, 3 failed; 6 functions: 6 loaded, 0 dropped", "failed: 3\n", "is the bottleneck",
		"a/broken.go:3:6: ", "folder.go: not a regular file", "gone.go: no such file", "complexity  lines  name", "d0/f0000.go:3",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the summary has no %q:\n%s", want, stdout)
		}
	}
}

func TestMistakesAreToldInOneLine(t *testing.T) {
	src := tree(t, 1, 1)
	write(t, filepath.Join(src, "no.db"), strings.Repeat("this is no database. ", 100))
	tests := map[string]struct {
		args []string
		code int
		want string
	}{
		"policy unknown":     {[]string{"-on-full", "explode"}, exitUsage, "drop-oldest or reject"},
		"depth 0":            {[]string{"-depth", "0"}, exitUsage, "-depth must be"},
		"batch 0":            {[]string{"-batch", "0"}, exitUsage, "-batch must be"},
		"parsers 0":          {[]string{"-parsers", "0"}, exitUsage, "-parsers must be"},
		"slow below 0":       {[]string{"-slow", "-1s"}, exitUsage, "-slow must be"},
		"no database":        {[]string{"-db", ""}, exitUsage, "-db must not be empty"},
		"broker unknown":     {[]string{"-through", "post"}, exitUsage, "jetstream, memory or none"},
		"half unknown":       {[]string{"-half", "quarter"}, exitUsage, "extract or load"},
		"half of an edge":    {[]string{"-half", "load", "-through", "none"}, exitUsage, "-half needs -through jetstream"},
		"half in memory":     {[]string{"-half", "extract", "-through", "memory"}, exitUsage, "-half needs -through jetstream"},
		"resume in memory":   {[]string{"-resume", "-through", "memory"}, exitUsage, "-resume needs -through jetstream or none"},
		"server for an edge": {[]string{"-nats", "nats://127.0.0.1", "-through", "none"}, exitUsage, "-nats needs -through jetstream"},
		"resume a load":      {[]string{"-half", "load", "-resume"}, exitUsage, "-resume is for the walk"},
		"argument":           {[]string{"here"}, exitUsage, `unexpected argument "here"`},
		"flag unknown":       {[]string{"-fast"}, exitUsage, "-fast"},
		"folder missing":     {[]string{"-src", filepath.Join(src, "nowhere")}, exitFailed, "nowhere"},
		"folder is a file":   {[]string{"-src", filepath.Join(src, "no.db")}, exitFailed, "no.db"},
		"database is none":   {[]string{"-src", src, "-db", filepath.Join(src, "no.db")}, exitFailed, "not a database"},
		"database elsewhere": {[]string{"-src", src, "-db", filepath.Join(src, "nowhere", "x.db")}, exitFailed, "unable to open"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			code, stdout, stderr := etl(t, tt.args...)
			if code != tt.code || stdout != "" {
				t.Errorf("etl %q = exit %d and %q on stdout, want exit %d and nothing", tt.args, code, stdout, tt.code)
			}
			if strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, tt.want) {
				t.Errorf("stderr = %q, want one line with %q", stderr, tt.want)
			}
			if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
				t.Errorf("it left %v behind (%v), want nothing", left, err)
			}
		})
	}
}

func TestHelpNamesTheFlags(t *testing.T) {
	code, _, stderr := etl(t, "-h")
	if code != exitDone || !strings.Contains(stderr, "-on-full policy") {
		t.Errorf("etl -h = exit %d and %q, want exit %d and the flags", code, stderr, exitDone)
	}
}
