package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/flow"
)

// function is one row: a function declaration.
type function struct {
	seq               int64 // number in order of extraction, from 1
	pkg, file         string
	line, col         int
	name              string
	lines, complexity int
	exported          bool
	documented        bool
}

// columns are the table's, in the order of values, but for loads: how often a row has been written since the last run that was not resumed began.
var columns = []string{"seq", "package", "file", "line", "col", "name", "lines", "complexity", "exported", "documented"}

func (f *function) values() []any {
	return []any{f.seq, f.pkg, f.file, f.line, f.col, f.name, f.lines, f.complexity, f.exported, f.documented}
}

// places are those for a row of all columns but loads.
func (f *function) places() []any {
	return []any{&f.seq, &f.pkg, &f.file, &f.line, &f.col, &f.name, &f.lines, &f.complexity, &f.exported, &f.documented}
}

// table is where functions are loaded to.
type table interface {
	// Write inserts or replaces rows in one transaction: all of them or, with an error, none.
	Write(ctx context.Context, rows []function) error
	// Top returns the n most complex functions of this run.
	Top(ctx context.Context, n int) ([]function, error)
	// ResetLoads starts a run: rows that are there have not been written yet.
	ResetLoads(ctx context.Context) error
	// Checkpoint is where a run that may be interrupted keeps its place.
	Checkpoint() flow.CheckpointStore
	Close() error
}

// openTable opens the table that name names, and makes it if it is not there.
func openTable(ctx context.Context, name string) (table, error) {
	if isPostgres(name) {
		return openPostgres(ctx, name)
	}
	return openSQLite(ctx, name)
}

func isPostgres(db string) bool {
	return strings.HasPrefix(db, "postgres://") || strings.HasPrefix(db, "postgresql://")
}

// The statements that both databases understand.
const (
	createTable = `CREATE TABLE IF NOT EXISTS functions (
	seq        BIGINT  NOT NULL,
	package    TEXT    NOT NULL,
	file       TEXT    NOT NULL,
	line       INTEGER NOT NULL,
	col        INTEGER NOT NULL,
	name       TEXT    NOT NULL,
	lines      INTEGER NOT NULL,
	complexity INTEGER NOT NULL,
	exported   BOOLEAN NOT NULL,
	documented BOOLEAN NOT NULL,
	loads      INTEGER NOT NULL,
	PRIMARY KEY (file, line, col)
)`
	resetLoads = `UPDATE functions SET loads = 0 WHERE loads <> 0`
	onConflict = ` ON CONFLICT (file, line, col) DO UPDATE SET
	seq = excluded.seq, package = excluded.package, name = excluded.name, lines = excluded.lines,
	complexity = excluded.complexity, exported = excluded.exported, documented = excluded.documented,
	loads = functions.loads + 1`
	selectTop = `SELECT name, file, line, lines, complexity FROM functions WHERE loads > 0
	ORDER BY complexity DESC, file, line, col LIMIT `
)

// scanTop are the places for a row of selectTop.
func (f *function) scanTop() []any { return []any{&f.name, &f.file, &f.line, &f.lines, &f.complexity} }

// loader is the sink of the pipeline. It is not the table itself, because a sink that can be closed is closed when the run
// has ended, and the table is needed for the report.
type loader struct {
	table  table
	perRow time.Duration // how much longer a row takes
	rows   atomic.Int64  // written
}

// Push implements stage.Sink.
func (l *loader) Push(ctx context.Context, rows []function) error {
	if err := sleep(ctx, time.Duration(len(rows))*l.perRow); err != nil {
		return err
	}
	if err := l.table.Write(ctx, rows); err != nil {
		return fmt.Errorf("write %d rows: %w", len(rows), err)
	}
	l.rows.Add(int64(len(rows)))
	return nil
}

// sleep waits for d, or until ctx is done.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
