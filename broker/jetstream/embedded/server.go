package embedded

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

const readyWithin = 30 * time.Second // a large store takes its time to be read

// Server is a NATS server in this process.
type Server struct {
	srv  *server.Server
	temp string // the folder to remove, "" where it is the user's

	closing sync.Once
	err     error
}

// Start runs a server until it is closed. It returns when connections are accepted and JetStream answers, which takes some
// 10 ms, and longer where the folder holds much; after 30 s it gives up.
func Start(c Config) (*Server, error) {
	opts, err := c.options()
	if err != nil {
		return nil, err
	}
	s := &Server{}
	if opts.StoreDir == "" {
		if s.temp, err = os.MkdirTemp("", "weir-nats-"); err != nil {
			return nil, fmt.Errorf("embedded: %w", err)
		}
		opts.StoreDir = s.temp
	}
	if err := s.start(opts); err != nil {
		return nil, errors.Join(fmt.Errorf("embedded: %w", err), s.Close())
	}
	return s, nil
}

func (s *Server) start(opts *server.Options) error {
	srv, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	s.srv = srv
	var fatal fatalError
	srv.SetLoggerV2(&fatal, false, false, false)
	srv.Start() // says what went wrong in its log, and nowhere else
	if err := fatal.err(); err != nil {
		return err
	}
	if !srv.ReadyForConnections(readyWithin) {
		return errors.Join(fmt.Errorf("not ready after %v", readyWithin), fatal.err())
	}
	return nil
}

// Conn returns a new connection that uses no socket. The caller closes it, before the server.
func (s *Server) Conn(opts ...nats.Option) (*nats.Conn, error) {
	return nats.Connect("", append([]nats.Option{nats.InProcessServer(s.srv)}, opts...)...)
}

// URL is where the server listens, "" if it does not.
func (s *Server) URL() string {
	if s.srv.Addr() == nil {
		return ""
	}
	return s.srv.ClientURL()
}

// Close stops the server, waits until its files are closed, and removes the folder if that is temporary. Connections that
// are still open break. Further calls return what the first one returned.
func (s *Server) Close() error {
	s.closing.Do(func() {
		if s.srv != nil {
			s.srv.Shutdown()
			s.srv.WaitForShutdown()
		}
		if s.temp != "" {
			s.err = os.RemoveAll(s.temp)
		}
	})
	return s.err
}
