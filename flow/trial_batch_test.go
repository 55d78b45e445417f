package flow_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// T14: many idle producers must not hold room that one with an item needs: behind a Merge each pulls first and then waits for room.
func TestT14IdleProducersReserveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flows := []flow.Flow[int]{flow.From(then(ints(100)...))}
		for range 50 {
			flows = append(flows, flow.From(stage.SourceFunc(blocked)))
		}
		got := newSeen[int]()
		r := start(t, flow.Merge(flows...).Buffer(4, flow.Block).ForEach(got.each))
		synctest.Wait()
		equalSlices(t, "items", got.values(), ints(100))
		stopped(t, r)
	})
}

// T15: more failing items in a row than a Parallel has workers, with Skip. Each gives its place back, ordered and unordered, whether
// the function fails at once or later, by error, panic or Goexit.
func TestT15FailedItemsFreeTheirPlaces(t *testing.T) {
	failures := append(troubles(), trouble{name: "error"})
	for _, fail := range failures {
		for _, wait := range []time.Duration{0, time.Millisecond} {
			fn := func(_ context.Context, i int) (int, error) {
				time.Sleep(wait)
				if i < 50 {
					if fail.do != nil {
						fail.do()
					}
					return 0, errors.New("bad")
				}
				return i, nil
			}
			for name, opts := range map[string][]flow.ParallelOption{
				"ordered": {flow.OnError(flow.Skip)}, "unordered": {flow.OnError(flow.Skip), flow.Unordered},
			} {
				inBubble(t, fail.name+" "+name+" "+wait.String(), func(t *testing.T) {
					got := newSeen[int]()
					r := start(t, flow.FromSlice(ints(150)).Parallel(2, fn, opts...).ForEach(got.each))
					must(t, r.Wait())
					equal(t, "items that passed", len(got.values()), 100)
					equal(t, "skipped", r.Report().Skipped, 50)
					if name == "ordered" {
						equalSlices(t, "order", got.values(), ints(150)[50:])
					}
				})
			}
		}
	}
}

// T38: a batch of 1,000 behind an edge of 100. Where the edge gives room back only when an item is settled that is a deadlock;
// here the batch takes items out of the edge, so it fills. (Messages that a broker hands out only up to a limit of
// unacknowledged ones are another matter, for the check of the broker's limits.)
func TestT38BatchLargerThanTheEdgeBeforeIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(3500)
		var sizes []int
		must(t, flow.FromItems(b).Buffer(100, flow.Block).Batch(1000, 0).ForEach(func(_ context.Context, vs []int) error {
			sizes = append(sizes, len(vs))
			return nil
		}).Run(t.Context()))
		equalSlices(t, "batches", sizes, []int{1000, 1000, 1000, 500})
		b.once(t)
		equal(t, "acknowledged", len(b.kind(stage.Done)), 3500)
	})
}

// T40: a timed batch whose consumer does not ask. The timer must not emit without demand: batches stay whole, the batch and its
// edge fill and the source stands still, and nothing fails.
func TestT40TimedBatchWithoutDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &endless{}
		var sizes []int
		first := make(chan struct{})
		r := start(t, flow.From(src).
			Buffer(20, flow.Block, flow.Name("before")).
			Batch(10, time.Second).
			Buffer(1, flow.Block, flow.Name("after")).
			ForEach(func(_ context.Context, vs []int) error {
				sizes = append(sizes, len(vs))
				<-first
				return nil
			}))
		time.Sleep(time.Hour)
		synctest.Wait()
		equalSlices(t, "batches at the sink", sizes, []int{10})
		equal(t, "batches waiting", edgeStats(t, r, "after").Depth, 1)
		equal(t, "items waiting", edgeStats(t, r, "before").Depth, 20)
		equal(t, "items taken from the source", src.next, 10+10+20)
		close(first)
		stopped(t, r)
	})
}

// T42: twenty workers in front of one batch, ten items, a period of a second: one batch of ten, when the second is over.
func TestT42OneBatchBehindManyWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sizes []int
		var at []time.Duration
		began := time.Now()
		r := start(t, flow.From(then(ints(10)...)).
			Parallel(20, same).
			Batch(100, time.Second).
			ForEach(func(_ context.Context, vs []int) error {
				sizes = append(sizes, len(vs))
				at = append(at, time.Since(began))
				return nil
			}))
		time.Sleep(time.Minute)
		stopped(t, r)
		equalSlices(t, "batches", sizes, []int{10})
		equalSlices(t, "times", at, []time.Duration{time.Second})
	})
}

// T67: a fast stage in front of a slow sink. Waiting for downstream is neither work nor idleness, and the three shares of
// every stage add up to one.
func TestT67WaitingForDownstreamIsBackpressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, flow.From(&endless{}).
			Buffer(2, flow.Block).
			Map(twice, flow.Name("fast")).
			Buffer(2, flow.Block).
			ForEach(func(ctx context.Context, _ int) error {
				return nap(ctx, 10*time.Millisecond)
			}, flow.Name("slow")))
		time.Sleep(time.Minute)
		for _, st := range r.Stats().Stages {
			if sum := st.Busy + st.Idle + st.Backpressured; sum < 0.999999 || sum > 1.000001 {
				t.Errorf("%s: busy %v + idle %v + backpressured %v = %v, want 1", st.Name, st.Busy, st.Idle, st.Backpressured, sum)
			}
		}
		fast, slow := stageStats(t, r, "fast"), stageStats(t, r, "slow")
		if fast.Busy != 0 || fast.Backpressured < 0.999 {
			t.Errorf("fast: busy %v, backpressured %v, want 0 and 1", fast.Busy, fast.Backpressured)
		}
		if slow.Busy < 0.999 || slow.Backpressured != 0 {
			t.Errorf("slow: busy %v, backpressured %v, want 1 and 0", slow.Busy, slow.Backpressured)
		}
		equal(t, "bottleneck", r.Stats().Bottleneck().Stage, "slow")
		stopped(t, r)
	})
}
