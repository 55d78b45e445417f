package flow_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// T1: a filter that drops nine of ten stands between a source and edges of 100. What it lets go must be asked for again, and the
// whole of the source arrives. Here demand is the length of a pull, so what must return to its window is the room in the
// edges: they are empty at the end.
func TestT1FilterAsksAgainForWhatItLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := newSeen[int]()
		r := start(t, flow.FromSlice(ints(10_000)).
			Filter(func(i int) bool { return i%10 == 0 }).
			Buffer(100, flow.Block, flow.Name("first")).
			Map(twice).
			Buffer(100, flow.Block, flow.Name("second")).
			ForEach(got.each))
		must(t, r.Wait())
		equal(t, "items", len(got.values()), 1000)
		equal(t, "last item", got.values()[999], 2*9990)
		for _, e := range r.Stats().Edges {
			equal(t, "what waits in "+e.Name, e.Depth, 0)
			equal(t, "what went into "+e.Name, e.In, 1000)
		}
	})
}

// T2: a branch of a Broadcast whose filter lets everything go must not use up the branch's room: the other branch gets all.
func TestT2FilteredBranchDoesNotStopTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newSeen[int](), newSeen[int]()
		branches := flow.FromSlice(ints(101)).Broadcast(2)
		must(t, flow.Join(
			branches[0].Buffer(10, flow.Block).ForEach(a.each),
			branches[1].Buffer(10, flow.Block).Filter(func(int) bool { return false }).ForEach(b.each),
		).Run(t.Context()))
		equalSlices(t, "the branch that takes all", a.values(), ints(101))
		equal(t, "items of the other branch", len(b.values()), 0)
	})
}

// T4: two branches with room for 1,000 each, before anything was delivered. The source is asked for what fits into both, never
// for the sum: with both consumers blocked it hands out 1,000 and the chunk in each consumer's hand.
func TestT4BroadcastAsksForWhatFitsIntoAllBranches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		src := &endless{}
		branches := flow.From(src).Broadcast(2)
		r, err := flow.Join(
			branches[0].Buffer(1000, flow.Block, flow.Name("a")).ForEach(hang),
			branches[1].Buffer(1000, flow.Block, flow.Name("b")).ForEach(hang),
		).Start(ctx)
		must(t, err)
		synctest.Wait()
		a, b := edgeStats(t, r, "a"), edgeStats(t, r, "b")
		equal(t, "what is in hand of a", a.Out, 1)
		equal(t, "what is in hand of b", b.Out, 1)
		equal(t, "depth of a", a.Depth, 1000)
		equal(t, "depth of b", b.Depth, 1000)
		equal(t, "items taken from the source", src.next, 1001)
		stop()
		wantError(t, r.Wait(), context.Canceled)
	})
}

// T6: a timed batch whose consumer asks rarely. Two short batches leave by time; the demand that is then outstanding must
// neither go below zero nor bring more than a batch needs. Here a batch asks its edge for the rest of the batch only,
// and only while it is asked itself.
func TestT6ShortBatchesByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := make(chan int)
		defer close(in)
		got := newSeen[string]()
		r := start(t, flow.FromChan(in).
			Batch(10, 50*time.Millisecond).
			Map(func(b []int) string { return brief(b) }).
			ForEach(func(ctx context.Context, s string) error {
				time.Sleep(100 * time.Millisecond)
				return got.each(ctx, s)
			}))
		in <- 1
		in <- 2
		time.Sleep(60 * time.Millisecond) // the first batch is at the sink, which does not ask
		in <- 3
		time.Sleep(300 * time.Millisecond)
		equalSlices(t, "batches", got.values(), []string{"[1 2]", "[3]"})
		for i := range 12 {
			in <- i
		}
		time.Sleep(time.Second)
		equalSlices(t, "batches", got.values()[2:], []string{"[0 1 2 3 4 5 6 7 8 9]", "[10 11]"})
		stopped(t, r)
	})
}

// T7: demand that is as large as it can be. Demand is the length of a slice here, so there is nothing to add up and nothing
// that could overflow; what comes nearest are bounds as large as they can be and eight goroutines that offer at the same
// time. A capacity that sums of capacities could overflow is refused.
func TestT7BoundsAsLargeAsTheyCanBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 1<<31 - 1
		in := flow.NewInlet(flow.Edge[int]{
			Capacity: most, MaxWeight: 1<<63 - 1, Weight: func(int) int64 { return 1 << 59 },
		})
		got := newSeen[int]()
		r := start(t, in.Flow().Buffer(most, flow.Block).Batch(most, 0).ForEach(func(ctx context.Context, b []int) error {
			for _, v := range b {
				must(t, got.each(ctx, v))
			}
			return nil
		}))
		var offers sync.WaitGroup
		for g := range 8 {
			offers.Go(func() {
				for i := range 100 {
					if _, err := in.Put(t.Context(), 100*g+i); err != nil {
						t.Errorf("Put() = %v, want no error", err)
					}
				}
			})
		}
		offers.Wait()
		in.Close()
		must(t, r.Wait())
		vs := got.values()
		slices.Sort(vs)
		equalSlices(t, "items", vs, ints(800))
	})
	if err := flow.FromSlice(ints(1)).Buffer(1<<31, flow.Block).To(stage.Discard[int]()).Check(); err == nil {
		t.Fatal("a capacity of 2^31 was accepted")
	}
}

// T8: a FlatMap with slices of one element in front of an edge of 8. Each pull must ask for no more than fits, and all pulls
// together for no more than was delivered and one window: no doubling.
func TestT8FlatMapDoesNotDoubleTheDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const window = 8
		var mu sync.Mutex
		asked, delivered := 0, 0
		rest := 1000
		src := stage.SourceFunc(func(_ context.Context, dst []int) (int, error) {
			synctest.Wait() // the sink is asleep
			mu.Lock()
			defer mu.Unlock()
			if len(dst) > window {
				t.Errorf("a pull asks for %d, want at most %d", len(dst), window)
			}
			if asked+len(dst) > delivered+window+1 { // and what the sink has in hand
				t.Errorf("asked for %d in all after %d were delivered", asked+len(dst), delivered)
			}
			if rest == 0 {
				return 0, stage.ErrEnd
			}
			n := min(len(dst), rest)
			asked += n
			rest -= n
			return n, nil
		})
		must(t, flow.From(src).
			FlatMap(func(i int) []int { return []int{i} }).
			Buffer(window, flow.Block).
			ForEach(func(context.Context, int) error {
				time.Sleep(time.Millisecond)
				mu.Lock()
				defer mu.Unlock()
				delivered++
				return nil
			}).Run(t.Context()))
		equal(t, "delivered", delivered, 1000)
	})
}
