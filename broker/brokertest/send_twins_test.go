package brokertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
	"github.com/weir-go/weir/stage"
)

var sendTwins = []twin{
	{"S1 open a sender while down", "fails at once", senders(func(s *sender) {
		s.open = func(ctx context.Context) error {
			if err := s.Sender.Open(briefly(ctx)); err != nil {
				return errBoom
			}
			return nil
		}
	})},
	{"S1 open a sender while down", "does not look", senders(func(s *sender) {
		s.open = func(ctx context.Context) error {
			if err := s.Sender.Open(briefly(ctx)); err != nil && !errors.Is(err, errBrief) {
				return err
			}
			return nil
		}
	})},
	{"S2 stored when nil", "loses the last message", senders(func(s *sender) {
		s.send = func(ctx context.Context, msgs []broker.Message) error {
			return s.Sender.Send(ctx, msgs[:max(len(msgs)-1, 0)])
		}
	})},
	{"S3 full is ErrFull", "has another word for it", senders(func(s *sender) {
		s.send = func(ctx context.Context, msgs []broker.Message) error {
			if err := s.Sender.Send(ctx, msgs); err != nil {
				return errBoom
			}
			return nil
		}
	})},
	{"S3 full is ErrFull", "says it of the whole batch", senders(func(s *sender) {
		s.send = func(ctx context.Context, msgs []broker.Message) error {
			if err := s.Sender.Send(ctx, msgs); err != nil {
				return broker.ErrFull
			}
			return nil
		}
	})},
	{"S3 full is ErrFull", "says that it is refused as well", senders(func(s *sender) {
		s.send = func(ctx context.Context, msgs []broker.Message) error {
			err := s.Sender.Send(ctx, msgs)
			if bad, ok := errors.AsType[*stage.BatchError](err); ok {
				for i := range bad.Items {
					bad.Items[i].Err = errors.Join(bad.Items[i].Err, broker.ErrRefused)
				}
			}
			return err
		}
	})},
	{"S3 full is ErrFull", "lists a message twice", senders(func(s *sender) {
		s.send = func(ctx context.Context, msgs []broker.Message) error {
			err := s.Sender.Send(ctx, msgs)
			if bad, ok := errors.AsType[*stage.BatchError](err); ok {
				bad.Items = append(bad.Items, bad.Items[0])
			}
			return err
		}
	})},
	{"S3 full by bytes", "counts messages only", limits(func(c *Config) { c.Bytes = 0 })},
	{"S3 room again", "stays full", senders(func(s *sender) {
		var full error
		s.send = func(ctx context.Context, msgs []broker.Message) error {
			if full == nil {
				full = s.Sender.Send(ctx, msgs)
			}
			return full
		}
	})},
	{"S3 room again", "frees the place of what is in flight", limits(func(c *Config) { c.Messages++ })},
	{"S3 a limit that is lowered", "goes by the old one", func(_ *memory.Stream, _ Config, h *Stream) {
		h.Resize = func(int64) {}
	}},
	{"S3 exact under eight senders", "lets one in too much", limits(func(c *Config) { c.Messages++ })},
	{"S3 exact under eight senders", "says nothing of the last one", senders(func(s *sender) {
		s.send = func(ctx context.Context, msgs []broker.Message) error {
			err := s.Sender.Send(ctx, msgs)
			if bad, ok := errors.AsType[*stage.BatchError](err); ok {
				bad.Items = bad.Items[1:]
			}
			return err
		}
	})},
	{"S3 drops the oldest", "refuses the newest", limits(func(c *Config) { c.Full = broker.RefusesNew })},
	{"S3 drops the oldest", "drops one more", limits(func(c *Config) { c.Messages-- })},
	{"S4 unknown when the context ends", "does not say so", senders(func(s *sender) {
		s.send = func(ctx context.Context, msgs []broker.Message) error {
			if err := s.Sender.Send(ctx, msgs); errors.Is(err, broker.ErrUnknown) {
				return context.Cause(ctx)
			}
			return nil
		}
	})},
	{"S4 unknown when the context ends", "takes it for stored", senders(func(s *sender) {
		s.send = func(ctx context.Context, msgs []broker.Message) error {
			if err := s.Sender.Send(ctx, msgs); !errors.Is(err, broker.ErrUnknown) {
				return err
			}
			return nil
		}
	})},
	{"S5 order", "sends from the end", senders(func(s *sender) {
		s.send = func(ctx context.Context, msgs []broker.Message) error {
			msgs = slices.Clone(msgs)
			slices.Reverse(msgs)
			return s.Sender.Send(ctx, msgs)
		}
	})},
	{"S5 nothing behind a full one", "goes on with the next", senders(func(s *sender) {
		s.send = func(ctx context.Context, msgs []broker.Message) error {
			var bad stage.BatchError
			for i := range msgs {
				bad.Add(i, s.Sender.Send(ctx, msgs[i:i+1]))
			}
			return bad.OrNil()
		}
	})},
	{"S5 nothing behind a full one, sent again", "sends each on its own the second time", senders(func(s *sender) {
		s.send = func(ctx context.Context, msgs []broker.Message) error {
			err := s.Sender.Send(briefly(ctx), msgs)
			if !errors.Is(err, broker.ErrUnknown) {
				return err
			}
			var bad stage.BatchError
			for i := range msgs {
				bad.Add(i, s.Sender.Send(ctx, msgs[i:i+1]))
			}
			return bad.OrNil()
		}
	})},
	{"S6 full does not wait", "waits for room", senders(func(s *sender) {
		s.send = func(ctx context.Context, msgs []broker.Message) error {
			err := s.Sender.Send(ctx, msgs)
			if errors.Is(err, broker.ErrFull) {
				time.Sleep(time.Second)
			}
			return err
		}
	})},
	{"S7 messages are not kept", "sends them later", senders(func(s *sender) {
		s.send = func(ctx context.Context, msgs []broker.Message) error {
			time.AfterFunc(time.Millisecond, func() { _ = s.Sender.Send(context.WithoutCancel(ctx), msgs) })
			return nil
		}
	})},
	{"S7 messages are not kept", "has one caller at a time", senders(func(s *sender) {
		var busy atomic.Bool
		s.send = func(ctx context.Context, msgs []broker.Message) error {
			if !busy.CompareAndSwap(false, true) {
				return errBoom
			}
			defer busy.Store(false)
			time.Sleep(time.Millisecond)
			return s.Sender.Send(ctx, msgs)
		}
	})},
	{"S8 close a sender twice", "fails the second time", senders(func(s *sender) { s.close = failsTwice(s.Sender.Close) })},
	{"40 oversize", "cuts it", senders(func(s *sender) {
		s.send = rewriting(s, func(m *broker.Message) {
			m.Data = m.Data[:min(len(m.Data), 100)]
			m.Header = nil
		})
	})},
	{"40 oversize", "takes it for full", senders(func(s *sender) {
		s.send = func(ctx context.Context, msgs []broker.Message) error {
			err := s.Sender.Send(ctx, msgs)
			if bad, ok := errors.AsType[*stage.BatchError](err); ok {
				for i := range bad.Items {
					bad.Items[i].Err = broker.ErrFull
				}
			}
			return err
		}
	})},
	{"40 oversize", "sends nothing with it", senders(func(s *sender) {
		s.send = func(ctx context.Context, msgs []broker.Message) error {
			for i := range msgs {
				if msgs[i].Size() > s.Limits().Message {
					return broker.ErrRefused
				}
			}
			return s.Sender.Send(ctx, msgs)
		}
	})},
	{"40 bad headers", "leaves them out", senders(func(s *sender) {
		s.send = rewriting(s, func(m *broker.Message) { m.Header = nil })
	})},
	{"41 stable identity", "has its own", senders(func(s *sender) {
		s.send = rewriting(s, func(m *broker.Message) { m.ID = "" })
	})},
	{"41 stable identity", "takes none for one", senders(func(s *sender) {
		s.send = rewriting(s, func(m *broker.Message) { m.ID = "id " + m.ID })
	})},
	{"41 ambiguous results", "sends it again under another", senders(func(s *sender) {
		s.send = func(ctx context.Context, msgs []broker.Message) error {
			for try := 0; ; try++ {
				again := rewriting(s, func(m *broker.Message) { m.ID = fmt.Sprint(m.ID, string(m.Data), try) })
				if err := again(briefly(ctx), msgs); !errors.Is(err, broker.ErrUnknown) {
					return err
				}
			}
		}
	})},
	{"41 ambiguous results", "gives up", senders(func(s *sender) {
		s.send = func(ctx context.Context, msgs []broker.Message) error { return s.Sender.Send(briefly(ctx), msgs) }
	})},
}
