package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

// holes adds files without functions, and ones that don't parse, to a tree: they are places to go on behind, too.
func holes(t *testing.T, src string) {
	t.Helper()
	for i := range 7 {
		dir := filepath.Join(src, fmt.Sprintf("d%d", i))
		write(t, filepath.Join(dir, "a.go"), "package p\n")
		write(t, filepath.Join(dir, "f0100broken.go"), "package p\n\nfunc {\n")
		write(t, filepath.Join(dir, "z.go"), "no Go at all")
	}
}

// savedPlace returns the place in the database, the zero place if there is none.
func savedPlace(t *testing.T, file string) (at place) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var text string
	err = db.QueryRow("SELECT position FROM positions").Scan(&text)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &at)
	}
	if err != nil && err != sql.ErrNoRows { //nolint:errorlint // as it comes from Scan
		t.Fatal(err)
	}
	return at
}

// loadsOf returns how often the rows have been written, one by one, and takes the number off them.
func loadsOf(all []stored) (total int) {
	for i := range all {
		total += all[i].loads
		all[i].loads = 0
	}
	return total
}

// filesBehind returns how many files the walk yields behind one and up to another.
func filesBehind(t *testing.T, src, after, last string) (n int) {
	t.Helper()
	for path, err := range walkBehind(os.DirFS(src), after, nil) {
		if err != nil {
			t.Fatal(err)
		}
		if !done(path, last) {
			return n
		}
		n++
	}
	return n
}

func TestTenKillsRepeatLittle(t *testing.T) {
	const functions = 10
	src, db, undisturbed := tree(t, 400, functions), newDB(t), newDB(t)
	holes(t, src)
	once := mustLoad(t, "-src", src, "-db", undisturbed)
	args := []string{"-src", src, "-through", "none", "-resume", "-batch", "20", "-depth", "50", "-slow", "1ms"}
	var unsettled, files int
	for range 10 {
		began := placeIfAny(t, db)
		p := start(t, db, args...)
		time.Sleep(time.Duration(20+rand.IntN(220)) * time.Millisecond) //nolint:gosec // any moment will do
		if p.Process.Kill() != nil {
			break // a machine so slow that the run was faster
		}
		p.end(t)
		at, there := savedPlace(t, db), rows(t, db)
		for _, r := range there {
			if r.seq > at.Seq {
				unsettled++ // it will be written again
			}
		}
		checkComplete(t, there, at)
		files += filesBehind(t, src, began.Path, there[len(there)-1].file)
	}
	last := mustLoad(t, "-src", src, "-db", db, "-through", "none", "-resume")
	files += int(last.Files)
	got, want := rows(t, db), rows(t, undisturbed)
	loads, wanted := loadsOf(got), loadsOf(want)
	if len(want) != 400*functions || wanted != len(want) || !slices.Equal(got, want) {
		t.Fatalf("%d rows differ from the %d of an undisturbed run", len(got), len(want))
	}
	if again := loads - len(got); again > unsettled {
		t.Errorf("%d rows were written again, want at most the %d that had not settled at a kill", again, unsettled)
	}
	if most := once.Files * 12 / 10; int64(files) > most {
		t.Errorf("%d files were loaded, want at most %d: 1.2 times the %d of one run", files, most, once.Files)
	}
	t.Logf("%d rows, %d written again of %d unsettled at the kills; %d files, %d loaded in all", len(got), loads-len(got), unsettled, once.Files, files)
}

// placeIfAny is savedPlace for a database that may not be there yet.
func placeIfAny(t *testing.T, file string) place {
	t.Helper()
	if written(file) == 0 {
		return place{}
	}
	return savedPlace(t, file)
}

// checkComplete checks that every function up to a place is there.
func checkComplete(t *testing.T, there []stored, at place) {
	t.Helper()
	for i := range at.Seq {
		if i >= int64(len(there)) || there[i].seq != i+1 {
			t.Fatalf("place %s is saved behind %d functions, but function %d is not there", at.Path, at.Seq, i+1)
		}
	}
}

func TestAnInterruptedRunGoesOnWithoutRepeatingAnything(t *testing.T) {
	src, db, undisturbed := tree(t, 800, 2), newDB(t), newDB(t)
	holes(t, src)
	p := start(t, db, "-src", src, "-depth", "20", "-batch", "20", "-slow", "2ms")
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := p.end(t); code != exitInterrupted {
		t.Fatalf("exit %d, want %d; it said %q", code, exitInterrupted, p.stderr.String())
	}
	first := decode(t, p.stdout.String())
	second := mustLoad(t, "-src", src, "-db", db, "-resume")
	whole := mustLoad(t, "-src", src, "-db", undisturbed)
	if second.Loaded == 0 || first.Files+second.Files != whole.Files || first.Failed+second.Failed != whole.Failed {
		t.Errorf("%d and %d files, %d and %d failed; want %d and %d in all, and some in each",
			first.Files, second.Files, first.Failed, second.Failed, whole.Files, whole.Failed)
	}
	if got, want := rows(t, db), rows(t, undisturbed); !slices.Equal(got, want) {
		t.Errorf("%d rows differ from the %d of an undisturbed run", len(got), len(want))
	}
}

func TestAFinishedRunLeavesNothingToResume(t *testing.T) {
	src, db := tree(t, 20, 5), newDB(t)
	holes(t, src)
	first := mustLoad(t, "-src", src, "-db", db, "-resume") // nothing to go on with: from the beginning
	before := rows(t, db)
	if s := mustLoad(t, "-src", src, "-db", db, "-resume"); s.Files != 0 || !slices.Equal(rows(t, db), before) {
		t.Errorf("a second run with -resume walked %d files, want none, and the same rows", s.Files)
	}
	write(t, filepath.Join(src, "e", "new.go"), "package e\n\nfunc New() {}\n")
	if s := mustLoad(t, "-src", src, "-db", db, "-resume"); s.Files != 1 || s.Loaded != 1 {
		t.Errorf("with a new file it walked %d files and loaded %d rows, want 1 and 1", s.Files, s.Loaded)
	}
	checkPrefix(t, rows(t, db))
	if s := mustLoad(t, "-src", src, "-db", db); s.Files != first.Files+1 || s.Loaded != 101 {
		t.Errorf("without -resume it walked %d files and loaded %d rows, want %d and 101", s.Files, s.Loaded, first.Files+1)
	}
	checkPrefix(t, rows(t, db))
}

func TestDroppedFunctionsAreNotMissed(t *testing.T) {
	src, db := tree(t, 30, 20), newDB(t)
	for _, policy := range []string{"drop-newest", "drop-oldest"} {
		mustLoad(t, "-src", src, "-db", db, "-depth", "10", "-batch", "5", "-slow", "2ms", "-on-full", policy)
		if got, want := savedPlace(t, db).Seq, int64(600); got != want {
			t.Errorf("%s: the place is behind %d functions, want %d", policy, got, want)
		}
	}
}

func TestResumeRefusesAnotherFolderAndWhatIsNoPlace(t *testing.T) {
	src, db := tree(t, 2, 2), newDB(t)
	mustLoad(t, "-src", src, "-db", db)
	check := func(want string) {
		t.Helper()
		code, _, stderr := etl(t, "-src", tree(t, 2, 2), "-db", db, "-resume")
		if code != exitFailed || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("exit %d and %q, want exit %d and one line with %q", code, stderr, exitFailed, want)
		}
	}
	check("the run to go on with was of " + src)
	tab, err := openTable(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if err := tab.Checkpoint().Save(t.Context(), "nonsense"); err != nil {
		t.Fatal(err)
	}
	if err := tab.Close(); err != nil {
		t.Fatal(err)
	}
	check("row walk of table positions")
}

// What a stream in memory has confirmed is gone with its process, and what is in another stream is not in this one: a run that went on
// behind it would leave out rows and say nothing.
func TestResumeDoesNotGoOnBehindWhatIsGone(t *testing.T) {
	src, db := tree(t, 2, 2), newDB(t)
	mustLoad(t, "-src", src, "-db", db, "-through", "memory")
	if s := mustLoad(t, "-src", src, "-db", db, "-through", "none", "-resume"); s.Files != 2 {
		t.Errorf("behind a run in memory it walked %d files, want 2, from the beginning", s.Files)
	}
	code, _, stderr := etl(t, "-src", src, "-db", db, "-resume", "-through", "jetstream")
	if want := "the run to go on with was -through none"; code != exitFailed || !strings.Contains(stderr, want) {
		t.Errorf("exit %d and %q, want exit %d and %q", code, stderr, exitFailed, want)
	}
}

func TestWalkBehindIsTheRestOfTheWalk(t *testing.T) {
	all := strings.Fields("a/1.go a/2.go a/x/3.go b.go c/4.go c/dir.go/5.go")
	tests := []struct {
		after string
		want  int // how many are done
		read  string
	}{
		{"", 0, ". a a/x c c/dir.go"},
		{"a/1.go", 1, ". a a/x c c/dir.go"},
		{"a/2.go", 2, ". a a/x c c/dir.go"},
		{"a/3.go", 2, ". a a/x c c/dir.go"}, // is not there
		{"a/x/3.go", 3, ". a a/x c c/dir.go"},
		{"a/y/gone.go", 3, ". a c c/dir.go"},
		{"a.go", 3, ". c c/dir.go"}, // behind the folder a
		{"b.go", 4, ". c c/dir.go"},
		{"c/4.go", 5, ". c c/dir.go"},
		{"c/dir.go", 6, ". c"}, // a file then, now a folder: its files are new, and not behind it
		{"c/dir.go/5.go", 6, ". c c/dir.go"},
		{"d.go", 6, "."},
	}
	for _, tt := range tests {
		tree, got := newWatched(""), []string{}
		for path, err := range walkBehind(tree, tt.after, nil) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, path)
		}
		if !slices.Equal(got, all[tt.want:]) {
			t.Errorf("behind %q there is %v, want %v", tt.after, got, all[tt.want:])
		}
		if !slices.Equal(tree.read, strings.Fields(tt.read)) {
			t.Errorf("behind %q the folders %v were read, want %v", tt.after, tree.read, tt.read)
		}
	}
}

func TestNumberingKnowsEveryPlace(t *testing.T) {
	n := &numbering{}
	n.start(100)
	for file, functions := range []int{0, 3, -1, 0, 2, -1, -1, 1} { // -1: it does not parse
		if functions >= 0 {
			n.number(parsed{file, make([]function, functions)})
		}
	}
	for _, tt := range []struct {
		file int
		want int64
	}{{0, 100}, {1, 103}, {2, 103}, {3, 103}, {5, 105}, {6, 105}, {7, 106}, {7, 106}, {9, 106}} {
		if got := n.reached(tt.file); got != tt.want {
			t.Errorf("up to file %d there are %d functions, want %d", tt.file, got, tt.want)
		}
	}
	if len(n.marks) != 0 {
		t.Errorf("%d marks are left, want none", len(n.marks))
	}
}

func TestPlacesGoThereAndBack(t *testing.T) {
	store, ctx := &remembered{}, context.Background()
	p := &places{store: store, src: "/src", seqs: &numbering{}}
	files := slices.Collect(func(yield func(file) bool) {
		for at, err := range numbered(walk(fstest.MapFS{"a b/1.go": {}, "a b/ü 2.go": {}}, nil)) {
			if err != nil || !yield(at.Value) {
				return
			}
		}
	})
	for _, f := range files {
		p.seqs.number(parsed{f.number, make([]function, 4)})
	}
	if err := p.Save(ctx, files[1].position()); err != nil {
		t.Fatal(err)
	}
	again := &places{store: store, src: "/src", seqs: &numbering{}}
	path, err := again.Load(ctx)
	if path != "a b/ü 2.go" || err != nil || again.seqs.seq != 8 {
		t.Errorf("Load() = %q, %v and %d functions, want %q and 8", path, err, again.seqs.seq, "a b/ü 2.go")
	}
}

func TestPostgresKeepsThePlace(t *testing.T) {
	dsn, conn := postgres(t)
	src := tree(t, 20, 30)
	write(t, filepath.Join(src, "z", "broken.go"), "package z\n\nfunc {\n")
	mustLoad(t, "-src", src, "-db", dsn, "-batch", "70")
	var text string
	if err := conn.QueryRow(t.Context(), "SELECT position FROM positions").Scan(&text); err != nil || !strings.Contains(text, `"path":"z/broken.go","seq":600`) {
		t.Errorf("the place is %s, %v, want the last file and 600 functions", text, err)
	}
	if s := mustLoad(t, "-src", src, "-db", dsn, "-resume"); s.Files != 0 {
		t.Errorf("with -resume it walked %d files behind the last one, want none", s.Files)
	}
	write(t, filepath.Join(src, "z", "new.go"), "package z\n\nfunc New() {}\n")
	if s := mustLoad(t, "-src", src, "-db", dsn, "-resume"); s.Files != 1 || s.Loaded != 1 {
		t.Errorf("with a new file it walked %d files and loaded %d rows, want 1 and 1", s.Files, s.Loaded)
	}
	if s := mustLoad(t, "-src", src, "-db", dsn); s.Files != 22 || s.Loaded != 601 {
		t.Errorf("without -resume it walked %d files and loaded %d rows, want 22 and 601", s.Files, s.Loaded)
	}
	var rows, loads int
	if err := conn.QueryRow(t.Context(), "SELECT count(*), sum(loads) FROM functions").Scan(&rows, &loads); err != nil || rows != 601 || loads != 601 {
		t.Errorf("%d rows were written %d times, %v, want 601 and 601", rows, loads, err)
	}
}
