package flow_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// knot is what a run has to say of a graph that stands still.
type knot struct {
	build      func() flow.Pipeline
	stages     []string // exactly those that wait for each other, in their order
	artificial bool
}

// fork makes two branches of numbers without end.
func fork() (a, b intFlow) {
	bs := unending().Broadcast(2, flow.Name("fork"))
	return bs[0], bs[1]
}

// tiny gives f an edge for one item.
func tiny(f intFlow) intFlow { return f.Buffer(1, flow.Block) }

func pairs(a, b intFlow) intFlow { return a.ZipWith(b, total, flow.Name("zip")) }

// knots are graphs that are refused when they are built, and run all the same. The names are those of the catalogue of graphs
// from which the checks were made; those with a loop are in the tests of Loop.
var knots = map[string]knot{
	"G3 a batch beside single items, flattened": {func() flow.Pipeline {
		a, b := fork()
		batched := a.Buffer(2, flow.Block).Batch(8, 0, flow.Name("batch")).FlatMap(flatten).Buffer(2, flow.Block)
		return discard(pairs(batched, b.Buffer(2, flow.Block)))
	}, []string{"fork", "zip", "batch"}, true},
	"G3 a batch beside single items, not flattened": {func() flow.Pipeline {
		a, b := fork()
		batched := a.Buffer(2, flow.Block).Batch(8, 0, flow.Name("batch")).Map(size)
		return discard(pairs(batched, b.Buffer(2, flow.Block)))
	}, []string{"fork", "zip", "batch"}, true},
	"G4 a branch that skips": {func() flow.Pipeline {
		a, b := fork()
		return discard(pairs(tiny(tiny(a).Skip(5, flow.Name("skip"))), tiny(b)))
	}, []string{"fork", "zip", "skip"}, true},
	"G9 branches of a partition one after the other": {func() flow.Pipeline {
		bs := unending().Partition(2, func(i int) int { return i }, flow.Name("partition"))
		return discard(tiny(bs[0]).Concat(tiny(bs[1])))
	}, []string{"partition", "concat#5"}, true},
	"G10 two stages that write 3 and then read 3, beside a healthy one": {func() flow.Pipeline {
		return flow.Join(flow.Ring(1, three(), three()), discard(ticker()))
	}, []string{"first", "second"}, true},
	"G10 two stages that read first": {func() flow.Pipeline {
		return flow.Join(flow.Ring(1, viaFunc(double), viaFunc(double)), discard(ticker()))
	}, []string{"first", "second"}, false},
	"G11 two joins that read from two producers in opposite order": {func() flow.Pipeline {
		a := countUp("a").Broadcast(2, flow.Name("forkA"))
		b := countUp("b").Broadcast(2, flow.Name("forkB"))
		return flow.Join(
			discard(tiny(a[0]).Concat(tiny(b[0]))),
			discard(tiny(b[1]).Concat(tiny(a[1]))),
		)
	}, []string{"forkA", "concat#11", "forkB", "concat#7"}, true},
	"G12 a batch of more than its source leaves unsettled": {func() flow.Pipeline {
		return batchedOrders(500, 0)
	}, []string{"orders", "batch"}, false},
	"G12 beside a healthy part": {func() flow.Pipeline {
		return flow.Join(batchedOrders(101, 0), discard(ticker()))
	}, []string{"orders", "batch"}, false},
	"G21 a lossy branch into a zip": {func() flow.Pipeline {
		a, b := fork()
		return discard(pairs(tiny(a).Filter(seldom, flow.Name("filter")), tiny(b)))
	}, []string{"fork", "zip", "filter"}, true},
	"an ordered Parallel whose results nobody takes": {func() flow.Pipeline {
		a, b := fork()
		worked := tiny(a).Parallel(3, same, flow.Name("parallel"))
		return discard(pairs(tiny(worked), tiny(b).Filter(func(int) bool { return false }, flow.Name("filter"))))
	}, []string{"fork", "parallel", "zip", "filter"}, true},
	"a MergePriority that waits for any of two": {func() flow.Pipeline {
		bs := unending().Broadcast(3, flow.Name("fork"))
		never := func(int) bool { return false }
		first := flow.MergePriority(bs[0].Filter(never, flow.Name("filter1")), bs[1].Filter(never, flow.Name("filter2")))
		return discard(pairs(tiny(bs[2]), first))
	}, []string{"fork", "zip", "mergepriority#6", "filter1"}, true},
	"weights instead of numbers": {func() flow.Pipeline {
		a, b := fork()
		light := flow.Edge[int]{Name: "light", Capacity: 100, MaxWeight: 3, Weight: func(int) int64 { return 1 }}
		return discard(pairs(tiny(a).Batch(50, 0, flow.Name("batch")).FlatMap(flatten), b.Edge(light)))
	}, []string{"fork", "zip", "batch"}, true},
	"a worker without a stage": {func() flow.Pipeline {
		a, b := fork()
		moved := tiny(b).Buffer(1, flow.Block, flow.Name("second"))
		return discard(pairs(tiny(a).Batch(50, 0, flow.Name("batch")).FlatMap(flatten), moved))
	}, []string{"fork", "second", "zip", "batch"}, true},
}

// three writes three items and then reads three, again and again.
func three() stage.Stage[int, int] {
	return viaFunc(func(ctx context.Context, in *stage.In[int], out *stage.Out[int]) error {
		for {
			for i := range 3 {
				if err := out.Emit(ctx, stage.Item[int]{Value: i}); err != nil {
					return err
				}
			}
			for range 3 {
				if _, err := in.Next(ctx); err != nil {
					return err
				}
			}
		}
	})
}

// ticker goes on for ever.
func ticker() intFlow {
	return flow.FromFunc(func(ctx context.Context) (int, error) { return 1, nap(ctx, 100*time.Millisecond) }).Buffer(2, flow.Block)
}

// names returns the stages of the hops.
func names(e *flow.DeadlockError) (all []string) {
	for _, h := range e.Hops {
		all = append(all, h.Stage)
	}
	return all
}

// deadlock fails the test unless err is about a deadlock.
func deadlock(t *testing.T, err error) *flow.DeadlockError {
	t.Helper()
	e, ok := errors.AsType[*flow.DeadlockError](err)
	if !ok {
		t.Fatalf("got error %v, want a *flow.DeadlockError", err)
	}
	return e
}

// turned returns all with another one first, as those on a circle may be.
func turned(all []string, first string) []string {
	i := max(slices.Index(all, first), 0)
	return slices.Concat(all[i:], all[:i])
}

// Each of the graphs fails with the second look behind the moment from which nothing moves, and the error names those who wait for
// each other, and nobody else.
func TestStuckGraphsAreFoundWithTheSecondLook(t *testing.T) { foundWithTheSecondLook(t, knots) }

func foundWithTheSecondLook(t *testing.T, all map[string]knot) {
	for name, want := range all {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				e := deadlock(t, flow.Trusting(want.build()).Run(t.Context()))
				if got := turned(names(e), want.stages[0]); !slices.Equal(got, want.stages) {
					t.Errorf("stages %q, want %q\n%v", got, want.stages, e)
				}
				equal(t, "artificial", e.Artificial, want.artificial)
				equal(t, "time until it failed", time.Since(began), 2*time.Second)
				for _, h := range e.Hops {
					equal(t, "time that "+h.Stage+" has waited", h.For, 2*time.Second)
				}
			})
		})
	}
}
