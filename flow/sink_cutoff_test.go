package flow_test

import (
	"context"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// A sink that stores some of a push before it is cut off says so: that part is done, and does not come again.
func TestWhatASinkHadStoredWhenItWasCutOffIsDone(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		b := newBroker(10)
		sink := stage.SinkFunc[int](func(ctx context.Context, vs []int) error {
			<-ctx.Done()
			var bad stage.BatchError
			for i := 4; i < len(vs); i++ {
				bad.Add(i, context.Cause(ctx))
			}
			return bad.OrNil()
		})
		r := start(t, flow.FromItems(b).To(sink, flow.Gather(10, 0)))
		time.Sleep(time.Second)
		stopped(t, r)
		b.once(t)
		equalSlices(t, "done", b.kind(stage.Done), []int{0, 1, 2, 3})
		for i := 4; i < 10; i++ {
			equal(t, "given back", b.outcome(t, i).GivenBack, true)
		}
	})
}
