package admission_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/flow/admission"
)

func limiter(t checker, n, m int) *admission.Limiter {
	t.Helper()
	l, err := admission.NewLimiter(n, m)
	if err != nil {
		t.Fatalf("NewLimiter(%d, %d): %v", n, m, err)
	}
	return l
}

func TestLimiterWantsNumbersThatMakeSense(t *testing.T) {
	for _, c := range []struct {
		n, m int
		ok   bool
	}{{1, 0, true}, {1, 1, true}, {0, 1, false}, {-1, 0, false}, {1, -1, false}, {0, -1, false}} {
		if _, err := admission.NewLimiter(c.n, c.m); (err == nil) != c.ok {
			t.Errorf("NewLimiter(%d, %d): %v", c.n, c.m, err)
		}
	}
	_, err := admission.NewLimiter(0, -1)
	equal(t, "the error", err.Error(), "admission: Limiter.n must be >= 1, got 0\nadmission: Limiter.m must be >= 0, got -1")
}

// Two run, two wait in order, the rest is refused at once; one starts per completion.
func TestLimiterRunsSomeQueuesSomeAndRefusesTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, 2, 2)
		begin := time.Now()
		var wg sync.WaitGroup
		var mu sync.Mutex
		var order []int
		var refused atomic.Int32
		for i := range 6 {
			wg.Go(func() {
				err := l.Do(t.Context(), func(context.Context) error {
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
					time.Sleep(time.Duration(1+i) * time.Second)
					return nil
				})
				if err != nil {
					wantReason(t, err, admission.ReasonFull)
					equal(t, "refused after", time.Since(begin), 0)
					refused.Add(1)
				}
			})
			synctest.Wait()
			equal(t, "Depth()", l.Depth(), min(i+1, 4))
		}
		equal(t, "Limit()", l.Limit(), 4)
		wg.Wait()
		if !slices.Equal(order, []int{0, 1, 2, 3}) || refused.Load() != 2 {
			t.Errorf("they ran in the order %v, and %d were refused", order, refused.Load())
		}
		// 0 ends at 1 s and 2 starts, 1 ends at 2 s and 3 starts, 2 ends at 4 s, 3 at 6 s.
		equal(t, "all took", time.Since(begin), 6*time.Second)
		s := l.Stats()
		equal(t, "Stats()", s, admission.LimiterStats{MaxRunning: 2, MaxDepth: 4, Started: 4, Queued: 2, Refused: 2})
	})
}

// However the function ends, its place is free again.
func TestLimiterFreesThePlaceOnEveryExit(t *testing.T) {
	l := limiter(t, 1, 0)
	broken := errors.New("broken")
	for name, fn := range map[string]func(context.Context) error{
		"return": func(context.Context) error { return nil },
		"error":  func(context.Context) error { return broken },
		"panic":  func(context.Context) error { panic("on purpose") },
		"goexit": func(context.Context) error { runtime.Goexit(); return nil },
	} {
		var wg sync.WaitGroup
		wg.Go(func() {
			defer func() { _ = recover() }()
			err := l.Do(context.Background(), fn)
			if want := map[string]error{"error": broken}[name]; !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
		})
		wg.Wait()
		if l.Depth() != 0 {
			t.Fatalf("after %s %d are inside", name, l.Depth())
		}
	}
	equal(t, "started", l.Stats().Started, 4)
}

// Who gives up while waiting leaves the order of the others as it was.
func TestLimiterLetsThoseWhoWaitGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, 1, 3)
		first, err := l.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		gone := errors.New("gone")
		var got [3]error
		var cancels [3]context.CancelCauseFunc
		var started []int
		var wg sync.WaitGroup
		for i := range 3 {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancels[i] = cancel
			wg.Go(func() {
				var p admission.Permit
				if p, got[i] = l.Acquire(ctx); got[i] == nil {
					started = append(started, i)
					time.Sleep(time.Second)
					p.Release()
				}
			})
			synctest.Wait()
		}
		cancels[1](gone)
		synctest.Wait()
		equal(t, "Depth()", l.Depth(), 3)
		first.Release()
		wg.Wait()
		if !slices.Equal(started, []int{0, 2}) || !errors.Is(got[1], gone) {
			t.Errorf("%v started, the answers are %v", started, got)
		}
		cancels[0](nil)
		if _, err := l.Acquire(canceled(gone)); !errors.Is(err, gone) {
			t.Errorf("with a context that has ended: %v", err)
		}
		cancels[2](nil)
		s := l.Stats()
		equal(t, "Stats()", s, admission.LimiterStats{MaxRunning: 1, MaxDepth: 4, Started: 3, Queued: 3, GaveUp: 2, EstimatedWait: 0})
	})
}

func canceled(cause error) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	return ctx
}

// What one learns of the wait: 10 ms behind one that takes 10 ms, whatever the rate of arrivals was.
func TestLimiterEstimatesTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := limiter(t, 1, 1)
		for range 20 { // one in 100 ms: a load of 10 %
			if err := l.Do(t.Context(), func(context.Context) error { time.Sleep(10 * time.Millisecond); return nil }); err != nil {
				t.Fatal(err)
			}
			time.Sleep(90 * time.Millisecond)
		}
		equal(t, "the wait of an idle one", l.EstimatedWait(), 0)
		p, err := l.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "the wait behind one", l.EstimatedWait(), 10*time.Millisecond)
		equal(t, "that of the first", p.EstimatedWait(), 0)
		p.Release()
	})
}

// A permit gives back its own place, once, also when the place is somebody else's by now.
func TestAPermitIsGoodOnce(t *testing.T) {
	l := limiter(t, 1, 0)
	old, err := l.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	old.Release()
	if _, err = l.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	old.Release()
	equal(t, "Depth()", l.Depth(), 1)
	var none admission.Permit
	none.Release()
	none.Charge(1)
	if err := none.Start(); err != nil {
		t.Error(err)
	}
}

// A random sequence of calls does what a slice would do.
func TestLimiterAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, m := rapid.IntRange(1, 4).Draw(t, "n"), rapid.IntRange(0, 4).Draw(t, "m")
		rapid.SyncTest(t, func(t *rapid.T) {
			w := newLimiterModel(t, n, m)
			defer func() {
				for _, c := range w.calls {
					c.cancel() // nobody may be left waiting, also when the test has failed
				}
			}()
			t.Repeat(map[string]func(*rapid.T){"": w.check, "acquire": w.acquire, "release": w.release, "give up": w.giveUp})
			w.end(t)
		})
	})
}

// limiterModel is a limiter beside what it should be.
type limiterModel struct {
	n, m     int
	l        *admission.Limiter
	calls    []*call // those inside, in the order in which they came
	refused  int64
	gaveUp   int64
	done     int64
	entrants int64
	queued   int64
}

type call struct {
	cancel  context.CancelFunc
	permit  atomic.Pointer[admission.Permit]
	err     atomic.Pointer[error]
	running bool
}

func newLimiterModel(t checker, n, m int) *limiterModel {
	return &limiterModel{n: n, m: m, l: limiter(t, n, m)}
}

func (w *limiterModel) running() (n int) {
	for _, c := range w.calls {
		if c.running {
			n++
		}
	}
	return n
}

func (w *limiterModel) acquire(t *rapid.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &call{cancel: cancel}
	go func() {
		p, err := w.l.Acquire(ctx)
		if err != nil {
			c.err.Store(&err)
			return
		}
		c.permit.Store(&p)
	}()
	synctest.Wait()
	w.entrants++
	if len(w.calls) == w.n+w.m {
		w.refused++
		cancel()
		if e := c.err.Load(); e == nil || refusal(t, *e).Reason != admission.ReasonFull {
			t.Fatalf("one too many is not refused: %v", e)
		}
		return
	}
	c.running = w.running() < w.n
	if !c.running {
		w.queued++
	}
	w.calls = append(w.calls, c)
}

// leave takes c out, and has the oldest that waits start.
func (w *limiterModel) leave(c *call) {
	w.calls = slices.DeleteFunc(w.calls, func(o *call) bool { return o == c })
	if w.running() < w.n {
		for _, o := range w.calls {
			if !o.running {
				o.running = true
				break
			}
		}
	}
}

func (w *limiterModel) pick(t *rapid.T, running bool) *call {
	var of []*call
	for _, c := range w.calls {
		if c.running == running {
			of = append(of, c)
		}
	}
	if len(of) == 0 {
		return nil
	}
	return rapid.SampledFrom(of).Draw(t, "call")
}

func (w *limiterModel) release(t *rapid.T) {
	c := w.pick(t, true)
	if c == nil {
		return
	}
	for range rapid.IntRange(1, 2).Draw(t, "times") {
		c.permit.Load().Release()
	}
	c.cancel()
	w.done++
	w.leave(c)
	synctest.Wait()
}

func (w *limiterModel) giveUp(t *rapid.T) {
	c := w.pick(t, false)
	if c == nil {
		return
	}
	c.cancel()
	synctest.Wait()
	if e := c.err.Load(); e == nil || !errors.Is(*e, context.Canceled) {
		t.Fatalf("who gives up gets %v", e)
	}
	w.gaveUp++
	w.leave(c)
}

func (w *limiterModel) check(t *rapid.T) {
	for i, c := range w.calls {
		if got := c.permit.Load() != nil; got != c.running {
			t.Fatalf("call %d of %d runs: %v, want %v", i, len(w.calls), got, c.running)
		}
	}
	s := w.l.Stats()
	want := admission.LimiterStats{
		Running: w.running(), Waiting: len(w.calls) - w.running(), MaxRunning: s.MaxRunning, MaxDepth: s.MaxDepth,
		Started: w.done + int64(w.running()), Queued: w.queued, Refused: w.refused, GaveUp: w.gaveUp, EstimatedWait: s.EstimatedWait,
	}
	if s != want || s.MaxRunning > w.n || s.MaxDepth > w.n+w.m || w.l.Depth() != len(w.calls) {
		t.Fatalf("Stats() = %+v, want %+v", s, want)
	}
}

func (w *limiterModel) end(t *rapid.T) {
	for len(w.calls) > 0 {
		if w.running() > 0 {
			w.release(t)
		}
	}
	w.check(t)
}

// Many at once: never more than n run, and every call is accounted for.
func TestLimiterUnderAStorm(t *testing.T) {
	const n, m, callers, rounds = 3, 5, 16, 300
	l := limiter(t, n, m)
	var running, most, done, refused, gaveUp atomic.Int64
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for j := range rounds {
				ctx, cancel := context.WithCancel(context.Background())
				if (i+j)%5 == 0 {
					go cancel()
				}
				err := l.Do(ctx, func(context.Context) error {
					now := running.Add(1)
					for top := most.Load(); now > top && !most.CompareAndSwap(top, now); top = most.Load() {
					}
					runtime.Gosched()
					running.Add(-1)
					return nil
				})
				cancel()
				_, isRefusal := errors.AsType[*admission.Refusal](err)
				switch {
				case err == nil:
					done.Add(1)
				case isRefusal:
					refused.Add(1)
				default:
					gaveUp.Add(1)
				}
			}
		})
	}
	wg.Wait()
	s := l.Stats()
	if most.Load() > n || s.MaxDepth > n+m || done.Load()+refused.Load()+gaveUp.Load() != callers*rounds {
		t.Errorf("%d ran at once, %d were inside; %d done, %d refused, %d gave up", most.Load(), s.MaxDepth, done.Load(), refused.Load(), gaveUp.Load())
	}
	equal(t, "Started", s.Started, done.Load())
	equal(t, "Refused", s.Refused, refused.Load())
	equal(t, "GaveUp", s.GaveUp, gaveUp.Load())
	equal(t, "Depth()", l.Depth(), 0)
}
