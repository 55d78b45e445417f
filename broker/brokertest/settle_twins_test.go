package brokertest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/broker/memory"
	"github.com/weir-go/weir/stage"
)

var settleTwins = []twin{
	{"F5 done and terminated", "does not acknowledge", fetchers(func(f *fetcher) {
		f.settle = func(token uint64, o stage.Outcome) {
			if o.Kind != stage.Done {
				f.Fetcher.Settle(token, o)
			}
		}
	})},
	{"F5 done and terminated", "fails what is terminated", fetchers(terminatedFails)},
	{"F5 failed", "waits for the broker to notice", fetchers(func(f *fetcher) {
		f.settle = func(token uint64, o stage.Outcome) {
			if o.Kind == stage.Failed {
				o.Delay = time.Minute
			}
			f.Fetcher.Settle(token, o)
		}
	})},
	{"F5 failed", "acknowledges failures", fetchers(func(f *fetcher) {
		f.settle = func(token uint64, _ stage.Outcome) { f.Fetcher.Settle(token, done()) }
	})},
	{"F5 once per token", "does the second as well", func(s *memory.Stream, _ Config, h *Stream) {
		again := s.Sender(memory.SendConfig{})
		fetchers(func(f *fetcher) {
			settled := make(map[uint64]bool)
			f.settle = func(token uint64, o stage.Outcome) {
				if settled[token] {
					_ = again.Open(context.Background())
					_ = again.Send(context.Background(), numbered(*h, 0, 1))
				}
				settled[token] = true
				f.Fetcher.Settle(token, o)
			}
		})(s, Config{}, h)
	}},
	{"F5 from any goroutine", "loses what comes at the same time", fetchers(func(f *fetcher) {
		var busy atomic.Bool
		f.settle = func(token uint64, o stage.Outcome) {
			if busy.CompareAndSwap(false, true) {
				time.Sleep(time.Millisecond)
				f.Fetcher.Settle(token, o)
				busy.Store(false)
			}
		}
	})},
	{"F5 settle while down", "blocks", whileDown(func(f *fetcher, down *atomic.Bool) {
		f.settle = func(token uint64, o stage.Outcome) {
			if down.Load() {
				time.Sleep(time.Second)
			}
			f.Fetcher.Settle(token, o)
		}
	})},
	{"F5 settle while down", "forgets it", whileDown(forgetsWhileDown)},
	{"F5 failed when somebody else has it", "fails it again", func(s *memory.Stream, c Config, h *Stream) {
		again := s.Sender(memory.SendConfig{})
		fetchers(func(f *fetcher) {
			f.settle = func(token uint64, o stage.Outcome) {
				f.Fetcher.Settle(token, o)
				if f.Stats().Late > 0 {
					_ = again.Open(context.Background())
					_ = again.Send(context.Background(), numbered(*h, 0, 1))
				}
			}
		})(s, c, h)
	}},
	{"F8 close gives back", "just goes", fetchers(justGoes)},
	{"F8 close gives back", "gives back what was done", fetchers(func(f *fetcher) {
		f.settle = func(uint64, stage.Outcome) {}
	})},
	{"F8 close twice", "fails the second time", fetchers(func(f *fetcher) { f.close = failsTwice(f.Fetcher.Close) })},
	{"F8 close while down", "says nothing", fetchers(func(f *fetcher) {
		f.close = func() error {
			_ = f.Fetcher.Close()
			return nil
		}
	})},
}
