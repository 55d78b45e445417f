package flow_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

func TestBalanceAsASet(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(rt, "n")
		count := rapid.IntRange(0, 300).Draw(rt, "count")
		f := flow.FromSlice(ints(count))
		if room := rapid.IntRange(0, 5).Draw(rt, "room"); room > 0 {
			f = f.Buffer(room, flow.Block)
		}
		got := make([]*seen[int], n)
		ps := make([]flow.Pipeline, n)
		for i, branch := range f.Balance(n) {
			got[i] = newSeen[int]()
			ps[i] = branch.ForEach(got[i].each)
		}
		if err := flow.Join(ps...).Run(t.Context()); err != nil {
			rt.Fatalf("Run() = %v", err)
		}
		var all []int
		for i, s := range got {
			if !slices.IsSorted(s.values()) {
				rt.Fatalf("branch %d = %v, want the order of the input", i, s.values())
			}
			all = append(all, s.values()...)
		}
		slices.Sort(all)
		if !slices.Equal(all, ints(count)) {
			rt.Fatalf("all branches = %v, want each of %d values once", all, count)
		}
	})
}

// A slow branch gets what it has time for, and holds back nothing.
func TestBalanceGivesToWhoeverIsFree(t *testing.T) {
	inBubble(t, "10 s and 1 s", func(t *testing.T) {
		slow, fast := newSeen[int](), newSeen[int]()
		work := func(s *seen[int], d time.Duration) func(context.Context, int) error {
			return func(ctx context.Context, i int) error {
				must(t, s.each(ctx, i))
				return nap(ctx, d)
			}
		}
		bs := flow.FromSlice(ints(110)).Balance(2)
		began := time.Now()
		must(t, flow.Join(bs[0].ForEach(work(slow, 10*time.Second)), bs[1].ForEach(work(fast, time.Second))).Run(t.Context()))
		if n := len(slow.values()); n < 10 || n > 11 {
			t.Fatalf("the slow branch got %d values, want 10 or 11 of 110", n)
		}
		if d := time.Since(began); d < 100*time.Second || d > 110*time.Second {
			t.Fatalf("it took %v, want 100 to 110 s", d)
		}
	})
	inBubble(t, "one hangs", func(t *testing.T) {
		got := newSeen[int]()
		bs := flow.FromSlice(ints(500)).Balance(2)
		r := start(t, flow.Join(bs[0].ForEach(hang), bs[1].ForEach(got.each)))
		time.Sleep(time.Second)
		if n := len(got.values()); n < 499 {
			t.Fatalf("the free branch got %d values, want all but the one that the other has in hand", n)
		}
		stopped(t, r)
	})
}

// The edge that the user wrote in front is the one that the branches share.
func TestBalanceUsesTheEdgeInFront(t *testing.T) {
	bs := flow.FromSlice(ints(10)).Buffer(7, flow.Block, flow.Name("work")).Balance(2)
	g := flow.Join(discard(bs[0]), discard(bs[1])).Graph()
	equal(t, "edges", len(g.Edges), 1)
	equal(t, "name", g.Edges[0].Name, "work")
	equal(t, "goroutines", g.Goroutines, 3)
}

// What a branch holds when it leaves early is given back, for no other branch has it; what it would have got goes to the others.
func TestBalanceBranchThatLeavesEarly(t *testing.T) {
	inBubble(t, "without an edge it holds nothing", func(t *testing.T) {
		b := newBroker(300)
		got := newSeen[int]()
		bs := flow.FromItems(b).Balance(2)
		must(t, flow.Join(bs[0].Take(3).To(stage.Discard[int]()), bs[1].ForEach(got.each)).Run(t.Context()))
		b.once(t)
		equal(t, "acknowledged", len(b.kind(stage.Done)), 300)
		if n := len(got.values()); n < 297 {
			t.Fatalf("the other branch got %d values, want at least 297", n)
		}
	})
	inBubble(t, "with an edge", func(t *testing.T) {
		b := newBroker(60)
		second := func(ctx context.Context, _ int) error { return nap(ctx, time.Second) }
		bs := flow.FromItems(b).Balance(2)
		must(t, flow.Join(
			bs[0].Buffer(10, flow.Block).Take(3).ForEach(second),
			bs[1].ForEach(second),
		).Run(t.Context()))
		b.once(t)
		if n := len(b.kind(stage.Failed)); n < 1 || n > 10+16 {
			t.Fatalf("%d messages were given back, want what was in the edge", n)
		}
	})
}
