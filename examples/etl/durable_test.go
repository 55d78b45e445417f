package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/broker/jetstream/embedded"
)

// streamJob is slowJob through a stream in memory.
func streamJob(t *testing.T, src string) (*job, *slowTable) {
	t.Helper()
	j, table := slowJob(src)
	j.through = throughMemory
	var err error
	if j.durable, err = openDurable(t.Context(), &j.options); err != nil {
		t.Fatal(err)
	}
	return j, table
}

func TestAFullStreamStopsTheWalk(t *testing.T) {
	src := tree(t, manyFiles, perFile)
	synctest.Test(t, func(t *testing.T) {
		j, table := streamJob(t, src)
		done := make(chan error, 1)
		go func() { done <- j.run(t.Context(), new(strings.Builder), nil) }()
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		// The edge outgoing, and what is in the hand of whoever sends, hold functions instead of files: they add no more files.
		if c, most := j.counts(), int64(inside+2*256/perFile+1); c.extracted != 20 || c.files > most {
			t.Errorf("during the first write %d functions were stored of %d files walked, want 20 of at most %d", c.extracted, c.files, most)
		}
		if err := <-done; err != nil {
			t.Fatalf("run() = %v, want no error", err)
		}
		if got, want := len(table.rows), manyFiles*perFile; got != want {
			t.Errorf("%d rows were loaded, want %d", got, want)
		}
		if got := j.bottleneck().Stage; got != "load" {
			t.Errorf("the bottleneck is %q, want load", got)
		}
	})
}

func TestTheFirstSignalEmptiesTheStream(t *testing.T) {
	src := tree(t, manyFiles, perFile)
	synctest.Test(t, func(t *testing.T) {
		j, table := streamJob(t, src)
		signals := make(chan os.Signal, 2)
		time.AfterFunc(5*time.Second, func() { signals <- os.Interrupt })
		if err := j.run(t.Context(), new(strings.Builder), signals); !errors.Is(err, errDrained) {
			t.Fatalf("run() = %v, want %v", err, errDrained)
		}
		end, err := j.end(t.Context())
		s := j.summary(end)
		whole := s.Extracted == s.Files*perFile && s.Loaded == s.Extracted && int(s.Loaded) == len(table.rows)
		if err != nil || s.Files == manyFiles || !whole || s.Left != 0 {
			t.Errorf("%d of %d files, %d functions, %d loaded, %d rows, %d left (%v); want some of the files, all of theirs, and none left",
				s.Files, manyFiles, s.Extracted, s.Loaded, len(table.rows), s.Left, err)
		}
	})
}

func TestTheSecondSignalLeavesTheRestInTheStream(t *testing.T) {
	src := tree(t, manyFiles, perFile)
	synctest.Test(t, func(t *testing.T) {
		j, table := streamJob(t, src)
		signals := make(chan os.Signal, 2)
		for _, at := range []time.Duration{2500 * time.Millisecond, 4200 * time.Millisecond} {
			time.AfterFunc(at, func() { signals <- os.Interrupt })
		}
		err := j.run(t.Context(), new(strings.Builder), signals)
		if exitCode(err) != exitInterrupted {
			t.Errorf("run() = %v with exit code %d, want %d", err, exitCode(err), exitInterrupted)
		}
		end, err := j.end(t.Context())
		s := j.summary(end)
		if err != nil || len(table.rows) != 40 || s.Left != 20 || s.Published != 60 {
			t.Errorf("%d rows, %d left of %d confirmed (%v), want 40, 20 of 60", len(table.rows), s.Left, s.Published, err)
		}
		var out strings.Builder
		if err := j.report(t.Context(), &out, errInterrupted); err != nil || !strings.Contains(out.String(), "20 left for the next run") {
			t.Errorf("report() = %v and %q, want 20 left for the next run", err, out.String())
		}
	})
}

// kill ends a run as `kill -9` does.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.end(t)
}

func TestWhatIsConfirmedSurvivesAKill(t *testing.T) {
	const batch, all = 20, 4000
	src, db := tree(t, 100, 40), newDB(t)
	p := start(t, db, "-src", src, "-batch", "20", "-slow", "2ms", "-depth", "500")
	p.kill(t)
	before := len(rows(t, db))
	s := mustLoad(t, "-half", "load", "-db", db)
	got := rows(t, db)
	if n := int64(len(got)); n != s.Published || n <= int64(before) || n == all || s.Files != 0 || s.Left != 0 {
		t.Errorf("%d of %d rows, %d of them before the kill, %d confirmed, %d files read, %d left; want a row for each confirmed, and no files",
			n, all, before, s.Published, s.Files, s.Left)
	}
	if again := loadsOf(got) - len(got); again > inFlight+batch {
		t.Errorf("%d rows were written again, want at most %d", again, inFlight+batch)
	}
	mustLoad(t, "-src", src, "-db", db, "-batch", "20")
	got = rows(t, db)
	if again := loadsOf(got) - len(got); len(got) != all || again > inFlight+batch {
		t.Errorf("%d rows, %d of them written again, want %d and at most %d", len(got), again, all, inFlight+batch)
	}
}

func TestAKilledEdgeOfThePipelineLeavesNothingToLoad(t *testing.T) {
	src, db := tree(t, 100, 40), newDB(t)
	start(t, db, "-through", "none", "-src", src, "-batch", "20", "-slow", "2ms", "-depth", "500").kill(t)
	before := len(rows(t, db))
	if s := mustLoad(t, "-half", "load", "-db", db); s.Found != 0 || s.Loaded != 0 || len(rows(t, db)) != before {
		t.Errorf("%d functions were found and %d loaded, %d rows became %d; want nothing", s.Found, s.Loaded, before, len(rows(t, db)))
	}
}

func TestKillsAndResumesGiveTheUndisturbedTable(t *testing.T) {
	src, db, undisturbed := tree(t, 200, 10), newDB(t), newDB(t)
	holes(t, src)
	mustLoad(t, "-src", src, "-db", undisturbed)
	args := []string{"-src", src, "-resume", "-batch", "20", "-slow", "1ms"}
	for range 3 {
		p := start(t, db, args...)
		time.Sleep(150 * time.Millisecond) // another process: any moment will do
		p.kill(t)
	}
	mustLoad(t, "-src", src, "-db", db, "-resume")
	got, want := rows(t, db), rows(t, undisturbed)
	loadsOf(got)
	loadsOf(want)
	if len(want) != 2000 || !slices.Equal(got, want) {
		t.Errorf("%d rows differ from the %d of an undisturbed run", len(got), len(want))
	}
}

func TestHalvesOneAfterTheOther(t *testing.T) {
	src, db, undisturbed := tree(t, 40, 25), newDB(t), newDB(t)
	mustLoad(t, "-src", src, "-db", undisturbed)
	s := mustLoad(t, "-half", "extract", "-src", src, "-db", db, "-depth", "1000")
	if s.Files != 40 || s.Extracted != 1000 || s.Published != 1000 || s.Left != 1000 || s.Loaded != 0 || savedPlace(t, db).Seq != 1000 {
		t.Errorf("extract: %+v at %+v, want 1000 functions of 40 files confirmed and left, and the place behind them", s, savedPlace(t, db))
	}
	if s := mustLoad(t, "-half", "extract", "-src", src, "-db", db, "-depth", "1000", "-resume"); s.Files != 0 || s.Left != 1000 {
		t.Errorf("again with -resume: %+v, want no files, and what was left", s)
	}
	s = mustLoad(t, "-half", "load", "-db", db)
	if s.Files != 0 || s.Found != 1000 || s.Loaded != 1000 || s.Left != 0 {
		t.Errorf("load: %+v, want 1000 functions found and loaded", s)
	}
	if got, want := rows(t, db), rows(t, undisturbed); !slices.Equal(got, want) {
		t.Errorf("%d rows differ from the %d of both halves at once", len(got), len(want))
	}
	if _, err := os.Stat(folder(db)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the empty stream is still there (%v)", err)
	}
}

func TestAnInterruptedLoadLeavesTheRest(t *testing.T) {
	src, db := tree(t, 40, 25), newDB(t)
	mustLoad(t, "-half", "extract", "-src", src, "-db", db, "-depth", "1000")
	p := start(t, db, "-half", "load", "-batch", "10", "-slow", "3ms")
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := p.end(t); code != exitInterrupted {
		t.Fatalf("exit %d, want %d; it said %q", code, exitInterrupted, p.stderr.String())
	}
	s := decode(t, p.stdout.String())
	if s.Loaded == 0 || s.Left == 0 || s.Loaded+s.Left != 1000 || int64(len(rows(t, db))) != s.Loaded {
		t.Errorf("loaded %d (%d rows) and left %d, want some of 1000, and the rest", s.Loaded, len(rows(t, db)), s.Left)
	}
	if rest := mustLoad(t, "-half", "load", "-db", db); rest.Found != s.Left || rest.Loaded != s.Left {
		t.Errorf("then %d were found and %d loaded, want the %d that were left", rest.Found, rest.Loaded, s.Left)
	}
	checkPrefix(t, rows(t, db))
}

func TestHalvesAtAServer(t *testing.T) {
	srv, err := embedded.Start(embedded.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = srv.Close() }()
	src, db := tree(t, 40, 25), newDB(t)
	at := []string{"-nats", srv.URL(), "-db", db, "-depth", "1000"}
	if s := mustLoad(t, append(at, "-half", "extract", "-src", src)...); s.Left != 1000 {
		t.Errorf("extract: %+v, want 1000 functions left", s)
	}
	if s := mustLoad(t, append(at, "-half", "load")...); s.Loaded != 1000 || s.Left != 0 {
		t.Errorf("load: %+v, want 1000 functions loaded", s)
	}
	if s := mustLoad(t, append(at, "-src", src)...); s.Loaded != 1000 || s.Published != 2000 {
		t.Errorf("both: %+v, want 1000 functions loaded, and 2000 confirmed in all", s)
	}
	if _, err := os.Stat(folder(db)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a folder for a server of its own (%v)", err)
	}
}

func TestAStreamThatIsNotAsTheOptionsSay(t *testing.T) {
	src, db := tree(t, 10, 10), newDB(t)
	mustLoad(t, "-half", "extract", "-src", src, "-db", db, "-depth", "200")
	for _, args := range [][]string{{"-depth", "100"}, {"-depth", "200", "-on-full", "drop-oldest"}} {
		code, _, stderr := etl(t, append(args, "-src", src, "-db", db)...)
		if code != exitFailed || !strings.Contains(stderr, "was asked for") || !strings.Contains(stderr, "-half load") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: exit %d and %q, want exit %d and one line with what to do", args, code, stderr, exitFailed)
		}
	}
	if s := mustLoad(t, "-half", "load", "-db", db); s.Loaded != 100 {
		t.Errorf("loaded %d, want the 100 that were left", s.Loaded)
	}
	mustLoad(t, "-src", src, "-db", db, "-depth", "100")
}

func TestTheFolderBelongsToOneRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x.jetstream")
	s, err := openStore(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openStore(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "in use by another run") {
		t.Errorf("a second openStore() = %v, want that it is in use", err)
	}
	if err := s.close(true); err != nil {
		t.Error(err)
	}
	again, err := openStore(t.Context(), dir)
	if err != nil {
		t.Fatalf("openStore() = %v when the first one is closed, want no error", err)
	}
	if err := again.close(false); err != nil {
		t.Error(err)
	}
}

func TestNamesOfStreams(t *testing.T) {
	for db, want := range map[string][2]string{
		"weir-etl.db":                          {"etl-weir-etl", "weir-etl.db.jetstream"},
		"/tmp/a b*.sqlite":                     {"etl-a_b__sqlite", "/tmp/a b*.sqlite.jetstream"},
		"postgres://u:secret@db.example/sales": {"etl-db_example-sales", "etl-db_example-sales.jetstream"},
		"postgres://%":                         {"etl-postgres", "etl-postgres.jetstream"},
	} {
		if got := [2]string{streamName(db), folder(db)}; got != want {
			t.Errorf("%s has the stream and the folder %q, want %q", db, got, want)
		}
	}
}

func TestNoServerIsToldAtOnce(t *testing.T) {
	code, _, stderr := etl(t, "-half", "load", "-db", newDB(t), "-nats", "nats://someone:secret@127.0.0.1:1")
	if code != exitFailed || !strings.Contains(stderr, "no servers available") || strings.Contains(stderr, "secret") {
		t.Errorf("exit %d and %q, want exit %d and that there is no server, and no secret", code, stderr, exitFailed)
	}
}
