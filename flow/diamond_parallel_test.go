package flow_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
)

// Workers in a diamond hold some items, and a batch behind them needs what is in front of them. The numbers are those with which the
// engine goes on and stands still where the function takes its time.
func TestWorkersInADiamond(t *testing.T) {
	slow := func(ctx context.Context, i int) (int, error) { return i, nap(ctx, time.Second) }
	crew := func(n int, opts ...flow.ParallelOption) shape {
		return func(f intFlow) intFlow { return f.Parallel(n, slow, opts...) }
	}
	lanes := func(f intFlow) intFlow { return f.ParallelByKey(4, func(i int) int { return i }, slow) }
	oneLane := func(f intFlow) intFlow { return f.ParallelByKey(4, func(int) int { return 7 }, slow) }
	onlyLane := func(f intFlow) intFlow { return f.ParallelByKey(1, func(i int) int { return i }, slow) }
	batches := func(n int) shape { return func(f intFlow) intFlow { return f.Batch(n, 0).FlatMap(flatten) } }
	holding := func(n int) shape {
		return func(f intFlow) intFlow { return f.Buffer(n, flow.Block, flow.Name("direct")) }
	}
	both := func(a, b shape) shape { return func(f intFlow) intFlow { return b(a(f)) } }
	tests := []struct {
		a, b shape
		want string // of the finding; "" where there is none
	}{
		{both(crew(4), batches(100)), holding(100), ""},
		{both(crew(4), batches(100)), holding(99), `edge "direct" needs 100, has 99 `},
		{both(crew(4, flow.Unordered), batches(100)), holding(99), `edge "direct" needs 100, has 99 `},
		{both(lanes, batches(100)), holding(100), ""},
		{both(lanes, batches(100)), holding(99), `edge "direct" needs 100, has 99 `},
		{batches(64 + 16 + 64), crew(4), ""},
		{batches(64 + 16 + 64 + 1), crew(4), `edge "parallel#5.in" needs 65, has 64: write Buffer\(65, flow.Block\) there`},
		{batches(64 + 8 + 64), crew(2), ""},
		{batches(64 + 8 + 64 + 1), crew(2), `edge "parallel#5.in" needs 65, has 64`},
		{batches(64 + 1 + 64), crew(1), ""},
		{batches(64 + 1 + 64 + 1), crew(1), `edge "parallel#5.in" needs 65, has 64`},
		{batches(64 + 4 + 64), crew(4, flow.Unordered), ""},
		{batches(64 + 4 + 64 + 1), crew(4, flow.Unordered), `edge "parallel#5.in" needs 65, has 64`},
		{batches(64 + 64), crew(1, flow.Unordered), ""},
		{batches(64 + 64 + 1), crew(1, flow.Unordered), `edge "parallel#5.in" needs 65, has 64`},
		{batches(200), lanes, ""}, // with luck
		{batches(600), lanes, `edge "broadcast#2.2.out" needs 470, has 64`},
		{batches(64 + 1 + 64 + 1 + 64), oneLane, ""},
		{batches(64 + 1 + 64 + 64), onlyLane, ""},
		{batches(64 + 1 + 64 + 64 + 1), onlyLane, `edge "broadcast#2.2.out" needs 65, has 64`},
	}
	for i, c := range tests {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			p := func() flow.Pipeline { return discard(two(c.a, c.b, zipped)(unending()).Take(1500)) }
			if c.want == "" {
				must(t, p().Check())
			} else {
				wantText(t, p().Check(), c.want)
			}
			if still := standsStill(t, p()); still != (c.want != "") {
				t.Errorf("stands still: %v, want %v", still, c.want != "")
			}
		})
	}
}

// With a single key the lanes hold least: the edges in front and behind, those of one lane, an item that the router has pulled for it, and
// one in the hands of its worker. A single worker takes none before there is room.
func TestLanesOfASingleKey(t *testing.T) {
	work := func(_ context.Context, i int) (int, error) { alone(i); return i, nil }
	for n := 1; n <= 4; n++ {
		lanes := func(f intFlow) intFlow {
			return f.Buffer(2, flow.Block).ParallelByKey(n, func(int) int { return 7 }, work).Buffer(3, flow.Block)
		}
		holds := 2 + 1 + flow.DefaultCapacity + min(n-1, 1) + 3
		for _, ahead := range []int{holds, holds + 1} {
			p := func() flow.Pipeline {
				return discard(two(lanes, func(f intFlow) intFlow { return f.Skip(ahead) }, zipped)(unending()).Tap(alone).Take(500))
			}
			if still := standsStill(t, p()); still != (ahead > holds) {
				t.Errorf("%d workers, %d ahead: stands still: %v", n, ahead, still)
			}
			if still := len(flow.ModelKnots(p(), false)) > 0; still != (ahead > holds) {
				t.Errorf("%d workers, %d ahead: the model stands still: %v", n, ahead, still)
			}
		}
	}
}
