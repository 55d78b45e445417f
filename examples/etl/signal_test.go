package main

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// process is the program in a process of its own.
type process struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
	ended          chan error
}

// start starts the program, and waits until it has written rows to db.
func start(t *testing.T, db string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.CommandContext(t.Context(), os.Args[0], append(args, "-db", db, "-json")...)}
	p.Env = append(os.Environ(), asProgram+"=1")
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	p.ended = make(chan error, 1)
	go func() { p.ended <- p.Wait() }()
	tick := time.NewTicker(5 * time.Millisecond) // another process: there is nothing better to wait on
	defer tick.Stop()
	for written(db) == 0 {
		select {
		case <-tick.C:
		case err := <-p.ended:
			t.Fatalf("the program ended before it had written anything (%v); it said %q", err, p.stderr.String())
		}
	}
	return p
}

// written returns how many rows are there already; none as long as there is no table.
func written(file string) (n int) {
	if _, err := os.Stat(file); err != nil {
		return 0
	}
	db, err := sql.Open("sqlite", "file:"+file+"?mode=ro")
	if err != nil {
		return 0
	}
	defer func() { _ = db.Close() }()
	if err := db.QueryRow("SELECT count(*) FROM functions").Scan(&n); err != nil {
		return 0
	}
	return n
}

// end waits for the end and returns the exit code.
func (p *process) end(t *testing.T) int {
	t.Helper()
	err := <-p.ended
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return exitDone
}

func TestInterruptDrainsAndExits130(t *testing.T) {
	for _, through := range throughs {
		t.Run(through, func(t *testing.T) {
			src, db := tree(t, 800, 2), newDB(t)
			p := start(t, db, "-src", src, "-through", through, "-depth", "20", "-batch", "20", "-slow", "2ms")
			if err := p.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			if code := p.end(t); code != exitInterrupted {
				t.Fatalf("exit %d, want %d; it said %q", code, exitInterrupted, p.stderr.String())
			}
			s, got := decode(t, p.stdout.String()), rows(t, db)
			if n := int64(len(got)); s.Extracted != n || s.Loaded != n || n == 0 || n == 1600 || s.Left != 0 {
				t.Errorf("extracted %d, loaded %d, %d rows, left %d; want the same number three times, not all of 1600, and none left",
					s.Extracted, s.Loaded, n, s.Left)
			}
			checkPrefix(t, got)
		})
	}
}

func TestARunAfterAKillGivesTheUndisturbedTable(t *testing.T) {
	src, db, undisturbed := tree(t, 50, 40), newDB(t), newDB(t)
	p := start(t, db, "-through", "none", "-src", src, "-batch", "10", "-slow", "2ms")
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.end(t)
	checkPrefix(t, rows(t, db)) // the database is sound, and nothing is missing between the rows
	mustLoad(t, "-src", src, "-db", db)
	mustLoad(t, "-src", src, "-db", undisturbed)
	if got, want := rows(t, db), rows(t, undisturbed); len(want) != 2000 || !slices.Equal(got, want) {
		t.Errorf("%d rows differ from the %d of an undisturbed run, want 2000 equal ones", len(got), len(want))
	}
}
