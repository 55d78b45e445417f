package flow_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// Try: an item that a custom stage emits, when the weight function of the edge behind it ends the goroutine. Right: the message is
// settled, once, as failed.
func TestAnItemEmittedIntoAnEdgeThatEndsTheGoroutineIsGivenBack(t *testing.T) {
	b := newBroker(3)
	pass := stage.StageFunc(func(ctx context.Context, in *stage.In[int], out *stage.Out[int]) error {
		for it, err := range in.All(ctx) {
			if err != nil {
				return err
			}
			if err := out.Emit(ctx, it); err != nil {
				return err
			}
		}
		return nil
	})
	err := flow.FromItems(b).Via(pass).
		Edge(flow.Edge[int]{Name: "heavy", Capacity: 4, MaxWeight: 4, Weight: func(int) int64 {
			runtime.Goexit()
			return 1
		}}).
		ForEach(hang).Run(t.Context())
	wantError(t, err, stage.ErrGoexit)
	b.once(t)
	equal(t, "outcome of the message", b.outcome(t, 0).Kind, stage.Failed)
}
