package jetstream

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/brokertest"
	"github.com/weir-go/weir/flow"
)

// The adapter keeps the contract of package broker, in each way of acknowledging that a work queue allows.
func TestConformance(t *testing.T) {
	for _, mode := range []AckMode{Plain, Confirmed} {
		t.Run(mode.String(), func(t *testing.T) {
			brokertest.Test(t, brokertest.Adapter{
				Features: brokertest.Features{DropsOldest: true, AtOnce: 24},
				New: func(t *testing.T, c brokertest.Config) brokertest.Stream {
					t.Helper()
					return conformingStream(t, c, mode)
				},
			})
		})
	}
}

func conformingStream(t *testing.T, c brokertest.Config, mode AckMode) brokertest.Stream {
	t.Helper()
	l := newLab(t)
	policy := flow.Block
	l.stream(onDisk, func(s *jetstream.StreamConfig) {
		s.MaxMsgs, s.MaxMsgSize = c.Messages, int32(c.Message) //nolint:gosec // a few bytes
		if c.Full == broker.DropsOldest {
			s.Discard, policy = jetstream.DiscardOld, flow.DropOldest
		}
	})
	conns := map[*Fetcher]*nats.Conn{}
	ctx := context.WithoutCancel(t.Context())
	return brokertest.Stream{
		Subject: "s.x",
		Fetcher: func() broker.Fetcher {
			nc := l.connect()
			f := NewFetcher(nc, SourceConfig{
				Stream: "S", Durable: "d", Ack: mode, MaxAckPending: c.InFlight, AckWait: cmp.Or(max(c.AckWait, lowestAckWait), time.Second),
				PullExpiry: time.Second, CloseTimeout: time.Second,
			})
			conns[f] = nc
			return f
		},
		Sender: func() broker.Sender {
			return NewSender(l.connect(), SenderConfig{Stream: "S", OnFull: policy, Tolerate: true})
		},
		Down:           l.stop,
		Up:             l.start,
		Delete:         func() { must(t, l.js.DeleteStream(ctx, "S")) },
		DeleteConsumer: func() { must(t, l.js.DeleteConsumer(ctx, "S", "d")) },
		Kill:           func(f broker.Fetcher) { conns[f.(*Fetcher)].Close() },
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

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
