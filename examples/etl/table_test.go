package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestAWriteIsWholeOrNothing(t *testing.T) {
	file := newDB(t) + "? #1.db" // characters that mean something in a URI
	tab, err := openSQLite(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	checkWholeOrNothing(t, tab, func() error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return tab.Write(ctx, twoRows)
	})
	if err := tab.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("the database is not where it should be: %v", err)
	}
}

var twoRows = []function{{seq: 1, file: "a.go", line: 1, col: 1}, {seq: 2, file: "a.go", line: 2, col: 1}}

// checkWholeOrNothing checks what becomes of a write that fails, and of ones that don't.
func checkWholeOrNothing(t *testing.T, tab table, failing func() error) {
	t.Helper()
	if err := failing(); err == nil {
		t.Error("Write() = nil, want an error")
	}
	if top, err := tab.Top(t.Context(), 5); err != nil || len(top) != 0 {
		t.Fatalf("Top() = %v, %v after a write that failed, want nothing", top, err)
	}
	for range 2 {
		if err := tab.Write(t.Context(), twoRows); err != nil {
			t.Fatalf("Write() = %v, want no error", err)
		}
		if top, err := tab.Top(t.Context(), 5); err != nil || len(top) != 2 {
			t.Fatalf("Top() = %v, %v, want the 2 rows written", top, err)
		}
	}
}

// postgres returns the DSN of a schema of its own, or skips.
func postgres(t *testing.T) (dsn string, conn *pgx.Conn) {
	t.Helper()
	server := os.Getenv("WEIR_TEST_POSTGRES")
	if server == "" {
		t.Skip("NOT TESTED WITH POSTGRESQL: set WEIR_TEST_POSTGRES to the URL of a server, like postgres://user@host/database")
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	schema := fmt.Sprintf("weir_etl_test_%d", os.Getpid())
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	conn, err = pgx.Connect(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "CREATE SCHEMA "+schema); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if _, err := conn.Exec(ctx, "DROP SCHEMA "+schema+" CASCADE"); err != nil {
			t.Errorf("schema %s is left over: %v", schema, err)
		}
		_ = conn.Close(ctx)
	})
	return u.String(), conn
}

func TestPostgresGetsTheSameRows(t *testing.T) {
	dsn, conn := postgres(t)
	src, file := tree(t, 20, 30), newDB(t)
	mustLoad(t, "-src", src, "-db", file)
	want := rows(t, file)
	for range 2 {
		if s := mustLoad(t, "-src", src, "-db", dsn, "-batch", "70"); s.Loaded != 600 {
			t.Errorf("loaded %d, want 600", s.Loaded)
		}
		found, err := conn.Query(t.Context(), "SELECT "+strings.Join(columns, ", ")+", loads FROM functions ORDER BY seq")
		if err != nil {
			t.Fatal(err)
		}
		got, err := pgx.CollectRows(found, func(row pgx.CollectableRow) (r stored, err error) { return r, row.Scan(r.places()...) })
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("PostgreSQL has %d rows that differ from the %d of SQLite", len(got), len(want))
		}
	}
}

func TestPostgresWritesWholeOrNothing(t *testing.T) {
	dsn, _ := postgres(t)
	tab, err := openTable(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tab.Close() }()
	checkWholeOrNothing(t, tab, func() error { // one row twice: the server refuses that, after COPY
		return tab.Write(t.Context(), append(twoRows, twoRows[0]))
	})
}
