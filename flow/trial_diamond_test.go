package flow_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// T10: a source of ten, copied; one copy to the left of a zip, the other without its first five to the right; small edges. It is
// refused, with the least capacity that does, and with that it completes. A Zip holds one item of its left while it waits
// for its right, so the same diamond the other way round needs one more.
func TestT10UnbalancedDiamond(t *testing.T) {
	graph := func(room int, swapped bool, got *seen[int]) flow.Pipeline {
		bs := flow.FromFunc(firstOf(10)).Broadcast(2)
		direct := bs[0].Buffer(room, flow.Block, flow.Name("direct"))
		behind := bs[1].Buffer(1, flow.Block).Skip(5).Buffer(1, flow.Block)
		if swapped {
			return behind.ZipWith(direct, func(a, b int) int { return b*100 + a }).ForEach(got.each)
		}
		return direct.ZipWith(behind, func(a, b int) int { return a*100 + b }).ForEach(got.each)
	}
	for _, swapped := range []bool{false, true} {
		least := 5
		if swapped {
			least = 6
		}
		for room := 1; room <= least+1; room++ {
			t.Run(fmt.Sprintf("edge of %d, swapped %v", room, swapped), func(t *testing.T) {
				got := newSeen[int]()
				err := graph(room, swapped, got).Check()
				still := standsStill(t, graph(room, swapped, got))
				if room < least {
					want := fmt.Sprintf(`which waits for room in another: edge "direct" needs %d, has %d (trial_diamond_test.go:`, least, room)
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("got %v, want %s", err, want)
					}
					equal(t, "stands still", still, true)
					return
				}
				must(t, err)
				equal(t, "stands still", still, false)
				equalSlices(t, "pairs", got.values(), []int{106, 207, 308, 409, 510})
			})
		}
	}
}

// firstOf counts from 1 to n.
func firstOf(n int) func(context.Context) (int, error) {
	i := 0
	return func(context.Context) (int, error) {
		if i == n {
			return 0, stage.ErrEnd
		}
		i++
		return i, nil
	}
}

// A batch that is flattened again holds back what the other branch must have room for.
func TestDiamondWithAFlattenedBatch(t *testing.T) {
	graph := func(direct int, swapped bool, got *seen[int]) flow.Pipeline {
		bs := flow.FromFunc(firstOf(64)).Broadcast(2)
		batched := bs[0].Buffer(2, flow.Block).Batch(8, 0).FlatMap(flatten).Buffer(2, flow.Block)
		short := bs[1].Buffer(direct, flow.Block, flow.Name("direct"))
		if swapped {
			batched, short = short, batched
		}
		return batched.ZipWith(short, total).Tap(alone).ForEach(got.each)
	}
	for swapped, least := range map[bool]int{true: 7, false: 8} {
		got := newSeen[int]()
		err := graph(2, swapped, got).Check()
		if want := fmt.Sprintf(`edge "direct" needs %d, has 2`, least); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		equal(t, "stands still with one less", standsStill(t, graph(least-1, swapped, got)), true)
		got = newSeen[int]()
		must(t, graph(least, swapped, got).Check())
		equal(t, "stands still", standsStill(t, graph(least, swapped, got)), false)
		equal(t, "items", len(got.values()), 64)
	}
}
