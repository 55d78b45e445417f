package flow_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// T46: a running total behind a function that fails for one item in ten, in each way in which user code can fail, and in front of
// one that does. Right: the total goes on with what survives, the item that is let go is in it where it failed behind the
// Scan, and another run begins anew.
func TestT46StateSurvivesANeighbourThatFails(t *testing.T) {
	tenth := func(ctx context.Context, i int) (int, error) {
		switch {
		case i%10 != 0:
			return i, nil
		case i%30 == 10:
			panic(errA)
		case i%30 == 20:
			runtime.Goexit()
		}
		return 0, errA
	}
	skip := flow.OnError(flow.Skip)
	count := func(n, _ int) int { return n + 1 }
	tests := []struct {
		name string
		of   func(f flow.Flow[int]) flow.Flow[int]
		want []int
	}{
		{"in front", func(f flow.Flow[int]) flow.Flow[int] { return f.TryMap(tenth, skip).Scan(0, count) }, ints(91)[1:]},
		{"in front, in parallel", func(f flow.Flow[int]) flow.Flow[int] { return f.Parallel(3, tenth, skip).Scan(0, count) }, ints(91)[1:]},
		{"behind", func(f flow.Flow[int]) flow.Flow[int] { return f.Scan(0, count).TryMap(tenth, skip) }, without10(ints(101))},
	}
	for _, c := range tests {
		inBubble(t, c.name, func(t *testing.T) {
			for range 2 {
				b := newBroker(100)
				got := newSeen[int]()
				must(t, c.of(flow.FromItems(b)).ForEach(got.each).Run(t.Context()))
				equalSlices(t, "results", got.values(), c.want)
				b.once(t)
				equal(t, "done", len(b.kind(stage.Done)), 100)
			}
		})
	}
}

// without10 returns what is not a multiple of ten.
func without10(vs []int) (out []int) {
	for _, v := range vs {
		if v%10 != 0 {
			out = append(out, v)
		}
	}
	return out
}

// T46, the other half: a stage holds a sum when its input ends. Right: it emits what is left, and its message settles behind that.
func TestT46AStageEmitsWhatIsLeftAtTheEnd(t *testing.T) {
	inBubble(t, "sums of four", func(t *testing.T) {
		b := newBroker(10)
		sums := stage.StageFunc(func(ctx context.Context, in *stage.In[int], out *stage.Out[int]) error {
			var held []stage.Item[int]
			emit := func() error {
				sum := 0
				for _, it := range held {
					sum += it.Value
				}
				err := out.Emit(ctx, stage.Combine(sum, held...))
				held = nil
				return err
			}
			for it, err := range in.All(ctx) {
				if err != nil {
					return err
				}
				if held = append(held, in.Keep(it)); len(held) == 4 {
					if err := emit(); err != nil {
						return err
					}
				}
			}
			return emit()
		})
		got := newSeen[int]()
		must(t, flow.FromItems(b).Via(sums).ForEach(got.each).Run(t.Context()))
		equalSlices(t, "sums", got.values(), []int{0 + 1 + 2 + 3, 4 + 5 + 6 + 7, 8 + 9})
		b.once(t)
		equalSlices(t, "done", b.kind(stage.Done), ints(10))
	})
}

// T70: one item in a hundred fails and is skipped, at each place where there are decisions. Right: each is counted, at the stage by its
// name and in the report, also while it runs, and what comes out is the rest.
func TestT70EachSkipIsCounted(t *testing.T) {
	const n, bad = 1000, 10
	fails := func(_ context.Context, i int) (int, error) {
		if i%100 == 0 {
			return 0, errA
		}
		return i, nil
	}
	each := func(ctx context.Context, i int) error { _, err := fails(ctx, i); return err }
	push := func(ctx context.Context, vs []int) error {
		var failed stage.BatchError
		for i, v := range vs {
			failed.Add(i, each(ctx, v))
		}
		return failed.OrNil()
	}
	name, skip, dropped := flow.Name("it"), flow.OnError(flow.Skip), flow.OnError(flow.DeadLetter(stage.Discard[stage.DeadLetter]()))
	src := func() flow.Flow[int] { return flow.FromSlice(ints(n)) }
	for what, p := range map[string]flow.Pipeline{
		"trymap":        discard(src().TryMap(fails, name, skip)),
		"dead letters":  discard(src().TryMap(fails, name, dropped)),
		"parallel":      discard(src().Parallel(4, fails, name, skip)),
		"unordered":     discard(src().Parallel(4, fails, name, skip, flow.Unordered)),
		"parallelbykey": discard(src().ParallelByKey(4, twice, fails, name, skip)),
		"foreach":       src().ForEach(each, name, skip),
		"workers":       src().ForEach(each, name, skip, flow.Workers(3)),
		"to":            src().To(stage.SinkFunc(push), name, skip),
		"foreachbatch":  src().ForEachBatch(64, 0, push, name, skip),
		"a batch":       src().Batch(64, 0).ForEach(push, name, skip),
	} {
		inBubble(t, what, func(t *testing.T) {
			r := start(t, p)
			must(t, r.Wait())
			st := stageStats(t, r, "it")
			equal(t, "skipped by the stage", st.Skipped, bad)
			equal(t, "failed at the stage", st.Failed, 0)
			equal(t, "skipped in the report", r.Report().Skipped, bad)
			if what != "a batch" {
				equal(t, "in", st.In, n)
				equal(t, "out", st.Out, n-bad)
			}
		})
	}
	inBubble(t, "while it runs", func(t *testing.T) {
		r := start(t, flow.From(then(ints(250)...)).TryMap(fails, name, skip).To(stage.Discard[int]()))
		must(t, nap(t.Context(), 1))
		equal(t, "skipped so far", stageStats(t, r, "it").Skipped, 3)
		stopped(t, r)
	})
}
