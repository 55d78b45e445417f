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

func TestSplitAsASequence(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		vs := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 300).Draw(rt, "values")
		limit := rapid.IntRange(0, 10).Draw(rt, "limit")
		room := rapid.IntRange(1, 9)
		below := func(i int) bool { return i < limit }
		yes, no := flow.FromSlice(vs).Split(below)
		gotYes, gotNo := newSeen[int](), newSeen[int]()
		err := flow.Join(
			yes.Buffer(room.Draw(rt, "yes"), flow.Block).ForEach(gotYes.each),
			no.Buffer(room.Draw(rt, "no"), flow.Block).ForEach(gotNo.each),
		).Run(t.Context())
		if err != nil {
			rt.Fatalf("Run() = %v", err)
		}
		wantNo := slices.DeleteFunc(slices.Clone(vs), below)
		wantYes := slices.DeleteFunc(slices.Clone(vs), func(i int) bool { return !below(i) })
		if got := gotYes.values(); !slices.Equal(got, wantYes) {
			rt.Fatalf("yes = %v, want %v", got, wantYes)
		}
		if got := gotNo.values(); !slices.Equal(got, wantNo) {
			rt.Fatalf("no = %v, want %v", got, wantNo)
		}
	})
}

// T37: the even branch takes one value each 5 s and its edge has room for 2. An odd value passes when the even one in front of it
// has got room: the wait is bounded by that edge. The figures name the edge that is the cause.
func TestT37HeadOfLineWaitIsBoundedByTheEdge(t *testing.T) {
	inBubble(t, "a branch that blocks", func(t *testing.T) {
		odds := newSeen[int]()
		yes, no := flow.FromSlice(ints(20)).Split(even)
		r := start(t, flow.Join(
			yes.Buffer(2, flow.Block, flow.Name("even")).ForEach(func(ctx context.Context, _ int) error { return nap(ctx, 5*time.Second) }),
			no.Buffer(2, flow.Block, flow.Name("odd")).ForEach(odds.each),
		))
		must(t, r.Wait())
		want := make([]time.Duration, 10)
		for i := range want { // one even value in hand, two in the edge
			want[i] = time.Duration(max(0, i-2)) * 5 * time.Second
		}
		equalSlices(t, "times of the odd values", odds.times(), want)
		equal(t, "wait for the even edge", edgeStats(t, r, "even").Blocked, 7*5*time.Second)
		equal(t, "wait for the odd edge", edgeStats(t, r, "odd").Blocked, 0)
	})
	inBubble(t, "a branch that drops", func(t *testing.T) {
		odds := newSeen[int]()
		yes, no := flow.FromSlice(ints(20)).Split(even)
		r := start(t, flow.Join(
			yes.Buffer(2, flow.DropNewest, flow.Name("even")).ForEach(func(ctx context.Context, _ int) error { return nap(ctx, 5*time.Second) }),
			no.ForEach(odds.each),
		))
		must(t, r.Wait())
		equalSlices(t, "times of the odd values", odds.times(), make([]time.Duration, 10))
		if n := edgeStats(t, r, "even").Dropped.Total(); n < 7 || n > 8 { // the first may have been taken, or not
			t.Fatalf("%d values were dropped, want 7 or 8", n)
		}
	})
}

// A full branch costs the source no more than the one value that waits.
func TestSplitReadsOneValueMore(t *testing.T) {
	inBubble(t, "one branch hangs", func(t *testing.T) {
		src := &endless{}
		yes, no := flow.From(src).Split(func(i int) bool { return i >= 10 })
		r := start(t, flow.Join(yes.Buffer(5, flow.Block).ForEach(hang), no.Buffer(5, flow.Block).To(stage.Discard[int]())))
		time.Sleep(time.Minute)
		stopped(t, r)
		equal(t, "values read", src.next, 10+1+5+1) // passed, in hand, waiting, held
	})
}

// A branch that leaves early is done with all that would follow; the other one goes on.
func TestSplitBranchThatLeavesEarly(t *testing.T) {
	inBubble(t, "one of two", func(t *testing.T) {
		b := newBroker(300)
		got := newSeen[int]()
		yes, no := flow.FromItems(b).Split(even)
		must(t, flow.Join(
			yes.Buffer(4, flow.Block).Take(3).To(stage.Discard[int]()),
			no.Buffer(4, flow.Block).ForEach(func(ctx context.Context, i int) error {
				must(t, got.each(ctx, i))
				return nap(ctx, time.Millisecond)
			}),
		).Run(t.Context()))
		equal(t, "values of the other branch", len(got.values()), 150)
		b.once(t)
		equal(t, "acknowledged", len(b.kind(stage.Done)), 300)
	})
}
