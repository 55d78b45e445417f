package flow_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/breaker"
	"github.com/weir-go/weir/stage"
)

var errOutage = errors.New("outage")

// fuse is a breaker in the test's hand. It notes what it is asked and told.
type fuse struct {
	mu      sync.Mutex
	open    bool
	changed chan struct{}
	items   []uint64
	told    []error
}

func newFuse() *fuse { return &fuse{changed: make(chan struct{})} }

func (f *fuse) set(open bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = open
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fuse) Allow(item uint64) (func(error) bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open {
		return nil, errOutage
	}
	f.items = append(f.items, item)
	return f.report, nil
}

func (f *fuse) report(err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, err)
	return f.open
}

func (f *fuse) Wait(ctx context.Context) {
	f.mu.Lock()
	changed, open := f.changed, f.open
	f.mu.Unlock()
	if open {
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

func newBreaker(t *testing.T, cfg breaker.Config) *breaker.Breaker {
	t.Helper()
	b, err := breaker.New(cfg)
	must(t, err)
	return b
}

// unreliable is a dependency that is down for a while, and takes 10 ms for a call.
type unreliable struct {
	began        time.Time
	until        time.Duration
	calls, fails atomic.Int64
}

func (u *unreliable) call(ctx context.Context, i int) (int, error) {
	u.calls.Add(1)
	if err := nap(ctx, 10*time.Millisecond); err != nil {
		return 0, err
	}
	if time.Since(u.began) < u.until {
		u.fails.Add(1)
		return 0, errOutage
	}
	return i, nil
}

var fewRetries = flow.Retry(3, flow.Exponential(10*time.Millisecond, 100*time.Millisecond))

// Try: a dependency is down for 60 s, 10,000 items wait in front of it. Right: no item fails, the calls that are made in vain are less
// than 10 % of all, and 1 s after it is back it has at least 90 % of what it can do.
func TestAnOutageIsWaitedFor(t *testing.T) {
	inBubble(t, "20 workers", func(t *testing.T) {
		const n, workers, outage = 10_000, 20, time.Minute
		b := newBreaker(t, breaker.Config{})
		u := &unreliable{began: time.Now(), until: outage}
		done := newSeen[int]()
		letters := stage.NewCollector[stage.DeadLetter](n)
		r := start(t, flow.FromSlice(ints(n)).Buffer(n, flow.Block, flow.Name("backlog")).
			Parallel(workers, u.call, flow.Name("call"), flow.Breaker(b), flow.Timeout(time.Second),
				flow.OnError(fewRetries, flow.DeadLetter(letters))).
			ForEach(done.each))
		time.Sleep(outage - time.Second)
		if got := edgeStats(t, r, "backlog").Depth; got < n-workers*17 {
			t.Errorf("%d items wait, want nearly all of them", got)
		}
		if st := stageStats(t, r, "call"); st.Backpressured < 0.9 || st.BreakerRefused == 0 {
			t.Errorf("backpressured %.2f, %d calls refused, want more than 0.9 and some", st.Backpressured, st.BreakerRefused)
		}
		must(t, r.Wait())
		equal(t, "dead letters", len(letters.Items()), 0)
		equalSlices(t, "results", done.values(), ints(n))
		if vain := u.fails.Load(); vain > n/10 {
			t.Errorf("%d calls in vain, want at most 10 %% of %d", vain, n)
		}
		second := 0
		for _, at := range done.times() {
			if at > outage+time.Second && at <= outage+2*time.Second {
				second++
			}
		}
		if capacity := workers * 100; second < capacity*9/10 {
			t.Errorf("%d results from 1 s to 2 s after the outage, want 90 %% of %d", second, capacity)
		}
	})
}

// Try: the same with items of which nobody wants an old one. Right: what is too old goes first, and 1 s after the outage the results are
// fresh and as many as there can be.
func TestAStaleBacklogDoesNotDelayTheRecovery(t *testing.T) {
	inBubble(t, "items that came in all the time", func(t *testing.T) {
		const workers, outage, age = 20, time.Minute, 500 * time.Millisecond
		b := newBreaker(t, breaker.Config{})
		began := time.Now()
		u := &unreliable{began: began, until: outage}
		in := flow.NewInlet(flow.Edge[time.Time]{Name: "backlog", Capacity: 10_000, OnFull: flow.DropNewest, MaxWait: age})
		var fresh atomic.Int64
		r := start(t, in.Flow().ForEach(func(ctx context.Context, at time.Time) error {
			_, err := u.call(ctx, 0)
			if now := time.Since(began); err == nil && now > outage+time.Second && now <= outage+2*time.Second && time.Since(at) <= age+100*time.Millisecond {
				fresh.Add(1)
			}
			return err
		}, flow.Workers(workers), flow.Breaker(b), flow.OnError(fewRetries)))
		for time.Since(began) < outage+3*time.Second { // as much as it can do
			for range workers {
				_, _ = in.Offer(t.Context(), time.Now())
			}
			time.Sleep(10 * time.Millisecond)
		}
		in.Close()
		must(t, r.Wait())
		if capacity := int64(workers * 100); fresh.Load() < capacity*9/10 {
			t.Errorf("%d fresh results in the second second, want 90 %% of %d", fresh.Load(), capacity)
		}
	})
}

// Try: an item that always fails, in a stage that has only this one at a time. Right: it is not the dependency, and ends as one dead
// letter, soon.
func TestOneBadItemIsNoOutage(t *testing.T) {
	bad := func(_ context.Context, i int) error {
		if i == 70 {
			return errValue
		}
		return nil
	}
	letters := func() (*stage.Collector[stage.DeadLetter], flow.ErrOption) {
		c := stage.NewCollector[stage.DeadLetter](10)
		return c, flow.OnError(flow.Retry(20, flow.Exponential(time.Millisecond, time.Millisecond)), flow.DeadLetter(c))
	}
	sinks := map[string]func(f flow.Flow[int], opts ...flow.SinkOption) flow.Pipeline{
		"one by one": func(f flow.Flow[int], opts ...flow.SinkOption) flow.Pipeline { return f.ForEach(bad, opts...) },
		"pushes that are halved": func(f flow.Flow[int], opts ...flow.SinkOption) flow.Pipeline {
			return f.ForEachBatch(100, 0, func(ctx context.Context, is []int) error {
				if slices.Contains(is, 70) {
					return bad(ctx, 70)
				}
				return nil
			}, opts...)
		},
	}
	for name, sink := range sinks {
		inBubble(t, name, func(t *testing.T) {
			b := newBreaker(t, breaker.Config{})
			c, opt := letters()
			began := time.Now()
			must(t, sink(flow.FromSlice(ints(100)), flow.Breaker(b), opt).Run(t.Context()))
			equal(t, "dead letters", len(c.Items()), 1)
			equal(t, "state", b.State(), breaker.Closed)
			if took := time.Since(began); took > time.Second {
				t.Errorf("it took %v, want less than 1s", took)
			}
		})
	}
}

// Try: an item in whose hands the breaker opens, alone in its stage while others use the breaker too, and fails for ever. Right: there is an
// end to that.
func TestAnItemIsNotExcusedForEver(t *testing.T) {
	inBubble(t, "one worker", func(t *testing.T) {
		b := newBreaker(t, breaker.Config{InARow: 1})
		_, err := flow.FromSlice(ints(3)).TryMap(func(_ context.Context, i int) (int, error) {
			if i == 1 {
				return 0, errOutage
			}
			return i, nil
		}, flow.Breaker(b), flow.OnError(flow.Skip)).Collect(t.Context(), 10)
		must(t, err)
		equal(t, "failed calls", b.Stats().Failed, 1001)
	})
}

// Try: the breaker is open when the stage has an item. Right: what IfOpen says, and other decisions are not asked.
func TestWhatBecomesOfAnItemWhileTheBreakerIsOpen(t *testing.T) {
	type letterbox = *stage.Collector[stage.DeadLetter]
	never := flow.If(func(error) bool { t.Error("an ordinary decision was asked"); return false }, flow.Skip)
	tests := []struct {
		name      string
		decisions func(letters letterbox) []flow.Decision
		check     func(t *testing.T, b *broker, err error, got []int, letters letterbox)
	}{
		{"it waits", func(letterbox) []flow.Decision { return nil }, func(t *testing.T, b *broker, err error, got []int, _ letterbox) {
			must(t, err)
			equalSlices(t, "results", got, ints(5))
			equal(t, "done", len(b.kind(stage.Done)), 5)
		}},
		{"Skip", func(letterbox) []flow.Decision { return []flow.Decision{flow.IfOpen(flow.Skip)} }, func(t *testing.T, b *broker, err error, got []int, _ letterbox) {
			must(t, err)
			equal(t, "results", len(got), 0)
			equal(t, "done", len(b.kind(stage.Done)), 5)
		}},
		{"Redeliver", func(letterbox) []flow.Decision { return []flow.Decision{flow.IfOpen(flow.Redeliver)} }, func(t *testing.T, b *broker, err error, got []int, _ letterbox) {
			must(t, err)
			equal(t, "results", len(got), 0)
			equal(t, "failed", len(b.kind(stage.Failed)), 5)
		}},
		{"DeadLetter", func(ls letterbox) []flow.Decision { return []flow.Decision{flow.IfOpen(flow.DeadLetter(ls))} }, func(t *testing.T, _ *broker, err error, _ []int, letters letterbox) {
			must(t, err)
			equal(t, "letters", len(letters.Items()), 5)
			l := letters.Items()[0]
			e, ok := errors.AsType[*flow.BreakerError](l.Err)
			if !ok || !errors.Is(e, errOutage) || l.Attempt != 0 {
				t.Errorf("the letter is %+v, want a *BreakerError of %v after 0 attempts", l, errOutage)
			}
		}},
		{"Stop", func(letterbox) []flow.Decision { return []flow.Decision{flow.IfOpen(flow.Stop)} }, func(t *testing.T, _ *broker, err error, _ []int, _ letterbox) {
			wantStage(t, err, "call")
			wantError(t, err, errOutage)
		}},
		{"Retry and then a wait", func(letterbox) []flow.Decision { return []flow.Decision{flow.IfOpen(fewRetries)} }, func(t *testing.T, _ *broker, err error, got []int, _ letterbox) {
			must(t, err)
			equalSlices(t, "results", got, ints(5))
		}},
		{"what matches", func(letterbox) []flow.Decision {
			return []flow.Decision{
				flow.IfOpen(flow.If(func(err error) bool { return errors.Is(err, errFault) }, flow.Stop)),
				flow.If(func(err error) bool { return errors.Is(err, errOutage) }, flow.IfOpen(flow.Skip)),
			}
		}, func(t *testing.T, _ *broker, err error, got []int, _ letterbox) {
			must(t, err)
			equal(t, "results", len(got), 0)
		}},
	}
	for _, tt := range tests {
		places := map[string]func(f flow.Flow[int], s *seen[int], opts ...flow.SinkOption) flow.Pipeline{
			"calls": func(f flow.Flow[int], s *seen[int], opts ...flow.SinkOption) flow.Pipeline {
				return f.ForEach(s.each, opts...)
			},
			"pushes": func(f flow.Flow[int], s *seen[int], opts ...flow.SinkOption) flow.Pipeline {
				return f.ForEachBatch(5, 0, func(ctx context.Context, is []int) error {
					for _, i := range is {
						_ = s.each(ctx, i)
					}
					return nil
				}, opts...)
			},
		}
		for place, build := range places {
			inBubble(t, tt.name+", "+place, func(t *testing.T) {
				b, f, s, letters := newBroker(5), newFuse(), newSeen[int](), stage.NewCollector[stage.DeadLetter](10)
				f.open = true
				time.AfterFunc(time.Hour, func() { f.set(false) })
				err := build(flow.FromItems(b), s, flow.Name("call"), flow.Breaker(f),
					flow.OnError(never, append(tt.decisions(letters), fewRetries)...)).Run(t.Context())
				b.once(t)
				tt.check(t, b, err, s.values(), letters)
			})
		}
	}
}

// Try: calls that end in all ways there are. Right: each is reported once, for what it is.
func TestEachCallIsReportedOnce(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name string
		do   func(ctx context.Context) error
		is   error // nil: any
		good bool
	}{
		{"return", func(context.Context) error { return nil }, nil, true},
		{"error", func(context.Context) error { return boom }, boom, false},
		{"panic", func(context.Context) error { panic("boom") }, nil, false},
		{"Goexit", func(context.Context) error { runtime.Goexit(); return nil }, nil, false},
		{"the time of the call is over", func(ctx context.Context) error { return hang(ctx, 0) }, context.DeadlineExceeded, false},
		{"the deadline of the item is over", func(ctx context.Context) error { return hang(ctx, 0) }, context.Canceled, false},
		{"the run is stopped", func(ctx context.Context) error { return hang(ctx, 0) }, context.Canceled, false},
	}
	for _, tt := range tests {
		inBubble(t, tt.name, func(t *testing.T) {
			f, b := newFuse(), newBroker(1)
			opts := []flow.SinkOption{flow.Breaker(f), flow.OnError(flow.Skip)}
			switch tt.name {
			case "the time of the call is over":
				opts = append(opts, flow.Timeout(time.Second))
			case "the deadline of the item is over":
				b.meta = func(int) stage.Meta { return stage.Meta{Deadline: time.Now().Add(time.Second)} }
				opts = append(opts, flow.Timeout(time.Minute))
			}
			r := start(t, flow.FromItems(b).ForEach(func(ctx context.Context, _ int) error { return tt.do(ctx) }, opts...))
			time.Sleep(2 * time.Second)
			if tt.name == "the run is stopped" {
				r.Stop()
			}
			_ = r.Wait()
			if len(f.told) != 1 || (f.told[0] == nil) != tt.good || tt.is != nil && !errors.Is(f.told[0], tt.is) {
				t.Errorf("told %v, want one report of %v", f.told, tt.is)
			}
			b.once(t)
		})
	}
}

// Try: some results are there when the breaker refuses the next call. Right: they do not wait with it.
func TestResultsDoNotWaitForTheBreaker(t *testing.T) {
	for name, build := range map[string]func(fn func(context.Context, int) (int, error), b flow.CircuitBreaker) flow.Flow[int]{
		"TryMap": func(fn func(context.Context, int) (int, error), b flow.CircuitBreaker) flow.Flow[int] {
			return flow.FromSlice(ints(100)).Buffer(100, flow.Block).Map(twice).Map(half).TryMap(fn, flow.Breaker(b))
		},
		"Parallel": func(fn func(context.Context, int) (int, error), b flow.CircuitBreaker) flow.Flow[int] {
			return flow.FromSlice(ints(100)).Buffer(100, flow.Block).Parallel(1, fn, flow.Breaker(b))
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			f, got := newFuse(), newSeen[int]()
			r := start(t, build(func(_ context.Context, i int) (int, error) {
				if i == 50 {
					f.set(true)
				}
				return i, nil
			}, f).ForEach(got.each))
			time.Sleep(time.Second)
			equalSlices(t, "results in front of the wait", got.values(), ints(51))
			f.set(false)
			must(t, r.Wait())
			equalSlices(t, "results", got.values(), ints(100))
		})
	}
}

func half(i int) int { return i / 2 }

// Try: items of one branch need a dependency that is down, those of the other don't. Right: the latter pass, as long as there is room for
// the former.
func TestABreakerIsInNobodysWay(t *testing.T) {
	inBubble(t, "Split", func(t *testing.T) {
		f, need, free := newFuse(), newSeen[int](), newSeen[int]()
		f.open = true
		yes, no := flow.FromSlice(ints(100)).Split(even)
		r := start(t, flow.Join(yes.ForEach(need.each, flow.Breaker(f)), no.ForEach(free.each)))
		time.Sleep(time.Minute)
		equal(t, "results that need it", len(need.values()), 0)
		equal(t, "results that don't", len(free.values()), 50)
		f.set(false)
		must(t, r.Wait())
		equal(t, "results that need it, behind the outage", len(need.values()), 50)
	})
}

// Try: a worker waits for the breaker. Right: a stop, and the deadline of the item, end that; the latter without a call or a retry.
func TestAWaitForTheBreakerEnds(t *testing.T) {
	inBubble(t, "with the run", func(t *testing.T) {
		f := newFuse()
		f.open = true
		r := start(t, flow.FromSlice(ints(10)).ForEach(hang, flow.Breaker(f)))
		time.Sleep(time.Minute)
		began := time.Now()
		stopped(t, r)
		equal(t, "time", time.Since(began), 0)
	})
	inBubble(t, "with the deadline of the item", func(t *testing.T) {
		f, b, letters := newFuse(), newBroker(20), stage.NewCollector[stage.DeadLetter](100)
		f.open = true
		began := time.Now()
		b.meta = func(int) stage.Meta { return stage.Meta{Deadline: began.Add(5 * time.Second)} }
		must(t, flow.FromItems(b).ForEach(hang, flow.Breaker(f), flow.OnError(fewRetries, flow.DeadLetter(letters))).Run(t.Context()))
		equal(t, "time", time.Since(began), 5*time.Second)
		equal(t, "calls", len(f.items), 0)
		equal(t, "letters", len(letters.Items()), 20)
		wantError(t, letters.Items()[19].Err, context.DeadlineExceeded)
	})
}

// Try: a call with an effect fails, and the breaker is open then. Right: it is not made again.
func TestAnEffectIsNotRepeatedBecauseOfABreaker(t *testing.T) {
	for _, build := range []func(f flow.Flow[int], fn func(int) error, opts ...flow.SinkOption) flow.Pipeline{
		func(f flow.Flow[int], fn func(int) error, opts ...flow.SinkOption) flow.Pipeline {
			return f.ForEach(func(_ context.Context, i int) error { return fn(i) }, opts...)
		},
		func(f flow.Flow[int], fn func(int) error, opts ...flow.SinkOption) flow.Pipeline {
			return f.ForEachBatch(1, 0, func(_ context.Context, is []int) error { return fn(is[0]) }, opts...)
		},
	} {
		inBubble(t, "once", func(t *testing.T) {
			f, calls := newFuse(), newSeen[int]()
			err := build(flow.FromSlice(ints(3)), func(i int) error {
				_ = calls.each(t.Context(), i)
				if i == 1 {
					f.set(true)
					time.AfterFunc(time.Second, func() { f.set(false) })
					return errOutage
				}
				return nil
			}, flow.NonIdempotent, flow.Breaker(f), flow.OnError(flow.Skip)).Run(t.Context())
			must(t, err)
			equalSlices(t, "calls", calls.values(), ints(3))
		})
	}
}

// Try: calls for the same item and for others, in two stages. Right: the same number, and others.
func TestABreakerKnowsCallsForTheSameItem(t *testing.T) {
	inBubble(t, "retries", func(t *testing.T) {
		f := newFuse()
		fails := 0
		flaky := func(_ context.Context, i int) (int, error) {
			if fails++; i == 1 && fails%3 != 0 {
				return 0, errOutage
			}
			return i, nil
		}
		careful := flow.OnError(flow.Retry(9, flow.Exponential(time.Millisecond, time.Millisecond)))
		must(t, flow.FromSlice(ints(2)).TryMap(flaky, flow.Breaker(f), careful).To(stage.SinkFunc(func(_ context.Context, is []int) error {
			_, err := flaky(t.Context(), slices.Max(is))
			return err
		}), flow.Breaker(f), careful).Run(t.Context()))
		last := map[uint64]int{}
		for i, item := range f.items {
			if at, known := last[item]; known && at != i-1 {
				t.Errorf("items %v, want equal ones side by side", f.items)
			}
			last[item] = i
		}
		if len(last) < 3 || len(last) == len(f.items) {
			t.Errorf("items %v, want several, and some of them twice", f.items)
		}
	})
}

// Try: a permanent error, and a batch of which some elements fail, while the breaker is open. Right: what was answered is not asked again.
func TestWhatTheDependencyAnsweredCounts(t *testing.T) {
	inBubble(t, "a sink that takes some", func(t *testing.T) {
		f, got := newFuse(), newSeen[int]()
		push := func(ctx context.Context, is []int) error {
			bad := &stage.BatchError{}
			for i, v := range is {
				if v == 2 {
					f.set(true)
					time.AfterFunc(time.Second, func() { f.set(false) })
					bad.Add(i, errValue)
					continue
				}
				_ = got.each(ctx, v)
			}
			return bad.OrNil()
		}
		must(t, flow.FromSlice(ints(4)).ForEachBatch(4, 0, push, flow.Breaker(f), flow.OnError(flow.Skip)).Run(t.Context()))
		equalSlices(t, "taken", got.values(), []int{0, 1, 3})
	})
	inBubble(t, "a permanent error", func(t *testing.T) {
		b := newBreaker(t, breaker.Config{InARow: 1})
		got, err := flow.FromSlice(ints(50)).TryMap(func(_ context.Context, i int) (int, error) {
			if i > 1 {
				return 0, backoff.Permanent(errValue)
			}
			return i, nil
		}, flow.Breaker(b), flow.OnError(fewRetries, flow.Skip)).Collect(t.Context(), 50)
		must(t, err)
		equalSlices(t, "results", got, ints(2))
		equal(t, "calls", b.Stats().Calls, 50)
	})
}

func TestMistakesAroundACall(t *testing.T) {
	f := newFuse()
	budget, err := flow.NewBudget(flow.BudgetConfig{})
	must(t, err)
	limit := flow.Limit(newPermits(1))
	tests := []struct {
		opts []flow.CallOption
		want string
	}{
		{[]flow.CallOption{flow.Breaker(nil)}, "Breaker must not be nil"},
		{[]flow.CallOption{flow.Breaker(f), flow.Breaker(f)}, "Breaker is given twice"},
		{[]flow.CallOption{limit, limit}, "Limit is given twice"},
		{[]flow.CallOption{flow.Limit[flow.Permit](nil)}, "Limit: limiter must not be nil"},
		{[]flow.CallOption{flow.RetryBudget(nil)}, "RetryBudget: budget must not be nil"},
		{[]flow.CallOption{flow.RetryBudget(budget), flow.RetryBudget(budget), flow.OnError(fewRetries)}, "RetryBudget is given twice"},
		{[]flow.CallOption{flow.RetryBudget(budget)}, "RetryBudget needs a Retry"},
		{[]flow.CallOption{flow.OnError(flow.IfOpen(flow.Skip))}, "IfOpen needs a Breaker"},
		{[]flow.CallOption{flow.Breaker(f), flow.OnError(flow.IfOpen(nil))}, "IfOpen: decision must not be nil"},
		{[]flow.CallOption{flow.Breaker(f), flow.OnError(flow.IfOpen(flow.Retry(0, nil)))}, "Retry: times must be >= 1, got 0"},
		{[]flow.CallOption{flow.Breaker(f), flow.OnError(flow.IfOpen(flow.Redeliver))}, "Redeliver needs a source whose messages can come again: those of FromItems can, where no others join them; those of OpenAt, of an Inlet or a hub, plain values, and what is behind BestEffort can't"},
		{[]flow.CallOption{flow.Breaker(f), flow.NonIdempotent, flow.OnError(flow.IfOpen(flow.Redeliver))}, "Redeliver would repeat the effect of a stage that is NonIdempotent"},
	}
	for _, tt := range tests {
		wantText(t, discard(flow.FromSlice(ints(1)).TryMap(same, tt.opts...)).Check(), tt.want)
	}
	wantText(t, discard(flow.FromSlice(ints(1)).Expand(func(_ context.Context, i int, emit func(int) error) error { return emit(i) }, limit)).Check(),
		"Limit does not fit Expand: a permit would be held while its results wait for room")
	must(t, discard(flow.FromSlice(ints(1)).TryMap(same, flow.NonIdempotent, flow.Breaker(f), flow.OnError(flow.IfOpen(fewRetries)))).Check())
}
