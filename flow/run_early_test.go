package flow_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// A hub's run may end while one of its members is being built: that run does not exist yet, and is to end as it begins.
func TestAHubThatFailsWhileAMemberIsBuilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := flow.NewBroadcastHub[int](1, 8)
		r := start(t, flow.From(stage.SourceFunc(blocked)).ToHub(hub))
		f, _ := attach(t, hub, flow.Edge[int]{Capacity: 8})
		slow := flow.Open(func(context.Context) (stage.Source[int], error) {
			stopped(t, r)
			return stage.SourceFunc(blocked), nil
		})
		err := flow.Merge(f, slow).ForEach(hang).Run(t.Context())
		wantError(t, err, flow.ErrStopped)
	})
}

// So may an inlet's hook fail that is told of a dropped item.
func TestAnInletThatFailsWhileItsRunIsBuilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := flow.NewInlet(flow.Edge[int]{Capacity: 1, OnFull: flow.DropNewest, Dropped: func(int, flow.DropReason) { panic(errThrown) }})
		slow := flow.Open(func(context.Context) (stage.Source[int], error) {
			_, _ = in.Offer(t.Context(), 1)
			_, err := in.Offer(t.Context(), 2)
			if !errors.Is(err, flow.ErrDropped) {
				t.Errorf("Offer() = %v, want ErrDropped", err)
			}
			return stage.SourceFunc(blocked), nil
		})
		wantError(t, flow.Merge(in.Flow(), slow).ForEach(hang).Run(t.Context()), errThrown)
	})
}
