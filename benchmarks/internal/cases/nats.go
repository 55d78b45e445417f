package cases

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/benchmarks/internal/bench"
	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/jetstream/embedded"
)

const (
	natsItems   = 20_000
	natsWindow  = 1024 // messages sent and not confirmed, or delivered and not acknowledged, at most
	natsPayload = 256  // bytes

	natsPatience = time.Minute // for what takes less than a second
)

var errLost = errors.New("an item or its confirmation is missing")

// natsServer is a NATS server in this process. It lasts for a round, and both sides have connections of their own to it.
type natsServer struct {
	srv   *embedded.Server
	names int // given away
}

func (s *natsServer) start() (stop func() error, err error) {
	if s.srv, err = embedded.Start(embedded.Config{}); err != nil {
		return nil, err
	}
	return s.srv.Close, nil
}

// name returns a new name, for a stream or a consumer.
func (s *natsServer) name() string {
	s.names++
	return fmt.Sprint("b", s.names)
}

// client is a connection of the client library alone.
type client struct {
	nc *nats.Conn
	js jetstream.JetStream
}

func (s *natsServer) connect(o ...jetstream.JetStreamOpt) (client, error) {
	nc, err := s.srv.Conn()
	if err != nil {
		return client{}, err
	}
	js, err := jetstream.New(nc, o...)
	if err != nil {
		nc.Close()
		return client{}, err
	}
	return client{nc, js}, nil
}

// stream makes a stream in memory that has room for n messages and keeps them when they are acknowledged.
func (c client) stream(name string, n int) error {
	_, err := c.js.CreateStream(context.Background(), jetstream.StreamConfig{
		Name: name, Subjects: []string{name}, Storage: jetstream.MemoryStorage, MaxMsgs: int64(n), Discard: jetstream.DiscardOld,
	})
	return err
}

// published waits until all asynchronous publishing is confirmed.
func (c client) published() error {
	select {
	case <-c.js.PublishAsyncComplete():
		return nil
	case <-time.After(natsPatience):
		return errLost
	}
}

// stored checks that a stream has n messages, and never had more.
func (c client) stored(stream string, n int) error {
	if err := c.published(); err != nil {
		return err
	}
	s, err := c.js.Stream(context.Background(), stream)
	if err != nil {
		return err
	}
	if state := s.CachedInfo().State; state.Msgs != uint64(n) || state.LastSeq != uint64(n) {
		return fmt.Errorf("%d messages are stored and %d were, want %d", state.Msgs, state.LastSeq, n)
	}
	return nil
}

// numberCodec makes messages of numbers: eight bytes, and nothing that matters behind them.
func numberCodec() broker.Codec[int64] {
	padding := make([]byte, natsPayload-8)
	return broker.CodecFunc(
		func(dst []byte, v int64) ([]byte, error) {
			return append(binary.LittleEndian.AppendUint64(dst, uint64(v)), padding...), nil
		},
		func(data []byte, v *int64) (err error) { *v, err = numberIn(data); return err },
	)
}

func numberIn(data []byte) (int64, error) {
	if len(data) != natsPayload {
		return 0, fmt.Errorf("a payload of %d bytes, want %d", len(data), natsPayload)
	}
	return int64(binary.LittleEndian.Uint64(data)), nil
}

// broken is a trial that could not be prepared.
func broken(c client, err error) bench.Trial {
	return bench.Trial{Run: func() error { return err }, Close: c.close}
}

func (c client) close() error {
	if c.nc != nil {
		c.nc.Close()
	}
	return nil
}
