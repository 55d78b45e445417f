package brokertest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
	"github.com/weir-go/weir/stage"
)

var fetchTwins = []twin{
	{"F1 open of a deleted stream", "opens whatever there is", fetchers(func(f *fetcher) {
		f.open = func(ctx context.Context) error {
			_ = f.Fetcher.Open(ctx)
			return nil
		}
	})},
	{"F1 open of a deleted stream", "waits for the stream", fetchers(func(f *fetcher) {
		f.open = func(ctx context.Context) error {
			time.Sleep(time.Second)
			return f.Fetcher.Open(ctx)
		}
	})},
	{"F2 order at odd demands", "swaps deliveries", fetchers(func(f *fetcher) {
		f.after = func(ds []broker.Delivery) {
			if len(ds) > 1 {
				ds[0], ds[1] = ds[1], ds[0]
			}
		}
	})},
	{"F2 an empty dst", "fails for an empty dst", fetchers(func(f *fetcher) {
		f.fetch = func(ctx context.Context, dst []broker.Delivery) (int, error) {
			if len(dst) == 0 {
				return 0, errBoom
			}
			return f.Fetcher.Fetch(ctx, dst)
		}
	})},
	{"F2 an empty dst", "waits for an empty dst", fetchers(func(f *fetcher) {
		f.fetch = func(ctx context.Context, dst []broker.Delivery) (int, error) {
			if len(dst) == 0 {
				<-ctx.Done()
			}
			return f.Fetcher.Fetch(ctx, dst)
		}
	})},
	{"F2 waits for the first delivery only", "fills dst", fetchers(func(f *fetcher) {
		f.fetch = func(ctx context.Context, dst []broker.Delivery) (n int, err error) {
			for n < len(dst) && err == nil {
				var more int
				more, err = f.Fetcher.Fetch(ctx, dst[n:])
				n += more
			}
			return n, err
		}
	})},
	{"F2 waits for the first delivery only", "returns nothing instead of waiting", fetchers(func(f *fetcher) {
		f.fetch = func(ctx context.Context, dst []broker.Delivery) (int, error) {
			n, err := f.Fetcher.Fetch(briefly(ctx), dst)
			if errors.Is(err, errBrief) {
				return 0, nil
			}
			return n, err
		}
	})},
	{"F3 the limit in flight", "hands out more than its limit", func(s *memory.Stream, c Config, h *Stream) {
		h.Fetcher = limited(s, 2*c.InFlight, c.InFlight)
	}},
	{"F3 the limit in flight", "counts what has settled for ever", fetchers(func(f *fetcher) {
		total := 0
		f.fetch = func(ctx context.Context, dst []broker.Delivery) (int, error) {
			if total >= f.Limits().InFlight {
				<-ctx.Done()
				return 0, context.Cause(ctx)
			}
			n, err := f.Fetcher.Fetch(ctx, dst)
			total += n
			return n, err
		}
	})},
	{"F3 the demand", "fetches ahead", fetchers(func(f *fetcher) {
		f.fetch = ahead(f, 10)
	})},
	{"F3 the demand", "writes behind dst", fetchers(func(f *fetcher) {
		f.fetch = func(ctx context.Context, dst []broker.Delivery) (int, error) {
			n, err := f.Fetcher.Fetch(ctx, dst)
			clear(dst[len(dst):cap(dst)])
			return n, err
		}
	})},
	{"F3 the demand", "counts too much", fetchers(func(f *fetcher) {
		f.fetch = func(ctx context.Context, dst []broker.Delivery) (int, error) {
			n, err := f.Fetcher.Fetch(ctx, dst)
			return n + 1, err
		}
	})},
	{"F4 a context that is done", "invents an error", fetchers(func(f *fetcher) {
		f.fetch = func(ctx context.Context, dst []broker.Delivery) (int, error) {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			return f.Fetcher.Fetch(ctx, dst)
		}
	})},
	{"F4 cancel while waiting", "is late", fetchers(func(f *fetcher) {
		f.fetch = func(ctx context.Context, dst []broker.Delivery) (int, error) {
			n, err := f.Fetcher.Fetch(ctx, dst)
			if ctx.Err() != nil {
				time.Sleep(time.Second)
			}
			return n, err
		}
	})},
	{"F4 cancel while waiting", "is deaf", fetchers(func(f *fetcher) {
		f.fetch = func(ctx context.Context, dst []broker.Delivery) (int, error) {
			return f.Fetcher.Fetch(context.WithoutCancel(ctx), dst)
		}
	})},
	{"F4 cancel while waiting", "takes it for the end", fetchers(func(f *fetcher) {
		f.fetch = func(ctx context.Context, dst []broker.Delivery) (int, error) {
			n, err := f.Fetcher.Fetch(ctx, dst)
			if ctx.Err() != nil {
				err = stage.ErrEnd
			}
			return n, err
		}
	})},
	{"F4 cancel without loss", "drops what comes late", fetchers(func(f *fetcher) {
		f.fetch = func(ctx context.Context, dst []broker.Delivery) (int, error) {
			n, err := f.Fetcher.Fetch(ctx, dst)
			if err != nil {
				_, _ = f.Fetcher.Fetch(briefly(ctx), dst)
			}
			return n, err
		}
	})},
	{"F6 what waits to be fetched", "does not keep it alive", func(s *memory.Stream, c Config, h *Stream) {
		h.Fetcher = func() broker.Fetcher { return s.Fetcher(memory.FetchConfig{InFlight: c.InFlight, KeepAlive: -1}) }
		keepsLate(s, c, h)
	}},
	{"F7 no end without being told", "takes empty for the end", fetchers(func(f *fetcher) {
		f.fetch = func(ctx context.Context, dst []broker.Delivery) (int, error) {
			n, err := f.Fetcher.Fetch(briefly(ctx), dst)
			if errors.Is(err, errBrief) {
				err = stage.ErrEnd
			}
			return n, err
		}
	})},
	{"F7 the clean end", "wraps it", fetchers(func(f *fetcher) {
		f.fetch = func(ctx context.Context, dst []broker.Delivery) (int, error) {
			n, err := f.Fetcher.Fetch(ctx, dst)
			if err != nil {
				err = fmt.Errorf("fetch: %w", err)
			}
			return n, err
		}
	})},
	{"F7 the clean end", "ends while messages are unsettled", func(s *memory.Stream, c Config, h *Stream) {
		var ended atomic.Bool
		end := h.End
		h.End = func() { ended.Store(true); end() }
		fetchers(func(f *fetcher) {
			f.fetch = func(ctx context.Context, dst []broker.Delivery) (int, error) {
				if ended.Load() {
					return 0, stage.ErrEnd
				}
				return f.Fetcher.Fetch(ctx, dst)
			}
		})(s, c, h)
	}},
	{"F9 one caller after another", "belongs to a goroutine", fetchers(func(f *fetcher) {
		var owner string
		f.fetch = func(ctx context.Context, dst []broker.Delivery) (int, error) {
			if id := goroutine(); owner == "" {
				owner = id
			} else if id != owner {
				return 0, errBoom
			}
			return f.Fetcher.Fetch(ctx, dst)
		}
	})},
	{"limits as configured", "does not know how long the broker waits", fetchers(func(f *fetcher) {
		f.limits = func(l *broker.Limits) { l.AckWait = 0 }
	})},
	{"limits as configured", "does not know the depth", senders(func(s *sender) {
		s.limits = func(l *broker.Limits) { l.Messages = 0 }
	})},
	{"delivery what is known of a message", "has a new identity each time", after(func(d *broker.Delivery) { d.ID = strconv.FormatUint(d.Token, 10) })},
	{"delivery what is known of a message", "has one identity for all", after(func(d *broker.Delivery) { d.ID = "same" })},
	{"delivery what is known of a message", "does not count attempts", after(func(d *broker.Delivery) { d.Attempt = 1 })},
	{"delivery what is known of a message", "forgets headers", after(func(d *broker.Delivery) { d.Header = nil })},
	{"delivery what is known of a message", "uses a token twice", after(func(d *broker.Delivery) { d.Token = 1 })},
	{"delivery what is known of a message", "has its own subject", after(func(d *broker.Delivery) { d.Subject = "deliver" })},
}
