package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weir-go/weir/broker/jetstream/embedded"
)

// store is a NATS server in this process, and the folder that it keeps its streams in.
type store struct {
	folder string
	lock   *lock
	server *embedded.Server
}

// openStore starts a server. A folder belongs to one server at a time: a second one would damage it.
func openStore(ctx context.Context, folder string) (*store, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	s := &store{folder: folder}
	var err error
	if s.lock, err = newLock(ctx, filepath.Join(folder, "lock")); err != nil {
		return nil, fmt.Errorf("%s is in use by another run: %w", folder, err)
	}
	if s.server, err = embedded.Start(embedded.Config{Dir: folder}); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	return s, nil
}

// close ends the server, and removes the folder where nothing in it is needed any more.
func (s *store) close(remove bool) error {
	err := s.server.Close()
	if remove && err == nil {
		err = os.RemoveAll(filepath.Join(s.folder, "jetstream"))
	}
	err = errors.Join(err, s.lock.Close())
	if remove && err == nil {
		_ = os.Remove(s.lock.file) // if somebody is waiting for
		_ = os.Remove(s.folder)    // them, they may stay
	}
	return err
}

// lock is a file that one process has, until it closes it or ends in whatever way. SQLite can do that on every system.
type lock struct {
	file string
	db   *sql.DB
	conn *sql.Conn
}

func newLock(ctx context.Context, file string) (*lock, error) {
	db, err := sql.Open("sqlite", sqliteURL(file))
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err == nil {
		_, err = conn.ExecContext(ctx, "BEGIN EXCLUSIVE")
	}
	l := &lock{file, db, conn}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Close gives the file up.
func (l *lock) Close() error {
	var err error
	if l.conn != nil {
		err = l.conn.Close()
	}
	return errors.Join(err, l.db.Close())
}
