package flow_test

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
	"github.com/weir-go/weir/stage/stagetest"
)

// client is a subscriber that notes what it hears.
type client struct {
	mu    sync.Mutex
	got   []int
	ends  []error // nil for Complete
	calls int
	each  func(vs []int) int // nil: takes all
}

func (c *client) Deliver(vs ...int) int {
	c.mu.Lock()
	c.got = append(c.got, vs...)
	c.calls++
	c.mu.Unlock()
	if c.each != nil {
		return c.each(vs)
	}
	return len(vs)
}

func (c *client) Complete() { c.Fail(nil) }

func (c *client) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends = append(c.ends, err)
}

func (c *client) values() []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.got)
}

func TestToSubscriberDeliversWhatWasRequested(t *testing.T) {
	inBubble(t, "requests add up", func(t *testing.T) {
		src, c := &endless{}, &client{}
		p, sub := flow.From(src).ToSubscriber(c)
		sub.Request(2)
		sub.Request(3)
		r := start(t, p)
		synctest.Wait()
		equalSlices(t, "values", c.values(), ints(5))
		equal(t, "read from the source", src.next, 6)
		sub.Request(100)
		synctest.Wait()
		equalSlices(t, "values", c.values(), ints(105))
		equal(t, "read from the source", src.next, 106)
		sub.Cancel()
		sub.Cancel()
		sub.Request(5)
		must(t, r.Wait())
		equalSlices(t, "values", c.values(), ints(105))
		equal(t, "ends", len(c.ends), 0)
		equal(t, "given back", r.Report().GivenBack, 1)
	})
	inBubble(t, "the end needs no request", func(t *testing.T) {
		c := &client{}
		p, sub := flow.FromSlice(ints(5)).ToSubscriber(c)
		sub.Request(5)
		must(t, p.Run(t.Context()))
		equalSlices(t, "values", c.values(), ints(5))
		equalSlices(t, "ends", c.ends, []error{nil})
	})
	inBubble(t, "an error needs no request", func(t *testing.T) {
		c := &client{}
		p, _ := flow.From(then(1)).ToSubscriber(c)
		fails := flow.FromFunc(func(ctx context.Context) (int, error) { return 0, nap(ctx, time.Second) }).
			ForEach(func(context.Context, int) error { return errA })
		wantError(t, flow.Join(p, fails).Run(t.Context()), errA)
		equal(t, "ends", len(c.ends), 1)
		wantError(t, c.ends[0], errA)
	})
}

// T7: request(MaxInt64) and request(1) at the same time saturate.
func TestT7DemandDoesNotOverflow(t *testing.T) {
	const total = 20_000
	c := &client{}
	p, sub := flow.FromSlice(ints(total)).ToSubscriber(c)
	r := start(t, p)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 1000 {
				if i%2 == 0 {
					sub.Request(math.MaxInt64)
				} else {
					sub.Request(1)
				}
			}
		})
	}
	wg.Wait()
	must(t, r.Wait())
	equalSlices(t, "values", c.values(), ints(total))
	equalSlices(t, "ends", c.ends, []error{nil})
}

// Who asks for values by a subscription can't tell a chain from any other publisher.
func TestToSubscriberConforms(t *testing.T) {
	for name, c := range map[string]struct {
		final    error
		capacity int // of an edge; an error would overtake what waits there
	}{
		"completes":                 {final: stage.ErrEnd},
		"fails":                     {final: errA},
		"completes, behind an edge": {final: stage.ErrEnd, capacity: 2},
	} {
		t.Run(name, func(t *testing.T) {
			open := func(t *testing.T, total int, begin <-chan struct{}) stage.Publisher[int] {
				t.Helper()
				f := upTo(total, c.final, begin)
				if c.capacity > 0 {
					f = f.Buffer(c.capacity, flow.Block)
				}
				return published(t, f)
			}
			stagetest.TestPublisher(t, stagetest.PublisherOptions[int]{
				Want: ints(9), Err: c.final, Bubble: true,
				Waiting: func(t *testing.T) (stage.Publisher[int], func()) {
					t.Helper()
					begin := make(chan struct{})
					return open(t, 9, begin), func() { close(begin) }
				},
				Empty: func(t *testing.T) stage.Publisher[int] {
					t.Helper()
					return open(t, 0, nil)
				},
			}, func(t *testing.T) stage.Publisher[int] {
				t.Helper()
				return open(t, 9, nil)
			})
		})
	}
}

// upTo is a flow of 0 to total-1, then final. Where begin is not nil, each run waits for it.
func upTo(total int, final error, begin <-chan struct{}) flow.Flow[int] {
	return flow.Open(func(context.Context) (stage.Source[int], error) {
		next := -1
		return stage.Func(func(ctx context.Context) (int, error) {
			if begin != nil {
				select {
				case <-begin:
				case <-ctx.Done():
					return 0, context.Cause(ctx)
				}
			}
			if next++; next >= total {
				return 0, final
			}
			return next, nil
		}), nil
	})
}

// published makes a publisher of a flow: each subscription is a run of its own.
func published(t *testing.T, f flow.Flow[int]) stage.Publisher[int] {
	t.Helper()
	return stage.PublisherFunc(func(ctx context.Context, to stage.Subscriber[int]) (stage.Subscription, error) {
		p, sub := f.ToSubscriber(to)
		r, err := p.Start(context.WithoutCancel(ctx))
		if err == nil {
			t.Cleanup(func() { _ = r.Wait() })
		}
		return sub, err
	})
}

func TestToSubscriberRefusesABadRequest(t *testing.T) {
	for _, n := range []int64{0, -1, math.MinInt64} {
		for _, early := range []bool{true, false} {
			inBubble(t, "request", func(t *testing.T) {
				c := &client{}
				p, sub := flow.From(then(1)).ToSubscriber(c, flow.Name("out"))
				if early {
					sub.Request(n)
				}
				r := start(t, p)
				synctest.Wait()
				if !early {
					sub.Request(n)
				}
				err := r.Wait()
				wantStage(t, err, "out")
				wantText(t, err, "must request at least 1, got")
				equal(t, "ends", len(c.ends), 1)
				wantError(t, c.ends[0], err)
			})
		}
	}
}

// Request inside Deliver: a million times, and the stack is as deep as at first.
func TestToSubscriberRequestInsideDeliver(t *testing.T) {
	const total = 1_000_000
	var sub stage.Subscription
	first, deepest, n := 0, 0, 0
	c := &perCall{each: func(vs []int) {
		if depth := runtime.Callers(0, make([]uintptr, 100)); n == 0 {
			first = depth
		} else {
			deepest = max(deepest, depth)
		}
		n += len(vs)
		sub.Request(1)
	}}
	var p flow.Pipeline
	p, sub = flow.FromSlice(ints(total)).ToSubscriber(c)
	sub.Request(1)
	must(t, p.Run(t.Context()))
	equal(t, "values", n, total)
	equal(t, "depth", deepest, first)
}

// perCall is a subscriber that keeps nothing.
type perCall struct{ each func(vs []int) }

func (c *perCall) Deliver(vs ...int) int {
	c.each(vs)
	return len(vs)
}

func (*perCall) Complete() {}

func (*perCall) Fail(error) {}

func TestToSubscriberCancel(t *testing.T) {
	inBubble(t, "stops a source that waits, and one item comes back", func(t *testing.T) {
		b := newBroker(10)
		b.stays = true
		c := &client{}
		p, sub := flow.FromItems(b).ToSubscriber(c)
		sub.Request(4)
		r := start(t, p)
		time.AfterFunc(time.Hour, sub.Cancel)
		began := time.Now()
		must(t, r.Wait())
		equal(t, "time", time.Since(began), time.Hour)
		equalSlices(t, "done", b.kind(stage.Done), ints(4))
		b.once(t)
	})
	inBubble(t, "while the source has nothing", func(t *testing.T) {
		p, sub := flow.From(stage.SourceFunc(blocked)).ToSubscriber(&client{})
		sub.Request(4)
		r := start(t, p)
		synctest.Wait()
		sub.Cancel()
		must(t, r.Wait())
	})
	inBubble(t, "inside Deliver", func(t *testing.T) {
		b := newBroker(100)
		var sub stage.Subscription
		c := &client{}
		c.each = func(vs []int) int {
			sub.Cancel()
			return len(vs)
		}
		var p flow.Pipeline
		p, sub = flow.FromItems(b).Buffer(8, flow.Block).ToSubscriber(c)
		sub.Request(math.MaxInt64)
		must(t, p.Run(t.Context()))
		equal(t, "calls", c.calls, 1)
		equal(t, "done", len(b.kind(stage.Done)), len(c.got))
		equal(t, "ends", len(c.ends), 0)
		b.once(t)
	})
	inBubble(t, "by taking fewer", func(t *testing.T) {
		b := newBroker(100)
		c := &client{each: func(vs []int) int { return len(vs) - 1 }}
		p, sub := flow.FromItems(b).ToSubscriber(c)
		sub.Request(math.MaxInt64)
		must(t, p.Run(t.Context()))
		equal(t, "done", len(b.kind(stage.Done)), 0)
		equal(t, "ends", len(c.ends), 0)
		b.once(t)
	})
	inBubble(t, "before the run", func(t *testing.T) {
		src := &endless{}
		p, sub := flow.From(src).ToSubscriber(&client{})
		sub.Cancel()
		must(t, p.Run(t.Context()))
		equal(t, "pulls", src.pulls, 0)
	})
}

func TestToSubscriberTroubles(t *testing.T) {
	for _, tr := range troubles() {
		inBubble(t, "Deliver: "+tr.name, func(t *testing.T) {
			b := newBroker(10)
			c := &client{each: func(vs []int) int {
				tr.do()
				return len(vs)
			}}
			p, sub := flow.FromItems(b).ToSubscriber(c, flow.Name("out"))
			sub.Request(10)
			err := p.Run(t.Context())
			wantStage(t, err, "out")
			if tr.is != nil {
				wantError(t, err, tr.is)
			}
			equal(t, "ends", len(c.ends), 1)
			equal(t, "failed", len(b.kind(stage.Failed)), b.next)
			b.once(t)
		})
		inBubble(t, "Complete: "+tr.name, func(t *testing.T) {
			p, sub := flow.FromSlice(ints(3)).ToSubscriber(ending{tr.do}, flow.Name("out"))
			sub.Request(10)
			wantStage(t, p.Run(t.Context()), "out")
		})
	}
	inBubble(t, "a count that makes no sense", func(t *testing.T) {
		p, sub := flow.FromSlice(ints(3)).ToSubscriber(&client{each: func(vs []int) int { return len(vs) + 1 }}, flow.Name("out"))
		sub.Request(10)
		wantStage(t, p.Run(t.Context()), "out")
	})
	p, _ := flow.FromSlice(ints(3)).ToSubscriber(nil)
	wantText(t, p.Check(), "subscriber must not be nil")
}

// ending is a subscriber whose Complete is trouble.
type ending struct{ do func() }

func (ending) Deliver(vs ...int) int { return len(vs) }

func (e ending) Complete() { e.do() }

func (ending) Fail(error) {}

// Whatever is requested when: delivered never exceeds requested, and catches up with it.
func TestToSubscriberKeepsTheLawsOfDemand(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		total := rapid.IntRange(0, 600).Draw(rt, "total")
		requests := rapid.SliceOfN(rapid.Int64Range(1, 300), 0, 6).Draw(rt, "requests")
		capacity := rapid.IntRange(0, 5).Draw(rt, "capacity")
		synctest.Test(t, func(t *testing.T) {
			c := &client{}
			f := flow.FromSlice(ints(total))
			if capacity > 0 {
				f = f.Buffer(capacity, flow.Block)
			}
			p, sub := f.ToSubscriber(c)
			r, err := p.Start(t.Context())
			must(t, err)
			sum := 0
			for _, n := range requests {
				sub.Request(n)
				sum += int(n)
				synctest.Wait()
				equalSlices(t, "values", c.values(), ints(min(sum, total)))
			}
			synctest.Wait()
			c.mu.Lock()
			told := len(c.ends)
			c.mu.Unlock()
			equal(t, "told of the end", told == 1, sum >= total)
			r.Stop()
			_ = r.Wait()
			equal(t, "ends", len(c.ends), 1)
		})
	})
}
