package flow_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
	"pgregory.net/rapid"
)

// batches notes what a function for ForEachBatch was called with.
type batches struct {
	mu  sync.Mutex
	vss [][]int
}

func (b *batches) each(_ context.Context, vs []int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.vss = append(b.vss, slices.Clone(vs))
	return nil
}

func TestForEachBatchCallsWithSoMany(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vs, f := drawFlow(t)
		n := rapid.IntRange(1, 40).Draw(t, "n")
		var got batches
		if err := f.ForEachBatch(n, 0, got.each).Run(context.Background()); err != nil {
			t.Fatalf("Run() = %v", err)
		}
		if want := slices.Collect(slices.Chunk(vs, n)); !slices.EqualFunc(got.vss, want, slices.Equal) {
			t.Fatalf("calls with %v, want %v", got.vss, want)
		}
	})
}

func TestForEachBatchDoesNotWaitForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := newSeen[int]()
		n := 0
		src := flow.FromFunc(func(ctx context.Context) (int, error) {
			n++
			return n, nap(ctx, time.Duration(n)*time.Second) // at 1, 3, 6, 10 s
		})
		r := start(t, src.ForEachBatch(3, 3*time.Second, func(ctx context.Context, vs []int) error { return at.each(ctx, len(vs)) }))
		time.Sleep(14 * time.Second)
		stopped(t, r)
		equalSlices(t, "sizes", at.values(), []int{2, 1, 1})
		equalSlices(t, "times", at.times(), []time.Duration{4 * time.Second, 9 * time.Second, 13 * time.Second})
	})
}

// A value that comes in the moment when the time is up may be part of the call or not, but the call does not wait for another.
func TestForEachBatchIsInTimeWhenAValueComesJustThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		src := flow.FromFunc(func(ctx context.Context) (int, error) {
			if n++; n > 100 {
				return 0, stage.ErrEnd
			}
			wait := time.Hour
			if n%2 == 0 {
				wait = time.Second
			}
			return n, nap(ctx, wait)
		})
		at := newSeen[int]()
		must(t, src.ForEachBatch(10, time.Second, func(ctx context.Context, vs []int) error {
			for _, v := range vs {
				must(t, at.each(ctx, v))
			}
			return nil
		}).Run(t.Context()))
		came := time.Duration(0) // the first of a pair
		for i, took := range at.times() {
			if i%2 == 0 {
				came += time.Hour
			}
			if took > came+2*time.Second {
				t.Fatalf("value %d was taken in the %v, %v after its pair had begun", i+1, took, took-came)
			}
			if i%2 == 1 {
				came += time.Second
			}
		}
	})
}

func TestForEachBatchHandsOnTheRestInADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(7)
		b.stays = true
		var got batches
		r := start(t, flow.FromItems(b).ForEachBatch(5, time.Hour, got.each))
		synctest.Wait()
		must(t, r.Drain(t.Context()))
		equal(t, "calls", len(got.vss), 2)
		equalSlices(t, "the rest", got.vss[1], []int{5, 6})
		b.once(t)
		equal(t, "acknowledged", len(b.kind(stage.Done)), 7)
	})
}

func TestForEachBatchGivesTheRestBackAtAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(7)
		b.stays = true
		r := start(t, flow.FromItems(b).ForEachBatch(5, 0, (&batches{}).each))
		synctest.Wait()
		stopped(t, r)
		b.once(t)
		equalSlices(t, "acknowledged", b.kind(stage.Done), ints(5))
		equalSlices(t, "given back", b.kind(stage.Failed), []int{5, 6})
	})
}

func TestForEachBatchDecidesAboutFailures(t *testing.T) {
	bad := func(vs []int) error { // what it can say about single values
		var err stage.BatchError
		for i, v := range vs {
			if v == 7 {
				err.Add(i, errA)
			}
		}
		return err.OrNil()
	}
	whole := func(vs []int) error { // it knows only that the call has failed
		if slices.Contains(vs, 7) {
			return errA
		}
		return nil
	}
	letters := newSeen[stage.DeadLetter]()
	dlq := stage.SinkFunc(func(ctx context.Context, ds []stage.DeadLetter) error { return letters.each(ctx, ds[0]) })
	for name, c := range map[string]struct {
		fn      func([]int) error
		on      []flow.SinkOption
		failed  []int
		done    []int
		skipped int64
	}{
		"one value stops the run, those beside it are taken": {bad, nil, []int{7}, []int{0, 1, 2, 3, 4, 5, 6, 8, 9}, 0},
		"a call stops the run":                               {whole, nil, []int{5, 6, 7, 8, 9}, ints(5), 0},
		"one value is skipped":                               {bad, []flow.SinkOption{flow.OnError(flow.Skip)}, nil, ints(20), 1},
		"a call is halved until it is one value":             {whole, []flow.SinkOption{flow.OnError(flow.DeadLetter(dlq))}, nil, ints(20), 1},
	} {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(20)
			b.most = 5
			var got batches
			r := start(t, flow.FromItems(b).ForEachBatch(5, 0, func(ctx context.Context, vs []int) error {
				return errors.Join(got.each(ctx, vs), c.fn(vs))
			}, append(c.on, flow.Name("bad"))...))
			err := r.Wait()
			if c.failed == nil {
				must(t, err)
				equalSlices(t, "failed", b.kind(stage.Failed), nil)
				equalSlices(t, "done", b.kind(stage.Done), c.done)
			} else {
				wantStage(t, err, "bad")
				wantError(t, err, errA)
				equalSlices(t, "failed first", b.kind(stage.Failed)[:len(c.failed)], c.failed)
				equalSlices(t, "done", b.kind(stage.Done), c.done)
			}
			b.once(t)
			equal(t, "skipped", r.Report().Skipped, c.skipped)
		})
	}
	equal(t, "dead letter", letters.values()[0].Value, any(7))
}

func TestForEachBatchRepeatsACallWhole(t *testing.T) {
	var got batches
	failures := 2
	err := flow.FromSlice(ints(4)).ForEachBatch(3, 0, func(ctx context.Context, vs []int) error {
		must(t, got.each(ctx, vs))
		if failures--; failures >= 0 {
			return errA
		}
		return nil
	}, flow.OnError(flow.Retry(5, flow.Exponential(time.Microsecond, time.Microsecond)))).Run(t.Context())
	must(t, err)
	want := [][]int{{0, 1, 2}, {0, 1, 2}, {0, 1, 2}, {3}}
	if !slices.EqualFunc(got.vss, want, slices.Equal) {
		t.Fatalf("calls with %v, want %v", got.vss, want)
	}
}

func TestForEachBatchWithUserCodeThatDoesNotReturn(t *testing.T) {
	for _, tr := range troubles() {
		inBubble(t, tr.name, func(t *testing.T) {
			b := newBroker(20)
			call := func(_ context.Context, vs []int) error {
				if slices.Contains(vs, 7) {
					tr.do()
				}
				return nil
			}
			err := flow.FromItems(b).ForEachBatch(5, 0, call, flow.Name("bad")).Run(t.Context())
			wantStage(t, err, "bad")
			b.once(t)
			equalSlices(t, "acknowledged", b.kind(stage.Done), ints(5))

			b = newBroker(20)
			must(t, flow.FromItems(b).ForEachBatch(5, 0, call, flow.OnError(flow.Skip)).Run(t.Context()))
			b.once(t)
			equal(t, "acknowledged by a run that goes on", len(b.kind(stage.Done)), 20)
		})
	}
}

func TestForEachBatchWithWorkersCallsAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(40)
		began := time.Now()
		must(t, flow.FromItems(b).ForEachBatch(5, time.Second, func(ctx context.Context, _ []int) error {
			return nap(ctx, time.Minute)
		}, flow.Workers(8)).Run(t.Context()))
		if took := time.Since(began); took > 2*time.Minute {
			t.Fatalf("the run took %v, want calls at the same time", took)
		}
		b.once(t)
	})
}

func TestForEachBatchAllocatesNothing(t *testing.T) {
	allocatesNothing(t, func(n int) error {
		var got tally
		err := flow.From(counting(n)).ForEachBatch(100, 0, got.Push).Run(context.Background())
		return errors.Join(err, got.want(n))
	})
}

func TestForEachBatchRefusesArguments(t *testing.T) {
	f := flow.FromSlice(ints(1))
	refused(t, f.ForEachBatch(0, -1, nil), "foreachbatch#2", "function must not be nil",
		"n must be 1 to 2147483647, got 0", "maxWait must be >= 0, got -1ns")
	refused(t, f.ForEachBatch(1, 0, (&batches{}).each, flow.Gather(3, 0)), "Gather needs To")
}
