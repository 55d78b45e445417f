package flow_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
	"pgregory.net/rapid"
)

type emitter = func(context.Context, int, func(int) error) error

// times emits each value as often as it says.
func times(_ context.Context, i int, emit func(int) error) error {
	for range i {
		if err := emit(i); err != nil {
			return err
		}
	}
	return nil
}

func TestExpandEmitsAnyNumber(t *testing.T) {
	for name, c := range map[string]struct{ vs, want []int }{
		"nothing":          {nil, nil},
		"none of one":      {[]int{0}, nil},
		"in order":         {[]int{2, 0, 1, 3}, []int{2, 2, 1, 3, 3, 3}},
		"more than a edge": {[]int{200}, repeated(200, 200)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := flow.FromSlice(c.vs).Expand(times).Collect(t.Context(), 1000)
			must(t, err)
			equalSlices(t, "values", got, c.want)
		})
	}
}

func repeated(v, n int) []int {
	vs := make([]int, n)
	for i := range vs {
		vs[i] = v
	}
	return vs
}

func TestExpandIsLikeALoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vs, f := drawFlow(t)
		var want []int
		for _, v := range vs {
			want = append(want, repeated(v, v)...)
		}
		wantCollected(t, f.Expand(times), want)
	})
}

func TestExpandWaitsForRoomInEmit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, emitted := &endless{}, 0
		r := start(t, flow.From(src).Expand(func(_ context.Context, i int, emit func(int) error) error {
			for range 100 {
				if err := emit(i); err != nil {
					return err
				}
				emitted++
			}
			return nil
		}).Buffer(4, flow.Block).ForEach(hang))
		time.Sleep(time.Second)
		synctest.Wait()
		equal(t, "results that fit", emitted, 5) // one is with the consumer
		equal(t, "values pulled", src.next, 1)
		equal(t, "results", stageStats(t, r, "expand#2").Out, 5)
		if s := stageStats(t, r, "expand#2"); s.Backpressured < 0.99 {
			t.Errorf("Backpressured = %v, want all of the time", s.Backpressured)
		}
		stopped(t, r)
	})
}

func TestExpandSharesTheClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(2)
		gate := make(chan struct{})
		r := start(t, flow.FromItems(b).Expand(func(ctx context.Context, i int, emit func(int) error) error {
			m, _ := stage.MetaFrom(ctx)
			equal(t, "metadata", m.ID, strconv.Itoa(i))
			if err := errors.Join(emit(1), emit(2)); err != nil {
				return err
			}
			if i == 1 {
				<-gate
			}
			return nil
		}).ForEach(func(context.Context, int) error { return nil }))
		synctest.Wait()
		equalSlices(t, "done while the second call runs", b.kind(stage.Done), []int{0})
		close(gate)
		must(t, r.Wait())
		b.once(t)
		equalSlices(t, "done", b.kind(stage.Done), ints(2))
	})
}

func TestExpandOfAClaimIsAsGoodAsItsWorstResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(3)
		boom := errors.New("boom")
		r := start(t, flow.FromItems(b).Expand(func(_ context.Context, i int, emit func(int) error) error {
			return errors.Join(emit(10*i), emit(10*i+1))
		}).ForEach(func(_ context.Context, i int) error {
			if i == 21 {
				return boom
			}
			return nil
		}))
		wantError(t, r.Wait(), boom)
		b.once(t)
		equal(t, "the last message", b.outcome(t, 2).Kind, stage.Failed)
	})
}

func TestExpandWithDecisions(t *testing.T) {
	boom := errors.New("boom")
	fails := func(times int) emitter {
		return func(_ context.Context, i int, emit func(int) error) error {
			if err := emit(i); err != nil {
				return err
			}
			if i == 1 && times > 0 {
				times--
				return boom
			}
			return emit(10 * i)
		}
	}
	var dead []any
	dlq := stage.SinkFunc(func(_ context.Context, ls []stage.DeadLetter) error {
		for _, l := range ls {
			dead = append(dead, l.Value)
		}
		return nil
	})
	wait := flow.Exponential(time.Second, time.Second)
	for _, c := range []struct {
		name   string
		times  int
		opt    flow.ExpandOption
		want   []int
		letter bool
	}{
		{"Skip keeps what was emitted", 9, flow.OnError(flow.Skip), []int{0, 0, 1, 2, 20}, false},
		{"Retry emits again", 2, flow.OnError(flow.Retry(3, wait)), []int{0, 0, 1, 1, 1, 10, 2, 20}, false},
		{"DeadLetter", 9, flow.OnError(flow.DeadLetter(dlq)), []int{0, 0, 1, 2, 20}, true},
	} {
		inBubble(t, c.name, func(t *testing.T) {
			b := newBroker(3)
			got := newSeen[int]()
			must(t, flow.FromItems(b).Expand(fails(c.times), c.opt).ForEach(got.each).Run(t.Context()))
			equalSlices(t, "results", got.values(), c.want)
			b.once(t)
			equalSlices(t, "done", b.kind(stage.Done), ints(3))
			equal(t, "dead letters", len(dead) == 1, c.letter)
		})
	}
}

func TestExpandWithUserCodeThatDoesNotReturn(t *testing.T) {
	for _, tr := range troubles() {
		bad := func(_ context.Context, i int, emit func(int) error) error {
			if err := emit(i); err != nil {
				return err
			}
			if i == 7 {
				tr.do()
			}
			return nil
		}
		inBubble(t, tr.name, func(t *testing.T) {
			b := newBroker(20)
			err := flow.FromItems(b).Expand(bad, flow.Name("bad")).To(stage.Discard[int]()).Run(t.Context())
			wantStage(t, err, "bad")
			if tr.is != nil {
				wantError(t, err, tr.is)
			}
			b.once(t)
			equal(t, "message 7", b.outcome(t, 7).Kind, stage.Failed)
		})
		inBubble(t, tr.name+", skipped", func(t *testing.T) {
			b, got := newBroker(20), newSeen[int]()
			must(t, flow.FromItems(b).Expand(bad, flow.OnError(flow.Skip)).ForEach(got.each).Run(t.Context()))
			equalSlices(t, "results", got.values(), ints(20))
			b.once(t)
			equalSlices(t, "done", b.kind(stage.Done), ints(20))
		})
		inBubble(t, tr.name+", skipped, plain", func(t *testing.T) {
			got := newSeen[int]()
			must(t, flow.FromSlice(ints(20)).Expand(bad, flow.OnError(flow.Skip)).ForEach(got.each).Run(t.Context()))
			equalSlices(t, "results", got.values(), ints(20))
		})
	}
}

func TestExpandThatEmitsTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(3)
		var kept func(int) error
		var late []error
		got := newSeen[int]()
		must(t, flow.FromItems(b).Expand(func(_ context.Context, i int, emit func(int) error) error {
			if kept != nil {
				late = append(late, kept(100))
			}
			kept = emit
			return emit(i)
		}).ForEach(got.each).Run(t.Context()))
		late = append(late, kept(100))
		equal(t, "late calls", len(late), 3)
		for _, err := range late {
			if err == nil || !strings.Contains(err.Error(), "after the function had returned") {
				t.Errorf("a late emit returned %v, want an error that says so", err)
			}
		}
		equalSlices(t, "results", got.values(), ints(3))
		b.once(t)
	})
}

func TestExpandMayEmitFromSeveralGoroutines(t *testing.T) {
	b := newBroker(50)
	total := 0
	must(t, flow.FromItems(b).Expand(func(_ context.Context, i int, emit func(int) error) error {
		var wg sync.WaitGroup
		errs := make([]error, 4)
		for k := range errs {
			wg.Go(func() { errs[k] = emit(i) })
		}
		wg.Wait()
		return errors.Join(errs...)
	}).Buffer(2, flow.Block).ForEach(func(_ context.Context, i int) error {
		total += i
		return nil
	}).Run(t.Context()))
	equal(t, "total", total, 4*50*49/2)
	b.once(t)
	equalSlices(t, "done", b.kind(stage.Done), ints(50))
}

func TestExpandThatIgnoresTheErrorOfEmit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(3)
		r := start(t, flow.FromItems(b).Expand(func(_ context.Context, i int, emit func(int) error) error {
			for range 3 {
				_ = emit(i)
			}
			return nil
		}, flow.Name("loud")).Buffer(1, flow.Reject).ForEach(hang))
		err := r.Wait()
		wantStage(t, err, "loud")
		if _, ok := errors.AsType[*flow.FullError](err); !ok {
			t.Fatalf("got error %v, want a *FullError in it", err)
		}
		b.once(t)
		equalSlices(t, "failed", b.kind(stage.Failed), ints(1))
	})
}

func TestExpandSkipsAValueThatDoesNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, got := newBroker(1), newSeen[int]()
		must(t, flow.FromItems(b).Expand(func(_ context.Context, _ int, emit func(int) error) error {
			for k := range 10 {
				if err := emit(k); err != nil {
					return err
				}
			}
			return nil
		}, flow.OnError(flow.Skip)).Buffer(3, flow.Reject).ForEach(func(ctx context.Context, i int) error {
			return errors.Join(nap(ctx, time.Second), got.each(ctx, i))
		}).Run(t.Context()))
		if n := len(got.values()); n < 3 || n > 4 {
			t.Errorf("%d results, want the 3 that fit, or 4 where the consumer had taken one", n)
		}
		equal(t, "the message", b.outcome(t, 0).Kind, stage.Done)
	})
}

// Try: an edge refuses the second result of a call. Right: Retry begins the call again when there is room, so that its first result comes
// twice; nothing is lost, and nothing of other calls is repeated.
func TestExpandIsRetriedWhereAnEdgeRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, got := newBroker(2), newSeen[int]()
		must(t, flow.FromItems(b).Expand(func(ctx context.Context, i int, emit func(int) error) error {
			for k := range 3 {
				if err := errors.Join(nap(ctx, time.Millisecond), emit(10*i+k)); err != nil {
					return err
				}
			}
			return nil
		}, flow.OnError(flow.Retry(1, constant(10*time.Second)))).Buffer(3, flow.Reject).ForEach(func(ctx context.Context, v int) error {
			return errors.Join(nap(ctx, time.Second), got.each(ctx, v))
		}).Run(t.Context()))
		equalSlices(t, "results", got.values(), []int{0, 1, 2, 10, 10, 11, 12})
		b.once(t)
		equalSlices(t, "done", b.kind(stage.Done), ints(2))
	})
}

func TestExpandWithMaxResults(t *testing.T) {
	endless := func(_ context.Context, i int, emit func(int) error) error {
		for k := 0; i == 1 || k < 3; k++ {
			if err := emit(10*i + k); err != nil {
				return err
			}
		}
		return nil
	}
	const billion = 1_000_000_000
	deaf := func(_ context.Context, i int, emit func(int) error) error {
		for k := range billion {
			if err := emit(10*i + k); err != nil && k > 100 {
				return nil // it takes no notice
			} else if k == 2 && i != 1 {
				break
			}
		}
		return nil
	}
	want := []int{0, 1, 2, 10, 11, 12, 20, 21, 22}
	for name, fn := range map[string]emitter{"an endless item": endless, "one that takes no notice": deaf} {
		inBubble(t, name+" is let go", func(t *testing.T) {
			b, got := newBroker(3), newSeen[int]()
			must(t, flow.FromItems(b).Expand(fn, flow.MaxResults(3), flow.OnError(flow.Skip)).ForEach(got.each).Run(t.Context()))
			equalSlices(t, "results", got.values(), want)
			b.once(t)
			equalSlices(t, "done", b.kind(stage.Done), ints(3))
		})
		inBubble(t, name+" ends the run, and is not retried", func(t *testing.T) {
			b, got := newBroker(3), newSeen[int]()
			began := time.Now()
			err := flow.FromItems(b).Expand(fn, flow.Name("pages"), flow.MaxResults(3), flow.OnError(flow.Retry(100, constant(time.Hour)))).
				ForEach(got.each).Run(t.Context())
			wantStage(t, err, "pages")
			wantError(t, err, flow.ErrTooMany)
			equal(t, "time", time.Since(began), 0)
			b.once(t)
			equal(t, "the message", b.outcome(t, 1).Kind, stage.Failed)
		})
	}
	inBubble(t, "each call has its own count", func(t *testing.T) {
		got, failed := newSeen[int](), false
		must(t, flow.FromSlice(ints(1)).Expand(func(_ context.Context, _ int, emit func(int) error) error {
			err := errors.Join(emit(1), emit(2), emit(3))
			if !failed {
				failed = true
				return errors.Join(err, errOutage)
			}
			return err
		}, flow.MaxResults(3), flow.OnError(flow.Retry(1, constant(time.Second)))).ForEach(got.each).Run(t.Context()))
		equalSlices(t, "results", got.values(), []int{1, 2, 3, 1, 2, 3})
	})
}

// L1: what the end of the run has kept from being emitted is given back, whatever the function and the decision make of that.
func TestExpandOfWhatAnEndCutsShort(t *testing.T) {
	errOwn := errors.New("own")
	functions := map[string]emitter{
		"an error of its own": func(_ context.Context, i int, emit func(int) error) error {
			for range 5 {
				if emit(i) != nil {
					return errOwn
				}
			}
			return nil
		},
		"several goroutines": func(_ context.Context, i int, emit func(int) error) error {
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() { _ = emit(i) })
			}
			wg.Wait()
			return nil
		},
	}
	ends := map[string]func(context.Context, int) error{
		"an error": func(ctx context.Context, _ int) error { return errors.Join(nap(ctx, time.Second), errA) },
		"a stop":   hang,
	}
	for name, fn := range functions {
		for end, sink := range ends {
			inBubble(t, name+", "+end, func(t *testing.T) {
				b := newBroker(30)
				r := start(t, flow.FromItems(b).Expand(fn, flow.OnError(flow.Skip)).Buffer(7, flow.Block).ForEach(sink))
				time.Sleep(time.Minute)
				r.Stop()
				if err := r.Wait(); err == nil {
					t.Fatal("Wait() = nil, want an error")
				}
				b.once(t)
				equal(t, "done", len(b.kind(stage.Done)), 0)
				equal(t, "skipped", r.Report().Skipped, 0)
			})
		}
	}
}

func TestExpandTimeoutEndsTheWaitOfEmit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(1)
		began := time.Now()
		r := start(t, flow.FromItems(b).Expand(func(_ context.Context, _ int, emit func(int) error) error {
			for {
				if err := emit(1); err != nil {
					return err
				}
			}
		}, flow.Timeout(time.Second)).Buffer(1, flow.Block).ForEach(hang))
		wantError(t, r.Wait(), context.DeadlineExceeded)
		equal(t, "elapsed", time.Since(began), time.Second)
		b.once(t)
		equal(t, "the message", b.outcome(t, 0).Kind, stage.Failed)
	})
}

func TestExpandStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(10)
		r := start(t, flow.FromItems(b).Expand(times).Buffer(2, flow.Block).ForEach(hang))
		time.Sleep(time.Hour)
		began := time.Now()
		stopped(t, r)
		equal(t, "time to stop", time.Since(began), 0)
		b.once(t)
		equalSlices(t, "done", b.kind(stage.Done), []int{0})
	})
}

func TestExpandDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, got := newBroker(4), newSeen[int]()
		b.stays = true
		r := start(t, flow.FromItems(b).Expand(func(ctx context.Context, i int, emit func(int) error) error {
			return errors.Join(nap(ctx, time.Second), emit(i), emit(i))
		}).ForEach(got.each))
		time.Sleep(100 * time.Millisecond)
		must(t, r.Drain(t.Context()))
		b.once(t)
		equal(t, "results", len(got.values()), 2*len(b.kind(stage.Done)))
	})
}

func TestExpandWhoseConsumerLeaves(t *testing.T) {
	for name, opt := range map[string]flow.ExpandOption{"stop": flow.OnError(flow.Stop), "skip": flow.OnError(flow.Skip)} {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(10)
			got, err := flow.FromItems(b).Expand(func(_ context.Context, i int, emit func(int) error) error {
				for {
					if err := emit(i); err != nil {
						return err
					}
				}
			}, opt).Take(100).Collect(t.Context(), 200)
			must(t, err)
			equal(t, "results", len(got), 100)
			b.once(t)
			equalSlices(t, "done", b.kind(stage.Done), nil)
		})
	}
}

func TestExpandAllocatesNothingForAResult(t *testing.T) {
	const each = 2000 // results of a call, which may allocate
	allocatesNothing(t, func(n int) error {
		return counted(flow.From(counting(n/each)).Expand(func(_ context.Context, i int, emit func(int) error) error {
			for range each {
				if err := emit(i); err != nil {
					return err
				}
			}
			return nil
		}), n)
	})
}

func TestExpandRefusesWrongArguments(t *testing.T) {
	f := flow.FromSlice(ints(1))
	refused(t, discard(f.Expand[int](nil)), "expand#2", "function must not be nil")
	refused(t, discard(f.Expand(times, flow.Timeout(0))), "Timeout must be > 0, got 0s")
	refused(t, discard(f.Expand(times, flow.MaxResults(0))), "MaxResults must be >= 1, got 0")
	refused(t, discard(f.Expand(times, nil)), "an option must not be nil")
}
