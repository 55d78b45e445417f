package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/jetstream"
	"github.com/weir-go/weir/flow"
)

const (
	// inFlight is how many functions are on their way to the table and not acknowledged. So many, and a batch, a kill repeats at most.
	inFlight = 1024
	// ackWait is when the functions come back that a process had in hand when it was killed.
	ackWait = 5 * time.Second
	// answerWithin is how long a server may take before the run begins, and after it has ended.
	answerWithin = 10 * time.Second
)

// natsStream is a stream in JetStream: at a server in this process, which nobody else can reach, or at one elsewhere.
type natsStream struct {
	nc    *nats.Conn
	store *store // nil: the server is elsewhere
	name  string
	full  flow.Policy
}

// openJetStream connects to the server, which it starts where there is none, and finds or makes the stream.
func openJetStream(ctx context.Context, o *options) (*natsStream, error) {
	s := &natsStream{name: streamName(o.db), full: o.onFull}
	err := s.connect(ctx, o)
	if err == nil {
		err = s.ensure(ctx, o)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// streamName names the stream after the database, and the subject after the stream.
func streamName(db string) string {
	name := filepath.Base(db)
	if isPostgres(db) {
		name = "postgres"
		if c, err := pgx.ParseConfig(db); err == nil { // otherwise opening the database has said so
			name = c.Host + "-" + c.Database
		}
	}
	return "etl-" + strings.Map(func(r rune) rune {
		if strings.ContainsRune(".*>/\\", r) || r <= ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, strings.TrimSuffix(name, ".db"))
}

// folder is where the server in this process keeps the stream: beside the database file, or in the current folder.
func folder(db string) string {
	if isPostgres(db) {
		return streamName(db) + ".jetstream"
	}
	return db + ".jetstream"
}

func (s *natsStream) connect(ctx context.Context, o *options) (err error) {
	if o.nats != "" {
		s.nc, err = jetstream.Connect(o.nats, nats.RetryOnFailedConnect(false)) // somebody is waiting for an answer
		return err
	}
	if s.store, err = openStore(ctx, folder(o.db)); err != nil {
		return err
	}
	s.nc, err = s.store.server.Conn()
	return err
}

// ensure makes the stream. One that is there must be as the options say, but for the half that only loads from it.
func (s *natsStream) ensure(ctx context.Context, o *options) error {
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, errors.New("no answer from the NATS server"))
	defer cancel()
	if o.half == halfLoad {
		if _, err := s.info(ctx); !errors.Is(err, natsjs.ErrStreamNotFound) {
			return err
		}
	}
	err := jetstream.EnsureStream(ctx, s.nc, jetstream.StreamConfig{
		Name: s.name, Subjects: []string{s.name}, MaxMessages: int64(o.depth), Full: fullRule(o.onFull),
	})
	if err != nil && s.store != nil {
		return fmt.Errorf("%w (-half load first empties what an earlier run has left)", err)
	}
	return err
}

// sender is the way in. Where functions wait for room they keep their order.
func (s *natsStream) sender() broker.Sender {
	return jetstream.NewSender(s.nc, jetstream.SenderConfig{Stream: s.name, OnFull: s.full, Ordered: s.full == flow.Block})
}

// fetcher is the way out. The server confirms acknowledgements, so that what is left in the stream is what is not in the table.
func (s *natsStream) fetcher() fetcher {
	return jetstream.NewFetcher(s.nc, jetstream.SourceConfig{
		Stream: s.name, Durable: "load", MaxAckPending: inFlight, AckWait: ackWait, Ack: jetstream.Confirmed,
	})
}

func (s *natsStream) info(ctx context.Context) (*natsjs.StreamInfo, error) {
	js, err := natsjs.New(s.nc)
	if err != nil {
		return nil, err
	}
	st, err := js.Stream(ctx, s.name)
	if err != nil {
		return nil, err
	}
	return st.CachedInfo(), nil
}

func (s *natsStream) level(ctx context.Context) (level, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	i, err := s.info(ctx)
	if err != nil {
		return level{}, fmt.Errorf("stream %s: %w", s.name, err)
	}
	return level{int64(i.State.Msgs), int64(i.State.LastSeq)}, nil
}

// Close disconnects. A server in this process ends, and what it kept is removed if nothing is left in the stream: the next run
// may then give the stream another depth.
func (s *natsStream) Close() error {
	empty := false
	if s.nc != nil {
		l, err := s.level(context.Background())
		empty = err == nil && l.waiting == 0
		s.nc.Close()
	}
	if s.store == nil {
		return nil
	}
	return s.store.close(empty)
}
