package checkpoint

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"sync/atomic"
)

// SQL is a store in a table of a SQL database. See [NewSQL].
type SQL struct {
	db      *sql.DB
	name    string
	created atomic.Bool // the table is there

	create, load, save string // statements
}

// identifier is what a table may be called, so that its name can be part of a statement as it is.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,62}(\.[A-Za-z_][A-Za-z0-9_]{0,62})?$`)

// NewSQL returns a store in a table of db: the row that is called name. One table serves many streams. The table is made by the
// first Load or Save if it is not there; otherwise it must have the columns name, which is unique, and position, both
// text. The table's name is one or two identifiers of ASCII letters, digits and underscores, like app.positions.
//
// The statements are those of SQLite and PostgreSQL. The store does not close db.
func NewSQL(db *sql.DB, table, name string) (*SQL, error) {
	switch {
	case db == nil:
		return nil, errors.New("checkpoint: database must not be nil")
	case !identifier.MatchString(table):
		return nil, fmt.Errorf("checkpoint: table must be an identifier of ASCII letters, digits and underscores, got %q", table)
	case name == "":
		return nil, errors.New("checkpoint: name must not be empty")
	}
	return &SQL{
		db: db, name: name,
		create: "CREATE TABLE IF NOT EXISTS " + table + " (name TEXT NOT NULL PRIMARY KEY, position TEXT NOT NULL)",
		load:   "SELECT position FROM " + table + " WHERE name = $1",
		save: "INSERT INTO " + table + " (name, position) VALUES ($1, $2)" +
			" ON CONFLICT (name) DO UPDATE SET position = excluded.position",
	}, nil
}

// Load implements flow.CheckpointStore.
func (s *SQL) Load(ctx context.Context) (position string, err error) {
	if err := s.prepare(ctx); err != nil {
		return "", err
	}
	err = s.db.QueryRowContext(ctx, s.load, s.name).Scan(&position)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return position, err
}

// Save implements flow.CheckpointStore.
func (s *SQL) Save(ctx context.Context, position string) error {
	if err := s.prepare(ctx); err != nil {
		return err
	}
	_, err := s.db.ExecContext(ctx, s.save, s.name, position)
	return err
}

// prepare makes the table, once.
func (s *SQL) prepare(ctx context.Context) error {
	if s.created.Load() {
		return nil
	}
	if _, err := s.db.ExecContext(ctx, s.create); err != nil {
		return fmt.Errorf("create the table: %w", err)
	}
	s.created.Store(true)
	return nil
}
