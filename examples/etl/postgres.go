package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/checkpoint"
)

// postgresTable is the table in PostgreSQL. COPY is the fastest way in but knows no ON CONFLICT, so rows are copied into a
// table of the session and inserted from there.
type postgresTable struct {
	conn  *pgx.Conn
	db    *sql.DB // a connection of its own for the checkpoint, which is saved beside the load
	place *checkpoint.SQL
}

const (
	createIncoming = `CREATE TEMPORARY TABLE incoming (LIKE functions) ON COMMIT DELETE ROWS`
	insertIncoming = `INSERT INTO functions SELECT * FROM incoming` + onConflict
)

func openPostgres(ctx context.Context, dsn string) (*postgresTable, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	t := &postgresTable{conn: conn, db: stdlib.OpenDB(*conn.Config())}
	t.place, err = checkpoint.NewSQL(t.db, positionsTable, positionsName)
	for _, q := range []string{createTable, createIncoming} {
		if err == nil {
			_, err = conn.Exec(ctx, q)
		}
	}
	if err != nil {
		_ = t.Close() // the error that counts is there
		return nil, fmt.Errorf("prepare table functions: %w", err)
	}
	return t, nil
}

// Write implements table.
func (t *postgresTable) Write(ctx context.Context, rows []function) error {
	return pgx.BeginFunc(ctx, t.conn, func(tx pgx.Tx) error {
		next := func(i int) ([]any, error) { return append(rows[i].values(), 1), nil }
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{"incoming"}, append(columns, "loads"), pgx.CopyFromSlice(len(rows), next)); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, insertIncoming)
		return err
	})
}

// Top implements table.
func (t *postgresTable) Top(ctx context.Context, n int) ([]function, error) {
	rows, err := t.conn.Query(ctx, fmt.Sprint(selectTop, n))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (f function, err error) {
		return f, row.Scan(f.scanTop()...)
	})
}

// ResetLoads implements table.
func (t *postgresTable) ResetLoads(ctx context.Context) error {
	_, err := t.conn.Exec(ctx, resetLoads)
	return err
}

// Checkpoint implements table.
func (t *postgresTable) Checkpoint() flow.CheckpointStore { return t.place }

// Close implements table.
func (t *postgresTable) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return errors.Join(t.db.Close(), t.conn.Close(ctx))
}
