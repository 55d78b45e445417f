package flow_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// Try: edges that can drop behind a stage that is NonIdempotent, wherever in the graph. Right: refused at build time, with both names;
// edges in front of it, edges that can't drop, and edges behind BestEffort are not.
func TestNoEdgeDropsBehindAnEffect(t *testing.T) {
	effect := func(f flow.Flow[int]) flow.Flow[int] { return f.TryMap(same, flow.Name("charge"), flow.NonIdempotent) }
	newest := func(f flow.Flow[int]) flow.Flow[int] {
		return f.Buffer(4, flow.DropNewest, flow.Name("lossy"), flow.SettleDropped(flow.Nak(0)))
	}
	discarded := func(f flow.Flow[int]) flow.Pipeline { return f.To(stage.Discard[int]()) }
	src := func() flow.Flow[int] { return flow.FromItems(newBroker(1)) }
	tests := []struct {
		name    string
		refused bool
		p       flow.Pipeline
	}{
		{"directly behind", true, discarded(newest(effect(src())))},
		{"with MaxWait", true, discarded(effect(src()).Edge(flow.Edge[int]{Name: "lossy", Capacity: 1, MaxWait: time.Second, SettleDropped: flow.Ack}))},
		{"behind other steps", true, discarded(newest(effect(src()).Map(twice).Buffer(3, flow.Block).Filter(even)))},
		{"without claims", true, discarded(newest(effect(flow.FromSlice(ints(1)))))},
		{"behind a merge", true, discarded(newest(flow.Merge(src(), effect(src()))))},
		{"behind a zip", true, discarded(newest(src().ZipWith(effect(src()), func(a, b int) int { return a + b })))},
		{"in a branch", true, discarded(effect(src()).Tee(func(f flow.Flow[int]) flow.Pipeline { return discarded(newest(f)) }))},
		{"behind a Parallel", true, discarded(newest(src().Parallel(2, same, flow.Name("charge"), flow.NonIdempotent)))},
		{"behind a ParallelByKey", true, discarded(newest(src().ParallelByKey(2, twice, same, flow.Name("charge"), flow.NonIdempotent)))},
		{"in front", false, discarded(effect(newest(src())))},
		{"blocking", false, discarded(effect(src()).Buffer(1, flow.Block))},
		{"behind BestEffort", false, discarded(newest(effect(src()).BestEffort()))},
		{"not marked", false, discarded(newest(src().TryMap(same)))},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			err := c.p.Check()
			if !c.refused {
				must(t, err)
				return
			}
			if err == nil || !strings.Contains(err.Error(), "lossy") || !strings.Contains(err.Error(), "charge, which is NonIdempotent") {
				t.Fatalf("Check() = %v, want a refusal that names lossy and charge", err)
			}
		})
	}
}

// Try: Retry on a stage that is NonIdempotent. Right: refused at build time, also inside If; Skip is not.
func TestAnEffectIsNotRetried(t *testing.T) {
	again := flow.Retry(1, every(time.Second))
	f := func() flow.Flow[int] { return flow.FromSlice(ints(1)) }
	each := func(context.Context, int) error { return nil }
	for name, p := range map[string]flow.Pipeline{
		"trymap":   f().TryMap(same, flow.OnError(again), flow.NonIdempotent).To(stage.Discard[int]()),
		"parallel": f().Parallel(2, same, flow.NonIdempotent, flow.OnError(flow.If(isA, again))).To(stage.Discard[int]()),
		"foreach":  f().ForEach(each, flow.NonIdempotent, flow.OnError(again)),
		"to":       f().To(stage.Discard[int](), flow.NonIdempotent, flow.OnError(flow.Skip, again)),
	} {
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), "Retry would repeat the effect") {
			t.Errorf("%s: Check() = %v, want that Retry is refused", name, err)
		}
	}
	must(t, f().ForEach(each, flow.NonIdempotent, flow.OnError(flow.Skip)).Check())
}

func isA(err error) bool { return err != nil }

// Try: a push of four to a sink that is NonIdempotent, which fails as a whole, with Skip. Right: it is not repeated in halves; a
// *BatchError is still handled item by item.
func TestAnEffectOfAPushIsNotRepeatedInParts(t *testing.T) {
	inBubble(t, "as a whole", func(t *testing.T) {
		b := newBroker(4)
		pushes := 0
		sink := stage.SinkFunc(func(context.Context, []int) error { pushes++; return errA })
		wantError(t, flow.FromItems(b).To(sink, flow.Gather(4, 0), flow.NonIdempotent, flow.OnError(flow.Skip)).Run(t.Context()), errA)
		equal(t, "pushes", pushes, 1)
		equalSlices(t, "failed", b.kind(stage.Failed), ints(4))
	})
	inBubble(t, "in part", func(t *testing.T) {
		b := newBroker(4)
		sink := stage.SinkFunc(partly)
		must(t, flow.FromItems(b).To(sink, flow.Gather(4, 0), flow.NonIdempotent, flow.OnError(flow.Skip)).Run(t.Context()))
		equalSlices(t, "done", b.kind(stage.Done), ints(4))
	})
}

// Try: edges that can drop in the run of a hub's member, in whatever order the two runs begin. Right: refused where the second one is
// built, with both names, as they are behind the stage in one pipeline; not behind BestEffort.
func TestNoEdgeOfAHubDropsBehindAnEffect(t *testing.T) {
	plain := func(f flow.Flow[int]) flow.Flow[int] { return f }
	deeper := func(f flow.Flow[int]) flow.Flow[int] {
		return f.Map(twice).Buffer(4, flow.DropNewest, flow.Name("lossy"), flow.SettleDropped(flow.Ack))
	}
	grouped := func(f flow.Flow[int]) flow.Flow[int] {
		lossy := flow.Groups[int]{Lane: flow.Edge[int]{OnFull: flow.DropNewest, SettleDropped: flow.Ack}}
		return f.GroupBy(lossy, twice, func(int) stage.Stage[int, int] { return onePasses(-1, nil) }, flow.Name("lossy"))
	}
	safe := flow.Edge[int]{Name: "member", Capacity: 4}
	lossy := flow.Edge[int]{Name: "lossy", Capacity: 4, OnFull: flow.DropOldest, SettleDropped: flow.Ack}
	for name, c := range map[string]struct {
		edge    flow.Edge[int]
		behind  func(flow.Flow[int]) flow.Flow[int]
		refused bool
	}{
		"its own":           {lossy, plain, true},
		"one behind it":     {safe, deeper, true},
		"that of groups":    {safe, grouped, true},
		"none":              {safe, plain, false},
		"behind BestEffort": {safe, func(f flow.Flow[int]) flow.Flow[int] { return deeper(f.BestEffort()) }, false},
	} {
		for _, memberFirst := range []bool{true, false} {
			inBubble(t, fmt.Sprint(name, ", member first: ", memberFirst), func(t *testing.T) {
				hub := flow.NewBroadcastHub[int](2, 16)
				feed := func() error {
					r, err := flow.FromItems(&broker{total: 1, stays: true, settled: map[int][]stage.Outcome{}}).
						TryMap(same, flow.Name("charge"), flow.NonIdempotent).ToHub(hub).Start(t.Context())
					stopAtEnd(t, r)
					return err
				}
				member := func() error {
					f, leave, err := hub.Attach(c.edge)
					if err != nil {
						return err
					}
					t.Cleanup(leave)
					r, err := c.behind(f).To(stage.Discard[int]()).Start(t.Context())
					stopAtEnd(t, r)
					return err
				}
				first, second := feed, member
				if memberFirst {
					first, second = member, feed
				}
				must(t, first())
				err := second()
				if !c.refused {
					must(t, err)
					return
				}
				if err == nil || !strings.Contains(err.Error(), "behind charge, which is NonIdempotent") {
					t.Fatalf("the second run starts with %v, want a refusal that names charge", err)
				}
				if memberFirst && !strings.Contains(err.Error(), "lossy") {
					t.Errorf("got %v, want the name of the edge", err)
				}
			})
		}
	}
}

// stopAtEnd stops a run that has started behind the test.
func stopAtEnd(t *testing.T, r *flow.Run) {
	t.Helper()
	if r != nil {
		t.Cleanup(func() { r.Stop(); _ = r.Wait() })
	}
}
