package flow_test

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// Two tenants share batches, and an item of one makes every push fail that it is in. Right: the push is halved until that item is alone.
// Nothing of the other tenant is handed back or called failed, and nothing else of the first: each other message is done, once.
func TestABadItemHandsBackNothingOfOtherTenants(t *testing.T) {
	decisions := map[string]struct {
		option flow.ErrOption
		kind   stage.OutcomeKind // of the bad item
	}{
		"skip":         {flow.OnError(flow.Skip), stage.Done},
		"dead letter":  {flow.OnError(flow.DeadLetter(stage.Discard[stage.DeadLetter]())), stage.Done},
		"redeliver":    {flow.OnError(flow.Redeliver), stage.Failed},
		"retry, after": {flow.OnError(flow.Retry(2, every(0)), flow.Redeliver), stage.Failed},
	}
	for name, d := range decisions {
		for bad := range 8 {
			inBubble(t, name+" "+strconv.Itoa(bad), func(t *testing.T) {
				b := newBroker(8)
				b.meta = func(i int) stage.Meta { return stage.Meta{ID: strconv.Itoa(i), Key: []string{"good", "evil"}[i%2]} }
				stored := map[int]int{}
				store := func(_ context.Context, is []int) error {
					if slices.Contains(is, bad) {
						return errA
					}
					for _, i := range is {
						stored[i]++
					}
					return nil
				}
				must(t, flow.FromItems(b).ForEachBatch(8, 0, store, d.option).Run(t.Context()))
				b.once(t)
				for i := range 8 {
					o := b.outcome(t, i)
					if i == bad && o.Kind != d.kind {
						t.Errorf("the bad message ended as %v, want %v", o.Kind, d.kind)
					}
					if i != bad && (o.Kind != stage.Done || stored[i] != 1) {
						t.Errorf("message %d ended as %v and was stored %d times, want it done once", i, o.Kind, stored[i])
					}
				}
			})
		}
	}
}
