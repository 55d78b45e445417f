package flow_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// A stop goes through a graph edge by edge, while workers end on their own. Three races of the two were lost once: a batch was
// handed on as if the stream had ended, a branch was done with what it held as if it had left, and the source was closed
// before everything was given back. Each is tried often.
func TestStopRaces(t *testing.T) {
	shapes := map[string]func(flow.Flow[int]) flow.Pipeline{
		"gather": func(f flow.Flow[int]) flow.Pipeline { return f.To(stage.Discard[int](), flow.Gather(1000, 0)) },
		"two edges": func(f flow.Flow[int]) flow.Pipeline {
			return f.Buffer(40, flow.Block).Batch(1000, 0).To(stage.Discard[[]int]())
		},
		"parallel": func(f flow.Flow[int]) flow.Pipeline {
			return f.Parallel(4, same).Batch(1000, 0).To(stage.Discard[[]int]())
		},
		"large edge":   func(f flow.Flow[int]) flow.Pipeline { return f.Buffer(500, flow.Block).ForEach(hang) },
		"merged again": func(f flow.Flow[int]) flow.Pipeline { return flow.Merge(f.Broadcast(3)...).ForEach(hang) },
		"branch, stuck": func(f flow.Flow[int]) flow.Pipeline {
			bs := f.Broadcast(2)
			return flow.Join(bs[0].Buffer(90, flow.Block).Map(twice).Buffer(90, flow.Block).ForEach(hang), bs[1].ForEach(hang))
		},
		"branch, batch": func(f flow.Flow[int]) flow.Pipeline {
			bs := f.Broadcast(2)
			return flow.Join(bs[0].Batch(1000, 0).To(stage.Discard[[]int]()), bs[1].Parallel(3, same).ForEach(hang))
		},
	}
	ends := map[string]func(r *flow.Run, cancel context.CancelFunc){
		"stop":   func(r *flow.Run, _ context.CancelFunc) { r.Stop() },
		"cancel": func(_ *flow.Run, cancel context.CancelFunc) { cancel() },
		"both":   func(r *flow.Run, cancel context.CancelFunc) { together(r.Stop, cancel) },
	}
	for name, shape := range shapes {
		for how, end := range ends {
			inBubble(t, name+", "+how, func(t *testing.T) {
				for i := range 60 {
					ctx, cancel := context.WithCancel(t.Context())
					b := &closingBroker{broker: newBroker(150)}
					b.stays = true
					r, err := shape(flow.FromItems(b)).Start(ctx)
					must(t, err)
					synctest.Wait()
					end(r, cancel)
					if err := r.Wait(); err == nil {
						t.Fatal("the run ended without an error")
					}
					cancel()
					b.once(t)
					equal(t, fmt.Sprint("run ", i, ": done"), len(b.kind(stage.Done)), 0)
					equal(t, fmt.Sprint("run ", i, ": settled when the source was closed"), b.atClose, b.next)
				}
			})
		}
	}
}

// slowSettler is a broker whose settling takes a while, which is against the rules: it holds up the stop that gives back what an
// edge held, while the workers end.
type slowSettler struct{ *broker }

func (s slowSettler) PullItems(ctx context.Context, dst []stage.Item[int]) (int, error) {
	items := make([]stage.Item[int], len(dst))
	n, err := s.broker.PullItems(ctx, items)
	for i, it := range items[:n] {
		dst[i] = stage.Claimed(it.Value, it.Meta(), s, uint64(it.Value))
	}
	return n, err
}

func (s slowSettler) Settle(token uint64, o stage.Outcome) {
	time.Sleep(time.Millisecond)
	s.broker.Settle(token, o)
}

// The same races, with a stop that is held up at the first edge, so that they are lost every time.
func TestStopIsNoEnd(t *testing.T) {
	heavy := func(i int) int64 { // the demand is estimated too high: an item waits in the producer's hand
		if i < 3 {
			return 1
		}
		return 10
	}
	shapes := map[string]func(flow.Flow[int]) flow.Pipeline{
		"gather": func(f flow.Flow[int]) flow.Pipeline { return f.To(stage.Discard[int](), flow.Gather(1000, 0)) },
		"batch":  func(f flow.Flow[int]) flow.Pipeline { return f.Map(twice).Batch(1000, 0).To(stage.Discard[[]int]()) },
		"branch": func(f flow.Flow[int]) flow.Pipeline {
			bs := f.Broadcast(2)
			return flow.Join(
				bs[0].ForEach(func(context.Context, int) error { return nil }),
				bs[1].Edge(flow.Edge[int]{Capacity: 100, MaxWeight: 10, Weight: heavy}).ForEach(hang),
			)
		},
	}
	for name, shape := range shapes {
		inBubble(t, name, func(t *testing.T) {
			slow := slowSettler{newBroker(100)}
			slow.stays = true
			b := newBroker(50)
			b.stays = true
			r := start(t, flow.Join(flow.FromItems(slow).Buffer(90, flow.Block).ForEach(hang), shape(flow.FromItems(b))))
			synctest.Wait()
			stopped(t, r)
			b.once(t)
			slow.once(t)
			equal(t, "done", len(b.kind(stage.Done)), 0)
			for _, i := range b.kind(stage.Failed) {
				wantError(t, b.outcome(t, i).Err, flow.ErrStopped)
			}
		})
	}
}
