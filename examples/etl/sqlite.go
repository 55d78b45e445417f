package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"

	_ "modernc.org/sqlite" // the driver, in Go: no C compiler is needed

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/checkpoint"
)

// sqliteTable is the table in a SQLite file.
type sqliteTable struct {
	db     *sql.DB
	upsert *sql.Stmt
	place  *checkpoint.SQL
}

// sqliteOptions: with a write-ahead log and synchronous NORMAL the file is sound after a crash, and a transaction survives the
// death of the process; only a power failure may lose the last ones. The next run repeats those.
const sqliteOptions = "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_txlock=immediate"

// sqliteURL names a file for the driver.
func sqliteURL(file string) string { return "file:" + (&url.URL{Path: file}).EscapedPath() }

func openSQLite(ctx context.Context, file string) (*sqliteTable, error) {
	db, err := sql.Open("sqlite", sqliteURL(file)+sqliteOptions)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", file, err)
	}
	db.SetMaxOpenConns(1) // SQLite has one writer
	t := &sqliteTable{db: db}
	_, err = db.ExecContext(ctx, createTable+" WITHOUT ROWID")
	if err == nil {
		t.place, err = checkpoint.NewSQL(db, positionsTable, positionsName)
	}
	if err == nil {
		marks := strings.Repeat("?, ", len(columns))
		t.upsert, err = db.PrepareContext(ctx, "INSERT INTO functions ("+strings.Join(columns, ", ")+", loads) VALUES ("+marks+"1)"+onConflict)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", file, err), db.Close())
	}
	return t, nil
}

// Write implements table.
func (t *sqliteTable) Write(ctx context.Context, rows []function) error {
	tx, err := t.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	upsert := tx.StmtContext(ctx, t.upsert)
	for i := range rows {
		// Without the context: the driver would start a goroutine for each row to watch it, and the transaction has it already.
		if _, err := upsert.Exec(rows[i].values()...); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// Top implements table.
func (t *sqliteTable) Top(ctx context.Context, n int) (top []function, err error) {
	rows, err := t.db.QueryContext(ctx, fmt.Sprint(selectTop, n))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err has what counts
	for rows.Next() {
		var f function
		if err := rows.Scan(f.scanTop()...); err != nil {
			return nil, err
		}
		top = append(top, f)
	}
	return top, rows.Err()
}

// ResetLoads implements table.
func (t *sqliteTable) ResetLoads(ctx context.Context) error {
	_, err := t.db.ExecContext(ctx, resetLoads)
	return err
}

// Checkpoint implements table.
func (t *sqliteTable) Checkpoint() flow.CheckpointStore { return t.place }

// Close implements table.
func (t *sqliteTable) Close() error { return errors.Join(t.upsert.Close(), t.db.Close()) }
