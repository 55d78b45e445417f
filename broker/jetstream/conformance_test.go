package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/brokertest"
	"github.com/weir-go/weir/flow"
)

// The adapter keeps the contract of package broker, in each way of acknowledging that a work queue allows, and in each of sending.
func TestConformance(t *testing.T) {
	for mode, ordered := range map[AckMode]bool{Plain: false, Confirmed: true} {
		t.Run(fmt.Sprintf("%v, ordered=%v", mode, ordered), func(t *testing.T) {
			t.Parallel()
			brokertest.Test(t, brokertest.Adapter{
				Features: brokertest.Features{DropsOldest: true, Bytes: true, AtOnce: 12, Patience: patience},
				New: func(t *testing.T, c brokertest.Config) brokertest.Stream {
					t.Helper()
					return conformingStream(t, c, mode, ordered)
				},
			})
		})
	}
}

func conformingStream(t *testing.T, c brokertest.Config, mode AckMode, ordered bool) brokertest.Stream {
	t.Helper()
	l := newLab(t)
	policy := flow.Block
	l.stream(onDisk, func(s *jetstream.StreamConfig) {
		s.MaxMsgs, s.MaxBytes, s.MaxMsgSize = cmp.Or(c.Messages, -1), cmp.Or(c.Bytes, -1), int32(c.Message) //nolint:gosec // a few bytes
		if c.Full == broker.DropsOldest {
			s.Discard, policy = jetstream.DiscardOld, flow.DropOldest
		}
	})
	conns := map[*Fetcher]*nats.Conn{}
	var lose atomic.Int64
	ctx := context.WithoutCancel(t.Context())
	return brokertest.Stream{
		Subject: "s.x",
		Fetcher: func() broker.Fetcher {
			nc := l.connect()
			f := NewFetcher(nc, SourceConfig{
				Stream: "S", Durable: "d", Ack: mode, MaxAckPending: c.InFlight, AckWait: max(c.AckWait, lowestAckWait),
				PullExpiry: time.Second, CloseTimeout: 3 * time.Second,
			})
			conns[f] = nc
			return f
		},
		Sender: func() broker.Sender {
			s := NewSender(l.connect(), SenderConfig{Stream: "S", OnFull: policy, Tolerate: true, Ordered: ordered, AckTimeout: 250 * time.Millisecond})
			return &deafSender{s, &lose}
		},
		LoseConfirmations: func(n int) { lose.Store(int64(n)) },
		Down:              l.stop,
		Up:                l.start,
		Delete:            func() { must(t, l.js.DeleteStream(ctx, "S")) },
		DeleteConsumer:    func() { must(t, l.js.DeleteConsumer(ctx, "S", "d")) },
		Kill:              func(f broker.Fetcher) { conns[f.(*Fetcher)].Close() },
		Resize: func(messages int64) {
			s, err := l.js.Stream(ctx, "S")
			must(t, err)
			cfg := s.CachedInfo().Config
			cfg.MaxMsgs = messages
			_, err = l.js.UpdateStream(ctx, cfg)
			must(t, err)
		},
	}
}

// deafSender is a Sender that some answers don't reach.
type deafSender struct {
	*Sender
	lose *atomic.Int64 // so many more
}

func (s *deafSender) Open(ctx context.Context) error {
	err := s.Sender.Open(ctx)
	if err != nil {
		return err
	}
	hear := s.sub
	s.sub, err = s.nc.Subscribe(s.inbox+"*", func(m *nats.Msg) {
		if s.lose.Add(-1) < 0 {
			s.receive(m)
		}
	})
	return errors.Join(err, hear.Unsubscribe())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
