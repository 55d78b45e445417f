package flow_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// A stage that should hand on every order keeps them all, so that the other branch is full and no pair ever comes about.
func ExamplePipeline_OnDeadlock() {
	copies := flow.FromSlice(make([]int, 1000)).Broadcast(2, flow.Name("copies"))
	audited := copies[0].Via(stage.StageFunc(func(ctx context.Context, in *stage.In[int], _ *stage.Out[int]) error {
		for _, err := range in.All(ctx) {
			if err != nil {
				return err
			}
		}
		return nil
	}), flow.Name("audit"))
	direct := copies[1].Buffer(10, flow.Block, flow.Name("direct"))
	pairs := audited.ZipWith(direct, func(a, b int) int { return a + b }, flow.Name("pairs"))

	p := pairs.To(stage.Discard[int]()).OnDeadlock(flow.DeadlockConfig{Interval: time.Millisecond})
	if e, ok := errors.AsType[*flow.DeadlockError](p.Run(context.Background())); ok {
		for _, h := range e.Hops {
			fmt.Println(h.Stage, "waits", h.Waits, h.Edge)
		}
	}
	// Output:
	// copies waits to write direct
	// pairs waits to read pairs.in.1
	// audit waits to read audit.in
}
