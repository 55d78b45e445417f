package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
)

// slowTable takes a second per write.
type slowTable struct {
	mu   sync.Mutex
	rows []function
}

func (t *slowTable) Write(ctx context.Context, rows []function) error {
	if err := sleep(ctx, time.Second); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows = append(t.rows, rows...)
	return nil
}

func (t *slowTable) Top(context.Context, int) ([]function, error) { return nil, nil }
func (t *slowTable) ResetLoads(context.Context) error             { return nil }
func (t *slowTable) Checkpoint() flow.CheckpointStore             { return &remembered{} }
func (t *slowTable) Close() error                                 { return nil }

// remembered is a checkpoint that does not outlive the process.
type remembered struct{ position string }

func (m *remembered) Load(context.Context) (string, error) { return m.position, nil }

func (m *remembered) Save(_ context.Context, position string) error {
	m.position = position
	return nil
}

const (
	manyFiles = 900
	perFile   = 3
)

// slowJob is a job of many files, 10 rows a second.
func slowJob(src string) (*job, *slowTable) {
	table := &slowTable{}
	j := &job{table: table, store: table.Checkpoint(), loader: &loader{table: table}, failures: &failures{}}
	j.options = options{src: src, depth: 20, batch: 10, parsers: 4}
	return j, table
}

// inside is the most files that can have been walked and not parsed and handed on: in the edges files and parsed, in the hands of
// four parsers or waiting for their order, and in the flatten step.
const inside = 256 + 16 + 4*(4+1)*16 + 20

func TestABlockedLoadStopsTheWalk(t *testing.T) {
	src := tree(t, manyFiles, perFile)
	synctest.Test(t, func(t *testing.T) {
		j, table := slowJob(src)
		done := make(chan error, 1)
		go func() { done <- j.run(t.Context(), new(strings.Builder), nil) }()
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		if c := j.counts(); c.extracted != 30 || c.files > inside {
			t.Errorf("during the first write %d functions were extracted of %d files walked, want 30 (edge 20, write 10) of at most %d",
				c.extracted, c.files, inside)
		}
		if err := <-done; err != nil {
			t.Fatalf("run() = %v, want no error", err)
		}
		if got, want := len(table.rows), manyFiles*perFile; got != want {
			t.Errorf("%d rows were loaded, want %d", got, want)
		}
		for i := range table.rows {
			if got, want := table.rows[i].seq, int64(i+1); got != want {
				t.Fatalf("row %d has seq %d, want %d", i, got, want)
			}
		}
		if got := j.pipe.Stats().Bottleneck().Stage; got != "load" {
			t.Errorf("the bottleneck is %q, want load", got)
		}
	})
}

func TestTheFirstSignalDrains(t *testing.T) {
	src := tree(t, manyFiles, perFile)
	synctest.Test(t, func(t *testing.T) {
		j, table := slowJob(src)
		signals := make(chan os.Signal, 2)
		time.AfterFunc(5*time.Second, func() { signals <- os.Interrupt })
		said := new(strings.Builder)
		if err := j.run(t.Context(), said, signals); !errors.Is(err, errDrained) {
			t.Fatalf("run() = %v, want %v", err, errDrained)
		}
		c := j.counts()
		if c.files == manyFiles || c.extracted != c.loaded || int(c.loaded) != len(table.rows) || c.extracted != c.files*perFile {
			t.Errorf("%d of %d files, %d functions, %d loaded, %d rows; want some of the files, and all of theirs",
				c.files, manyFiles, c.extracted, c.loaded, len(table.rows))
		}
		if want := "interrupted: loading what has been read"; !strings.Contains(said.String(), want) {
			t.Errorf("it said %q, want %q", said, want)
		}
	})
}

func TestTheSecondSignalStopsAtOnce(t *testing.T) {
	src := tree(t, manyFiles, perFile)
	synctest.Test(t, func(t *testing.T) {
		j, table := slowJob(src)
		signals := make(chan os.Signal, 2)
		for _, at := range []time.Duration{2500 * time.Millisecond, 4200 * time.Millisecond} {
			time.AfterFunc(at, func() { signals <- os.Interrupt })
		}
		began := time.Now()
		err := j.run(t.Context(), new(strings.Builder), signals)
		if exitCode(err) != exitInterrupted {
			t.Errorf("run() = %v with exit code %d, want %d", err, exitCode(err), exitInterrupted)
		}
		if got, want := time.Since(began), 4200*time.Millisecond; got != want {
			t.Errorf("it ended after %v, want %v", got, want)
		}
		if got := len(table.rows); got != 40 {
			t.Errorf("%d rows were loaded, want the 40 of four whole batches", got)
		}
	})
}

func TestTheLoadTakesLongerPerRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &slowTable{}
		l := &loader{table: table, perRow: 5 * time.Millisecond}
		began := time.Now()
		if err := l.Push(t.Context(), make([]function, 100)); err != nil {
			t.Fatal(err)
		}
		if got, want := time.Since(began), 1500*time.Millisecond; got != want {
			t.Errorf("100 rows took %v, want %v", got, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if err := l.Push(ctx, make([]function, 100)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Push() = %v, want %v", err, context.DeadlineExceeded)
		}
		if got := l.rows.Load(); got != 100 {
			t.Errorf("%d rows are counted, want the 100 that were written", got)
		}
	})
}

func TestProgressIsALineASecondWithoutATerminal(t *testing.T) {
	src := tree(t, 30, 2)
	synctest.Test(t, func(t *testing.T) {
		j, _ := slowJob(src)
		said := new(strings.Builder)
		if err := j.run(t.Context(), said, nil); err != nil {
			t.Fatal(err)
		}
		want := "   1 s: 30 files, 0 failed, "
		if n := strings.Count(said.String(), "\n"); n != 5 && n != 6 || !strings.HasPrefix(said.String(), want) {
			t.Errorf("in 6 s it said %q, want a line that begins with %q, and one for each other second", said, want)
		}
	})
}
