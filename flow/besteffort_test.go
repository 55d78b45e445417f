package flow_test

import (
	"context"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// T33: branch A must be done with a message, branch B drops and fails. Neither slows A, and neither holds the acknowledgement, which
// comes when A is done.
func TestT33BestEffortBranch(t *testing.T) {
	fails := func(ctx context.Context, _ int) error {
		_ = nap(ctx, time.Minute)
		return errA
	}
	for name, b := range map[string]func(flow.Flow[int]) flow.Pipeline{
		"an edge behind it": func(f flow.Flow[int]) flow.Pipeline {
			return f.BestEffort().Buffer(1, flow.DropNewest, flow.Name("b")).ForEach(fails, flow.OnError(flow.Skip))
		},
		"an edge in front of it": func(f flow.Flow[int]) flow.Pipeline {
			return f.Buffer(1, flow.DropNewest, flow.Name("b"), flow.SettleDropped(flow.Ack)).BestEffort().
				Buffer(1, flow.DropOldest).ForEach(fails, flow.OnError(flow.Skip))
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			in := flow.NewInlet(flow.Edge[int]{Name: "orders", Capacity: 10})
			bs := in.Flow().Broadcast(2)
			r := start(t, flow.Join(
				bs[0].ForEach(func(ctx context.Context, _ int) error { return nap(ctx, time.Second) }),
				b(bs[1]),
			))
			for i := range 20 {
				began := time.Now()
				must(t, in.Do(t.Context(), i))
				equal(t, "time until the acknowledgement", time.Since(began), time.Second)
			}
			in.Close()
			must(t, r.Wait())
			if r.Report().Dropped < 10 || r.Report().Skipped < 1 {
				t.Fatalf("report %+v, want B to have dropped and failed", r.Report())
			}
		})
	}
}

// Only its own share is let go: what fails in the other branch comes again.
func TestBestEffortLetsGoOfItsOwnShare(t *testing.T) {
	inBubble(t, "the other branch fails", func(t *testing.T) {
		b := newBroker(3)
		bs := flow.FromItems(b).Broadcast(2)
		err := flow.Join(discard(bs[0].TryMap(failAt(1, errA))), discard(bs[1].BestEffort())).Run(t.Context())
		wantError(t, err, errA)
		b.once(t)
		wantError(t, b.outcome(t, 1).Err, errA)
	})
}

// In the chain itself it makes of at least once at most once; metadata stays, and an edge need not say how dropped items end.
func TestBestEffortInTheChain(t *testing.T) {
	inBubble(t, "all hang behind it", func(t *testing.T) {
		b := newBroker(20)
		b.stays = true
		r := start(t, flow.FromItems(b).BestEffort().Buffer(5, flow.DropOldest).ForEach(hang))
		time.Sleep(time.Second)
		equalSlices(t, "acknowledged", b.kind(stage.Done), ints(20))
		stopped(t, r)
		b.once(t)
	})
	inBubble(t, "metadata", func(t *testing.T) {
		var sink metas[int]
		b := newBroker(5)
		must(t, flow.FromItems(b).BestEffort().ToItems(&sink).Run(t.Context()))
		equal(t, "ID", sink.metas[4].ID, "4")
		b.once(t)
	})
	inBubble(t, "plain values", func(t *testing.T) {
		got, err := flow.FromSlice(ints(5)).BestEffort().Collect(t.Context(), 10)
		must(t, err)
		equalSlices(t, "values", got, ints(5))
	})
}
