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
	crew := func(opts ...flow.ParallelOption) shape {
		return func(f intFlow) intFlow { return f.Parallel(4, slow, opts...) }
	}
	lanes := func(f intFlow) intFlow { return f.ParallelByKey(4, func(i int) int { return i }, slow) }
	batches := func(n int) shape { return func(f intFlow) intFlow { return f.Batch(n, 0).FlatMap(flatten) } }
	holding := func(n int) shape {
		return func(f intFlow) intFlow { return f.Buffer(n, flow.Block, flow.Name("direct")) }
	}
	both := func(a, b shape) shape { return func(f intFlow) intFlow { return b(a(f)) } }
	tests := []struct {
		a, b shape
		want string // of the finding; "" where there is none
	}{
		{both(crew(), batches(100)), holding(100), ""},
		{both(crew(), batches(100)), holding(99), `edge "direct" needs 100, has 99 `},
		{both(crew(flow.Unordered), batches(100)), holding(99), `edge "direct" needs 100, has 99 `},
		{both(lanes, batches(100)), holding(100), ""},
		{both(lanes, batches(100)), holding(99), `edge "direct" needs 100, has 99 `},
		{batches(64 + 16 + 64), crew(), ""},
		{batches(64 + 16 + 64 + 1), crew(), `edge "parallel#5.in" needs 65, has 64: write Buffer\(65, flow.Block\) there`},
		{batches(64 + 4 + 64), crew(flow.Unordered), ""},
		{batches(64 + 4 + 64 + 1), crew(flow.Unordered), `edge "parallel#5.in" needs 65, has 64`},
		{batches(200), lanes, ""}, // with luck
		{batches(600), lanes, `edge "broadcast#2.2.out" needs 472, has 64`},
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
