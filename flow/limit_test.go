package flow_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/stage"
)

// permits is a limiter that counts.
type permits struct {
	free        chan struct{}
	given, back atomic.Int64
	refuse      atomic.Bool
}

var errNoPermit = errors.New("no permit")

func newPermits(n int) *permits { return &permits{free: make(chan struct{}, n)} }

func (p *permits) Acquire(ctx context.Context) (permit, error) {
	if p.refuse.Load() {
		return permit{}, errNoPermit
	}
	select {
	case p.free <- struct{}{}:
		p.given.Add(1)
		return permit{p}, nil
	case <-ctx.Done():
		return permit{}, context.Cause(ctx)
	}
}

type permit struct{ of *permits }

func (p permit) Release() {
	p.of.back.Add(1)
	<-p.of.free
}

// returned fails the test unless every permit was given back.
func (p *permits) returned(t *testing.T) {
	t.Helper()
	if given, back := p.given.Load(), p.back.Load(); given != back || len(p.free) != 0 {
		t.Errorf("%d permits were given and %d given back, want all of them", given, back)
	}
}

// crowd counts how many are at work at the same time.
type crowd struct {
	mu        sync.Mutex
	now, most int
}

func (c *crowd) work(ctx context.Context, i int) (int, error) {
	c.add(1)
	defer c.add(-1)
	return i, nap(ctx, 10*time.Millisecond)
}

func (c *crowd) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += n
	c.most = max(c.most, c.now)
}

// Try: three stages with 30 workers share a limiter of 4. Right: never more than 4 calls, always 4 while there is work, nobody waits for
// ever, and the wait is backpressure, up to the source.
func TestStagesShareALimiter(t *testing.T) {
	inBubble(t, "three stages", func(t *testing.T) {
		limiter, err := admission.NewLimiter(4, 1000)
		must(t, err)
		var c crowd
		limit := flow.Limit(limiter)
		began := time.Now()
		r := start(t, flow.From(&endless{}, flow.Name("source")).Take(400).Parallel(20, c.work, limit, flow.Name("first")).
			Parallel(10, c.work, limit).
			ForEach(func(ctx context.Context, i int) error { _, err := c.work(ctx, i); return err }, flow.Workers(9), limit))
		time.Sleep(200 * time.Millisecond)
		if st := stageStats(t, r, "first"); st.Backpressured < 0.5 {
			t.Errorf("the first stage is backpressured %.2f of the time, want more than half", st.Backpressured)
		}
		if n := stageStats(t, r, "source").Out; n > 300 {
			t.Errorf("%d items were read, want the source to be held back", n)
		}
		must(t, r.Wait())
		equal(t, "most calls at the same time", c.most, 4)
		if took, least := time.Since(began), 3*400*10*time.Millisecond/4; took > least*11/10 {
			t.Errorf("it took %v, want hardly more than %v", took, least)
		}
		s := limiter.Stats()
		equal(t, "running", s.Running, 0)
		equal(t, "started", s.Started, 1200)
	})
}

// Try: calls that end in all ways there are, alone and in pushes. Right: the permit is given back, before the item goes on.
func TestAPermitIsGivenBack(t *testing.T) {
	ways := map[string]func(ctx context.Context) error{
		"return":  func(context.Context) error { return nil },
		"error":   func(context.Context) error { return errValue },
		"panic":   func(context.Context) error { panic("boom") },
		"Goexit":  func(context.Context) error { runtime.Goexit(); return nil },
		"timeout": func(ctx context.Context) error { return hang(ctx, 0) },
		"stop":    func(ctx context.Context) error { return hang(ctx, 0) },
		"batch error": func(context.Context) error {
			return &stage.BatchError{Items: []stage.ItemError{{Index: 0, Err: errValue}}}
		},
		"breaker":       func(context.Context) error { return nil },
		"cancelled run": func(ctx context.Context) error { return hang(ctx, 0) },
	}
	for name, do := range ways {
		for place, build := range map[string]func(f flow.Flow[int], opts ...flow.SinkOption) flow.Pipeline{
			"call": func(f flow.Flow[int], opts ...flow.SinkOption) flow.Pipeline {
				return f.ForEach(func(ctx context.Context, _ int) error { return do(ctx) }, opts...)
			},
			"push": func(f flow.Flow[int], opts ...flow.SinkOption) flow.Pipeline {
				return f.To(stage.SinkFunc(func(ctx context.Context, _ []int) error { return do(ctx) }), opts...)
			},
		} {
			for _, decided := range []bool{false, true} {
				inBubble(t, name+", "+place, func(t *testing.T) {
					p, b := newPermits(1), newFuse()
					opts := []flow.SinkOption{flow.Limit(p), flow.Breaker(b), flow.Workers(3)}
					if decided {
						opts = append(opts, flow.OnError(flow.Retry(2, flow.Exponential(time.Second, time.Second)), flow.Skip))
					}
					if name == "timeout" {
						opts = append(opts, flow.Timeout(time.Second))
					}
					b.open = name == "breaker"
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					r, err := build(flow.FromSlice(ints(9)), opts...).Start(ctx)
					must(t, err)
					time.Sleep(time.Minute)
					switch name {
					case "stop":
						r.Stop()
					case "cancelled run":
						cancel()
					case "breaker":
						equal(t, "permits out while the breaker is open", len(p.free), 0)
						b.set(false)
					}
					_ = r.Wait()
					p.returned(t)
				})
			}
		}
	}
}

// Try: a limiter of one, and an item that waits before it is tried again. Right: others are called meanwhile.
func TestNoPermitIsHeldBeforeARetry(t *testing.T) {
	inBubble(t, "two workers", func(t *testing.T) {
		p, got := newPermits(1), newSeen[int]()
		failed := false
		must(t, flow.FromSlice(ints(10)).ForEach(func(ctx context.Context, i int) error {
			if i == 0 && !failed {
				failed = true
				return errOutage
			}
			return got.each(ctx, i)
		}, flow.Workers(2), flow.Limit(p), flow.OnError(flow.Retry(1, constant(time.Hour)))).Run(t.Context()))
		equal(t, "the last one", got.values()[9], 0)
		p.returned(t)
	})
}

// Try: the limiter refuses. Right: the call has failed with an error that says so, beside that of the limiter, and is counted.
func TestALimiterRefuses(t *testing.T) {
	inBubble(t, "OnError", func(t *testing.T) {
		limiter, err := admission.NewLimiter(1, 0)
		must(t, err)
		letters := stage.NewCollector[stage.DeadLetter](10)
		r := start(t, flow.FromSlice(ints(2)).ForEach(func(ctx context.Context, _ int) error { return nap(ctx, time.Second) },
			flow.Workers(2), flow.Name("call"), flow.Limit(limiter), flow.OnError(flow.DeadLetter(letters))))
		must(t, r.Wait())
		equal(t, "letters", len(letters.Items()), 1)
		l := letters.Items()[0]
		if _, ok := errors.AsType[*flow.LimitError](l.Err); !ok || l.Attempt != 0 {
			t.Errorf("the letter is %+v, want a *LimitError after 0 attempts", l)
		}
		if refusal, ok := errors.AsType[*admission.Refusal](l.Err); !ok || refusal.Reason != admission.ReasonFull {
			t.Errorf("the error is %v, want a refusal because it is full", l.Err)
		}
		st := stageStats(t, r, "call")
		equal(t, "refused by the limiter", st.LimitRefused, 1)
		equal(t, "refused by a breaker", st.BreakerRefused, 0)
	})
}

// Try: results are there, and there is no permit for the next call. Right: they do not wait with it.
func TestResultsDoNotWaitForAPermit(t *testing.T) {
	for name, build := range map[string]func(f flow.Flow[int], limit flow.ErrOption) flow.Flow[int]{
		"TryMap":   func(f flow.Flow[int], limit flow.ErrOption) flow.Flow[int] { return f.TryMap(same, limit) },
		"Parallel": func(f flow.Flow[int], limit flow.ErrOption) flow.Flow[int] { return f.Parallel(1, same, limit) },
	} {
		inBubble(t, name, func(t *testing.T) {
			p, got := newPermits(1), newSeen[int]()
			r := start(t, build(flow.FromSlice(ints(100)).Buffer(100, flow.Block), flow.Limit(p)).ForEach(func(ctx context.Context, i int) error {
				if i == 50 {
					p.free <- struct{}{}
				}
				return got.each(ctx, i)
			}))
			time.Sleep(time.Second)
			if n := len(got.values()); n < 50 {
				t.Errorf("%d results in front of the wait, want 50 or more", n)
			}
			<-p.free
			must(t, r.Wait())
			equalSlices(t, "results", got.values(), ints(100))
		})
	}
}

func TestAPermitCostsNoMemory(t *testing.T) {
	allocatesNothing(t, consumes(func(f flow.Flow[int]) flow.Flow[int] { return f.TryMap(same, flow.Limit(newPermits(1))) }))
}

// Try: a wait for a permit, and the end of the item's time. Right: the wait ends, and no call is made.
func TestAWaitForAPermitEndsAtTheDeadline(t *testing.T) {
	inBubble(t, "deadline", func(t *testing.T) {
		p, b := newPermits(1), newBroker(3)
		p.free <- struct{}{}
		began := time.Now()
		b.meta = func(int) stage.Meta { return stage.Meta{Deadline: began.Add(time.Second)} }
		must(t, flow.FromItems(b).ForEach(func(context.Context, int) error { t.Error("called"); return nil },
			flow.Limit(p), flow.OnError(fewRetries, flow.Skip)).Run(t.Context()))
		equal(t, "time", time.Since(began), time.Second)
		equal(t, "permits", p.given.Load(), 0)
		b.once(t)
	})
}
