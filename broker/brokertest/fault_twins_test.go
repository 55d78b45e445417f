package brokertest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
	"github.com/weir-go/weir/stage"
)

var faultTwins = []twin{
	{"31 ack after success only", "acknowledges what it hands out", fetchers(acksEarly)},
	{"31 ack after success only", "takes the first acknowledgement for one of all", fetchers(acksAll)},
	{"32 kill and resume", "acknowledges what it hands out", fetchers(acksEarly)},
	{"32 kill and resume", "keeps acknowledgements for later", func(s *memory.Stream, c Config, h *Stream) {
		h.Fetcher = limited(s, 1000, c.InFlight)
		fetchers(acksLate)(s, c, h)
	}},
	{"33 down at start", "fails at once", fetchers(func(f *fetcher) {
		f.open = func(ctx context.Context) error {
			if err := f.Fetcher.Open(briefly(ctx)); err != nil {
				return errBoom
			}
			return nil
		}
	})},
	{"33 down at start", "does not look", fetchers(func(f *fetcher) {
		f.open = func(ctx context.Context) error {
			_ = f.Fetcher.Open(briefly(ctx))
			return nil
		}
	})},
	{"33 down at start", "does not listen to its context", fetchers(func(f *fetcher) {
		f.open = func(ctx context.Context) error {
			for range 1000 {
				if f.Fetcher.Open(briefly(ctx)) == nil {
					return nil
				}
				time.Sleep(time.Second)
			}
			return errBoom
		}
	})},
	{"34 restart", "takes it for an error", whileDown(func(f *fetcher, down *atomic.Bool) {
		f.fetch = func(ctx context.Context, dst []broker.Delivery) (int, error) {
			if down.Load() {
				return 0, errBoom
			}
			return f.Fetcher.Fetch(ctx, dst)
		}
	})},
	{"34 restart", "gives up sending", func(s *memory.Stream, c Config, h *Stream) {
		senders(func(s *sender) {
			s.send = func(ctx context.Context, msgs []broker.Message) error {
				return s.Sender.Send(briefly(ctx), msgs)
			}
		})(s, c, h)
	}},
	{"35 ack while down is not counted", "forgets it", whileDown(forgetsWhileDown)},
	{"35 ack while down is not counted", "takes it for told", fetchers(func(f *fetcher) {
		f.close = func() error {
			_ = f.Fetcher.Close()
			return nil
		}
	})},
	{"36 deleted stream", "takes it for the end", fetchers(func(f *fetcher) { f.fetch = f.instead(stage.ErrEnd) })},
	{"36 deleted stream", "has another word for it", fetchers(func(f *fetcher) { f.fetch = f.instead(errBoom) })},
	{"36 deleted stream", "says it once", fetchers(saysOnce)},
	{"36 deleted stream", "notices it late", fetchers(func(f *fetcher) {
		f.fetch = func(ctx context.Context, dst []broker.Delivery) (int, error) {
			n, err := f.Fetcher.Fetch(ctx, dst)
			if err != nil {
				time.Sleep(6 * time.Second)
			}
			return n, err
		}
	})},
	{"36 deleted stream", "sends into the void", senders(func(s *sender) {
		s.send = func(ctx context.Context, msgs []broker.Message) error {
			_ = s.Sender.Send(ctx, msgs)
			return nil
		}
	})},
	{"36 deleted consumer", "takes it for the end", fetchers(func(f *fetcher) { f.fetch = f.instead(stage.ErrEnd) })},
	{"36 deleted consumer", "says it once", fetchers(saysOnce)},
	{"37 keep-alive during long work", "gives no sign of life", func(s *memory.Stream, c Config, h *Stream) {
		h.Fetcher = func() broker.Fetcher { return s.Fetcher(memory.FetchConfig{InFlight: c.InFlight, KeepAlive: -1}) }
	}},
	{"38 poison: one dead letter", "fails what is terminated", fetchers(terminatedFails)},
	{"38 poison: one dead letter", "does not count attempts", after(func(d *broker.Delivery) { d.Attempt = 1 })},
	{"39 nak always delayed", "ignores the delay", fetchers(func(f *fetcher) {
		f.settle = func(token uint64, o stage.Outcome) {
			o.Delay = 0
			f.Fetcher.Settle(token, o)
		}
	})},
	{"39 nak always delayed", "waits for twice the delay", fetchers(func(f *fetcher) {
		f.settle = func(token uint64, o stage.Outcome) {
			o.Delay *= 2
			f.Fetcher.Settle(token, o)
		}
	})},
	{"42 a drain that runs out of time", "keeps what is given back", fetchers(func(f *fetcher) {
		f.settle = func(token uint64, o stage.Outcome) {
			if !o.GivenBack {
				f.Fetcher.Settle(token, o)
			}
		}
		justGoes(f)
	})},
	{"42 a drain that runs out of time", "gives it back later", fetchers(func(f *fetcher) {
		f.settle = func(token uint64, o stage.Outcome) {
			if o.GivenBack {
				o.Delay = time.Hour
			}
			f.Fetcher.Settle(token, o)
		}
	})},
	{"42 drain", "goes before acknowledgements", fetchers(func(f *fetcher) {
		acksLate(f)
		justGoes(f)
	})},
	{"43 in-flight limit large enough for the graph", "hands out less than its limit", func(s *memory.Stream, c Config, h *Stream) {
		h.Fetcher = limited(s, c.InFlight/2, c.InFlight)
	}},
	{"43 in-flight limit large enough for the graph", "hands out one less than its limit", func(s *memory.Stream, c Config, h *Stream) {
		h.Fetcher = limited(s, max(c.InFlight-1, 1), c.InFlight)
	}},
}
