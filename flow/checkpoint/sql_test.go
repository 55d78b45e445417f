package checkpoint_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/checkpoint"
)

// database is one that knows the statements of the store, and nothing else. examples/etl runs them in SQLite and PostgreSQL.
type database struct {
	mu      sync.Mutex
	tables  map[string]map[string]string
	created int
	broken  error
}

func (d *database) Connect(context.Context) (driver.Conn, error) { return &connection{d}, nil }
func (d *database) Driver() driver.Driver                        { return nil }

type connection struct{ *database }

func (c *connection) Prepare(q string) (driver.Stmt, error) {
	return nil, errors.New("not known: " + q)
}
func (c *connection) Close() error              { return nil }
func (c *connection) Begin() (driver.Tx, error) { return nil, errors.New("no transactions") }

// table returns the table behind the word into, from or exists.
func (c *connection) table(query, word string) (string, map[string]string, error) {
	_, rest, ok := strings.Cut(query, word+" ")
	name, _, _ := strings.Cut(rest, " ")
	if !ok {
		return "", nil, errors.New("not known: " + query)
	}
	if t := c.tables[name]; t != nil {
		return name, t, nil
	}
	return name, nil, fmt.Errorf("no such table: %s", name)
}

func (c *connection) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return nil, c.broken
	}
	if name, t, err := c.table(query, "CREATE TABLE IF NOT EXISTS"); name != "" {
		c.created++
		if err != nil {
			t = map[string]string{}
		}
		c.tables[name] = t
		return driver.RowsAffected(0), nil
	}
	_, t, err := c.table(query, "INSERT INTO")
	if err != nil {
		return nil, err
	}
	t[args[0].Value.(string)] = args[1].Value.(string)
	return driver.RowsAffected(1), nil
}

func (c *connection) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, t, err := c.table(query, "FROM")
	if err != nil {
		return nil, err
	}
	position, ok := t[args[0].Value.(string)]
	return &answer{position, !ok}, nil
}

// answer is one row, or none.
type answer struct {
	position string
	over     bool
}

func (a *answer) Columns() []string { return []string{"position"} }
func (a *answer) Close() error      { return nil }

func (a *answer) Next(dest []driver.Value) error {
	if a.over {
		return io.EOF
	}
	a.over, dest[0] = true, a.position
	return nil
}

// newDatabase returns an empty one.
func newDatabase(t *testing.T) (*database, *sql.DB) {
	t.Helper()
	d := &database{tables: map[string]map[string]string{}}
	db := sql.OpenDB(d)
	t.Cleanup(func() { _ = db.Close() })
	return d, db
}

func TestSQLKeepsTheRules(t *testing.T) {
	_, db := newDatabase(t)
	checkStore(t, func() flow.CheckpointStore { return mustSQL(t, db, "app.positions", "orders") })
}

func mustSQL(t *testing.T, db *sql.DB, table, name string) *checkpoint.SQL {
	t.Helper()
	s, err := checkpoint.NewSQL(db, table, name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStreamsShareATable(t *testing.T) {
	d, db := newDatabase(t)
	orders, returns := mustSQL(t, db, "positions", "orders"), mustSQL(t, db, "positions", "returns")
	for range 3 {
		for s, position := range map[*checkpoint.SQL]string{orders: "1", returns: "2"} {
			if err := s.Save(t.Context(), position); err != nil {
				t.Fatal(err)
			}
		}
	}
	for s, want := range map[*checkpoint.SQL]string{orders: "1", returns: "2"} {
		if got, err := s.Load(t.Context()); got != want || err != nil {
			t.Errorf("Load() = %q, %v, want %q", got, err, want)
		}
	}
	if d.created != 2 {
		t.Errorf("the table was created %d times, want once for each store", d.created)
	}
}

func TestADatabaseThatFails(t *testing.T) {
	d, db := newDatabase(t)
	d.broken = errors.New("read-only")
	s := mustSQL(t, db, "positions", "orders")
	if _, err := s.Load(t.Context()); !errors.Is(err, d.broken) {
		t.Errorf("Load() = %v, want %v", err, d.broken)
	}
	if err := s.Save(t.Context(), "1"); !errors.Is(err, d.broken) {
		t.Errorf("Save() = %v, want %v", err, d.broken)
	}
}

func TestNewSQLChecksItsArguments(t *testing.T) {
	_, db := newDatabase(t)
	long := strings.Repeat("a", 63)
	for _, table := range []string{"positions", "_p1", "app.positions", "A", long, long + "." + long} {
		if _, err := checkpoint.NewSQL(db, table, "orders"); err != nil {
			t.Errorf("NewSQL() = %v for the table %q, want no error", err, table)
		}
	}
	for _, table := range []string{"", "1p", "p;", "p p", "p--", `"p"`, "a.b.c", ".p", "p.", "pä", "p\n", long + "a"} {
		if _, err := checkpoint.NewSQL(db, table, "orders"); err == nil || !strings.Contains(err.Error(), "table must be") {
			t.Errorf("NewSQL() = %v for the table %q, want it refused", err, table)
		}
	}
	if _, err := checkpoint.NewSQL(nil, "p", "orders"); err == nil {
		t.Error("NewSQL() = nil without a database, want an error")
	}
	if _, err := checkpoint.NewSQL(db, "p", ""); err == nil {
		t.Error("NewSQL() = nil without a name, want an error")
	}
}
