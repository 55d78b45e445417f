package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

var (
	errA = errors.New("a is broken")
	errB = errors.New("b is broken")
	errC = errors.New("c is broken")
)

// failAt is a function that fails at value k.
func failAt(k int, err error) func(context.Context, int) (int, error) {
	return func(_ context.Context, i int) (int, error) {
		if i == k {
			return 0, err
		}
		return i, nil
	}
}

// S1: the end of the stream never hides an error, wherever the error comes from and however late.
func TestS1EndNeverHidesAnError(t *testing.T) {
	last := func(ctx context.Context, dst []int) (int, error) { // the error comes with the last item
		dst[0] = 1
		return 1, errA
	}
	wrapped := fmt.Errorf("decode: %w", stage.ErrEnd)
	cases := map[string]struct {
		p    flow.Pipeline
		want error
	}{
		"source, beside an item":       {flow.From(stage.SourceFunc(last)).To(stage.Discard[int]()), errA},
		"source, through an edge":      {flow.From(stage.SourceFunc(last)).Buffer(1, flow.Block).To(stage.Discard[int]()), errA},
		"source, before a filter":      {flow.From(stage.SourceFunc(last)).Filter(func(int) bool { return false }).To(stage.Discard[int]()), errA},
		"source, before a flatmap":     {flow.From(stage.SourceFunc(last)).FlatMap(func(int) []int { return nil }).To(stage.Discard[int]()), errA},
		"source, before a batch":       {flow.From(stage.SourceFunc(last)).Batch(5, 0).To(stage.Discard[[]int]()), errA},
		"source, before a gather":      {flow.From(stage.SourceFunc(last)).To(stage.Discard[int](), flow.Gather(5, 0)), errA},
		"wrapped end of a source":      {flow.FromFunc(func(context.Context) (int, error) { return 0, wrapped }).To(stage.Discard[int]()), wrapped},
		"end returned by a TryMap":     {flow.FromSlice(ints(3)).TryMap(failAt(1, stage.ErrEnd)).To(stage.Discard[int]()), stage.ErrEnd},
		"end returned by a Parallel":   {flow.FromSlice(ints(3)).Parallel(2, failAt(1, stage.ErrEnd)).To(stage.Discard[int]()), stage.ErrEnd},
		"end returned by a sink":       {flow.FromSlice(ints(3)).To(stage.SinkFunc(func(context.Context, []int) error { return stage.ErrEnd })), stage.ErrEnd},
		"last item fails in the sink":  {flow.FromSlice(ints(10)).ForEach(func(_ context.Context, i int) error { _, err := failAt(9, errA)(nil, i); return err }), errA},
		"last item fails in Parallel":  {flow.FromSlice(ints(10)).Parallel(3, failAt(9, errA)).To(stage.Discard[int]()), errA},
		"last item fails before Take":  {flow.FromSlice(ints(10)).TryMap(failAt(2, errA)).Take(3).To(stage.Discard[int]()), errA},
		"one input of a merge":         {flow.Merge(flow.FromSlice(ints(3)), flow.FromSlice(ints(3)).TryMap(failAt(2, errA))).To(stage.Discard[int]()), errA},
		"a sink that fails on closing": {flow.FromSlice(ints(3)).To(&closer{err: errA}), errA},
	}
	for name, c := range cases {
		inBubble(t, name, func(t *testing.T) { wantError(t, c.p.Run(t.Context()), c.want) })
	}
}

// closer is a sink that can be closed, with an error.
type closer struct{ err error }

func (c *closer) Push(context.Context, []int) error { return nil }
func (c *closer) Close() error                      { return c.err }

// S1: cancelling gives the cause, also when the source ends in the same moment.
func TestS1CancelGivesTheCause(t *testing.T) {
	cause := errors.New("the operator pressed the button")
	synctest.Test(t, func(t *testing.T) {
		for range 500 {
			ctx, cancel := context.WithCancelCause(t.Context())
			ends := make(chan struct{})
			src := stage.SourceFunc(func(context.Context, []int) (int, error) {
				<-ends
				return 0, stage.ErrEnd
			})
			r, err := flow.From(src).Buffer(1, flow.Block).To(stage.Discard[int]()).Start(ctx)
			must(t, err)
			together(func() { cancel(cause) }, func() { close(ends) })
			if err := r.Wait(); err != nil {
				equal(t, "Run", err, cause)
			}
		}
	})
	inBubble(t, "the source ends because of it", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		src := stage.SourceFunc(func(ctx context.Context, _ []int) (int, error) {
			<-ctx.Done()
			return 0, stage.ErrEnd // a source that takes the end of the context for the end of the stream
		})
		time.AfterFunc(time.Second, func() { cancel(cause) })
		equal(t, "Run", flow.From(src).Map(twice).To(stage.Discard[int]()).Run(ctx), cause)
	})
	inBubble(t, "deep in the graph", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(cause) })
		f := flow.FromFunc(func(ctx context.Context) (int, error) { return 0, hang(ctx, 0) })
		equal(t, "Run", f.Parallel(3, same).Batch(3, 0).To(stage.Discard[[]int]()).Run(ctx), cause)
	})
	inBubble(t, "before the start", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		equal(t, "Run", flow.FromSlice(ints(10)).Buffer(2, flow.Block).To(stage.Discard[int]()).Run(ctx), cause)
		_, err := flow.FromSlice(ints(10)).Buffer(2, flow.Block).Collect(ctx, 10)
		equal(t, "Collect", err, cause)
		for _, err = range flow.FromSlice(ints(10)).Buffer(2, flow.Block).All(ctx) {
			if err == nil {
				t.Fatal("All gave an item after the context had ended")
			}
		}
		equal(t, "All", err, cause)
	})
}

// S1: three stages fail in the same moment: the run ends, and its error is all three, each with its stage.
func TestS1ErrorsOfSeveralStagesAreJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := func(name string, err error) flow.Flow[int] {
			return flow.FromSlice(ints(1)).TryMap(func(context.Context, int) (int, error) {
				time.Sleep(time.Second)
				return 0, err
			}, flow.Name(name))
		}
		// A bubble lets all three sleepers go at the same time, and which is first is open.
		err := flow.Merge(fail("a", errA), fail("b", errB), fail("c", errC)).To(stage.Discard[int]()).Run(t.Context())
		for _, want := range []error{errA, errB, errC} {
			wantError(t, err, want)
		}
		for _, name := range []string{"a: ", "b: ", "c: "} {
			equal(t, "how often the error names "+name, strings.Count("\n"+err.Error(), "\n"+name), 1)
		}
	})
}

// S1: what fails only because the run is stopping is not an error of its own.
func TestS1ConsequencesAreNotJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		branches := flow.From(&endless{}).Broadcast(3)
		err := flow.Join(
			branches[0].ForEach(func(ctx context.Context, i int) error {
				time.Sleep(time.Second)
				return errA
			}, flow.Name("bad")),
			branches[1].ForEach(hang),
			branches[2].To(stage.SinkFunc(func(ctx context.Context, _ []int) error {
				<-ctx.Done()
				return fmt.Errorf("insert: %w", ctx.Err())
			})),
		).Run(t.Context())
		equal(t, "error", err.Error(), "bad: a is broken")
	})
}

// S2: within one goroutine items come before the error; across edges the error overtakes what waits, which is given back.
func TestS2ItemsAndErrors(t *testing.T) {
	inBubble(t, "one goroutine: items first", func(t *testing.T) {
		for k := range 40 {
			got := newSeen[int]()
			err := flow.FromSlice(ints(100)).TryMap(failAt(k, errA)).Map(twice).Filter(even).ForEach(got.each).Run(t.Context())
			wantError(t, err, errA)
			equal(t, "items before the error", len(got.values()), k)
		}
	})
	inBubble(t, "across an edge: the error first", func(t *testing.T) {
		b := newBroker(20)
		got := newSeen[int]()
		r := start(t, flow.FromItems(b).
			TryMap(func(ctx context.Context, i int) (int, error) {
				if i == 10 {
					return 0, errA
				}
				return i, nil
			}).
			Buffer(100, flow.Block).
			ForEach(func(ctx context.Context, i int) error {
				must(t, got.each(ctx, i))
				return nap(ctx, time.Minute)
			}))
		began := time.Now()
		wantError(t, r.Wait(), errA)
		equal(t, "time until the error is out", time.Since(began), 0)
		b.once(t)
		equal(t, "done", len(b.kind(stage.Done)), 0)
		wantError(t, b.outcome(t, 10).Err, errA)
	})
}

// S3: a stage error in any branch of a Broadcast or a Tee stops the whole run.
func TestS3ErrorInABranchStopsTheRun(t *testing.T) {
	bad := func(f flow.Flow[int]) flow.Pipeline {
		return f.ForEach(func(_ context.Context, i int) error {
			if i == 50 {
				return errB
			}
			return nil
		}, flow.Name("side"))
	}
	inBubble(t, "tee", func(t *testing.T) {
		err := flow.From(&endless{}).Tee(bad).To(stage.Discard[int]()).Run(t.Context())
		wantStage(t, err, "side")
		wantError(t, err, errB)
	})
	inBubble(t, "broadcast", func(t *testing.T) {
		branches := flow.From(&endless{}).Broadcast(3)
		err := flow.Join(branches[0].ForEach(hang), bad(branches[1]), branches[2].To(stage.Discard[int]())).Run(t.Context())
		wantStage(t, err, "side")
		wantError(t, err, errB)
	})
}

// S5: a source that is interrupted returns its context's cause, and the engine makes a clean end of that, when it was the
// engine that interrupted. An error that only looks like it is an error.
func TestS5InterruptedSources(t *testing.T) {
	inBubble(t, "the consumer left", func(t *testing.T) {
		got, err := flow.From(then(1, 2, 3)).Buffer(8, flow.Block).Take(3).Collect(t.Context(), 3)
		must(t, err)
		equalSlices(t, "items", got, []int{1, 2, 3})
	})
	inBubble(t, "a drain began", func(t *testing.T) {
		r := start(t, flow.From(then(1, 2, 3)).To(stage.Discard[int]()))
		synctest.Wait()
		must(t, r.Drain(t.Context()))
	})
	inBubble(t, "a cancelled context of the source's own", func(t *testing.T) {
		src := func(context.Context, []int) (int, error) { return 0, context.Canceled }
		err := flow.From(stage.SourceFunc(src), flow.Name("src")).To(stage.Discard[int]()).Run(t.Context())
		wantStage(t, err, "src")
		wantError(t, err, context.Canceled)
	})
	inBubble(t, "an error while a drain begins", func(t *testing.T) {
		src := stage.SourceFunc(func(ctx context.Context, _ []int) (int, error) {
			<-ctx.Done()
			return 0, errA
		})
		r := start(t, flow.From(src, flow.Name("src")).To(stage.Discard[int]()))
		synctest.Wait()
		err := r.Drain(t.Context())
		wantStage(t, err, "src")
		wantError(t, err, errA)
	})
}

// S6: user code that ignores its context is waited for one second after a stop; then Wait returns an error that names it.
func TestS6DeafUserCode(t *testing.T) {
	deaf := func(string) func(context.Context, int) (int, error) {
		return func(_ context.Context, i int) (int, error) {
			time.Sleep(time.Hour)
			return i, nil
		}
	}
	cases := map[string]flow.Pipeline{
		"trymap":   flow.FromSlice(ints(9)).TryMap(deaf(""), flow.Name("deaf")).To(stage.Discard[int]()),
		"parallel": flow.FromSlice(ints(9)).Parallel(3, deaf(""), flow.Name("deaf")).To(stage.Discard[int]()),
		"map":      flow.FromSlice(ints(9)).Map(func(i int) int { time.Sleep(time.Hour); return i }, flow.Name("deaf")).To(stage.Discard[int]()),
		"sink":     flow.FromSlice(ints(9)).To(stage.SinkFunc(func(context.Context, []int) error { time.Sleep(time.Hour); return nil }), flow.Name("deaf")),
		"source":   flow.FromFunc(func(context.Context) (int, error) { time.Sleep(time.Hour); return 1, nil }, flow.Name("deaf")).To(stage.Discard[int]()),
	}
	for name, p := range cases {
		inBubble(t, name, func(t *testing.T) {
			r, err := p.Start(t.Context())
			must(t, err)
			time.Sleep(time.Minute)
			began := time.Now()
			r.Stop()
			err = r.Wait()
			equal(t, "time until Wait returned", time.Since(began), time.Second)
			wantError(t, err, flow.ErrStopped)
			if !strings.Contains(err.Error(), "the code of deaf has not returned") {
				t.Fatalf("Wait() = %v, want an error that names deaf", err)
			}
			rep := r.Report()
			if name != "source" && rep.Unknown == 0 {
				t.Errorf("Report() = %+v, want what is in the deaf code's hands as unknown", rep)
			}
			time.Sleep(time.Hour) // now it returns
			equal(t, "Wait", r.Wait(), err)
		})
	}
	inBubble(t, "a Close that hangs", func(t *testing.T) {
		r, err := flow.From(then(1)).To(&slowCloser{}).Start(t.Context())
		must(t, err)
		synctest.Wait()
		r.Stop()
		err = r.Wait()
		if !strings.Contains(err.Error(), "slowCloser") {
			t.Fatalf("Wait() = %v, want an error that names the part whose Close hangs", err)
		}
		time.Sleep(time.Hour)
	})
}

type slowCloser struct{ closer }

func (*slowCloser) Close() error {
	time.Sleep(time.Hour)
	return nil
}
