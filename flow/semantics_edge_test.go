package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// S14: DropOldest in front of a Parallel drops what waits in the edge, never what a worker has taken.
func TestS14DropOldestSparesWhatWorkersHave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := flow.NewInlet(flow.Edge[int]{Capacity: 3, OnFull: flow.DropOldest})
		got := newSeen[int]()
		r := start(t, in.Flow().Parallel(2, func(ctx context.Context, i int) (int, error) {
			return i, nap(ctx, time.Second)
		}).ForEach(got.each))
		for i := range 20 {
			_, err := in.Offer(t.Context(), i)
			must(t, err)
			synctest.Wait()
		}
		in.Close()
		must(t, r.Wait())
		equalSlices(t, "items", got.values(), []int{0, 1, 17, 18, 19})
	})
}

// S15: Merge keeps the order of each input and serves them as they come.
func TestS15MergeKeepsTheOrderOfEachInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		input := func(k int) flow.Flow[int] {
			n := 0
			return flow.FromFunc(func(ctx context.Context) (int, error) {
				if n == 200 {
					return 0, stage.ErrEnd
				}
				n++
				return 1000*k + n, nap(ctx, time.Duration(k*n%5)*time.Millisecond)
			})
		}
		got, err := flow.Merge(input(1), input(2), input(3), input(4)).Collect(t.Context(), 800)
		must(t, err)
		equal(t, "items", len(got), 800)
		last := map[int]int{}
		for _, v := range got {
			if v%1000 != last[v/1000]+1 {
				t.Fatalf("%d came after %d", v, last[v/1000])
			}
			last[v/1000] = v % 1000
		}
	})
	inBubble(t, "a slow input does not hold up a fast one", func(t *testing.T) {
		got := newSeen[int]()
		slow := flow.FromFunc(func(ctx context.Context) (int, error) { return -1, nap(ctx, time.Hour) })
		r := start(t, flow.Merge(slow, flow.FromSlice(ints(500))).ForEach(got.each))
		synctest.Wait()
		equalSlices(t, "items", got.values(), ints(500))
		stopped(t, r)
	})
}

// S16: MaxWait counts from acceptance by this edge, is looked at when the consumer takes a chunk, and is a way of dropping.
func TestS16MaxWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dropped []string
		b := newBroker(10)
		b.stays = true
		got := newSeen[int]()
		r := start(t, flow.FromItems(b).
			TryMap(func(ctx context.Context, i int) (int, error) { return i, nap(ctx, time.Second) }). // older than MaxWait before it comes
			Edge(flow.Edge[int]{
				Name: "line", Capacity: 10, MaxWait: 500 * time.Millisecond, SettleDropped: flow.Nak(time.Minute),
				Dropped: func(i int, why flow.DropReason) { dropped = append(dropped, fmt.Sprint(i, " ", why)) },
			}).
			ForEach(func(ctx context.Context, i int) error {
				must(t, got.each(ctx, i))
				return nap(ctx, 3600*time.Millisecond)
			}))
		time.Sleep(time.Minute)
		must(t, r.Drain(t.Context()))
		equalSlices(t, "items", got.values(), []int{0, 4, 8})
		equalSlices(t, "dropped", dropped, []string{"1 expired", "2 expired", "3 expired", "5 expired", "6 expired", "7 expired", "9 expired"})
		b.once(t)
		o := b.outcome(t, 5)
		equal(t, "outcome", o.Kind, stage.Failed)
		equal(t, "delay", o.Delay, time.Minute)
		wantError(t, o.Err, flow.ErrDropped)
		e := edgeStats(t, r, "line")
		equal(t, "dropped as expired", e.Dropped[flow.DropExpired], 7)
		equal(t, "dropped in the report", r.Report().Dropped, 7)
	})
}

// S17: an item heavier than MaxWeight passes alone. A Block edge admits it when it is empty, the other policies refuse it unless
// the edge is empty; it never evicts everything else.
func TestS17TooHeavyItems(t *testing.T) {
	edge := func(p flow.Policy) flow.Edge[int] {
		return flow.Edge[int]{Name: "scale", Capacity: 100, OnFull: p, MaxWeight: 10, Weight: func(i int) int64 { return int64(i) }}
	}
	inBubble(t, "block", func(t *testing.T) {
		got := newSeen[int]()
		r := start(t, flow.FromSlice([]int{4, 4, 25, 4, 4, 4, 30, 31, 1}).Edge(edge(flow.Block)).ForEach(func(ctx context.Context, v int) error {
			synctest.Wait()
			must(t, got.each(ctx, v))
			return nap(ctx, time.Second)
		}))
		must(t, r.Wait())
		equalSlices(t, "items", got.values(), []int{4, 4, 25, 4, 4, 4, 30, 31, 1})
		equal(t, "oversize", edgeStats(t, r, "scale").Oversize, 3)
	})
	for _, p := range []flow.Policy{flow.DropNewest, flow.DropOldest} {
		inBubble(t, p.String(), func(t *testing.T) {
			e := edge(p)
			var why []flow.DropReason
			e.Dropped = func(_ int, w flow.DropReason) { why = append(why, w) }
			in := flow.NewInlet(e)
			for i, c := range []struct {
				weight int
				drop   bool
			}{{25, false}, {25, true}, {26, true}} { // into the empty edge, and behind
				_, err := in.Offer(t.Context(), c.weight)
				if errors.Is(err, flow.ErrDropped) != c.drop {
					t.Fatalf("offer %d = %v", i, err)
				}
			}
			equalSlices(t, "reasons", why, []flow.DropReason{flow.DropTooHeavy, flow.DropTooHeavy})
			in.Close()
			got, err := in.Flow().Collect(t.Context(), 5)
			must(t, err)
			equalSlices(t, "items", got, []int{25})
		})
	}
	inBubble(t, "reject", func(t *testing.T) {
		in := flow.NewInlet(edge(flow.Reject))
		_, err := in.Offer(t.Context(), 3)
		must(t, err)
		_, err = in.Offer(t.Context(), 11)
		if _, ok := errors.AsType[*flow.FullError](err); !ok {
			t.Fatalf("Offer() = %v, want a *FullError", err)
		}
		in.Close()
	})
	inBubble(t, "weights whose sum no number holds", func(t *testing.T) {
		e := edge(flow.Reject)
		e.MaxWeight, e.Weight = 1<<63-1, func(int) int64 { return 1 << 60 }
		in := flow.NewInlet(e)
		accepted := 0
		for range 50 {
			if _, err := in.Offer(t.Context(), 1); err == nil {
				accepted++
			}
		}
		equal(t, "accepted", accepted, 7)
		in.Close()
	})
}

// A weight bound holds at every moment, and a negative weight is an error.
func TestWeightBound(t *testing.T) {
	inBubble(t, "never more", func(t *testing.T) {
		r := start(t, flow.FromSlice(ints(200)).Map(func(i int) int { return i % 7 }).
			Edge(flow.Edge[int]{Name: "scale", Capacity: 50, MaxWeight: 20, Weight: func(i int) int64 { return int64(i) }}).
			ForEach(func(ctx context.Context, _ int) error { return nap(ctx, time.Second) }))
		for range 250 {
			time.Sleep(time.Second)
			synctest.Wait()
			for _, e := range r.Stats().Edges {
				if e.Depth > 50 {
					t.Fatalf("%d items wait, want at most 50", e.Depth)
				}
			}
		}
		must(t, r.Wait())
		equal(t, "items", edgeStats(t, r, "scale").Out, 200)
	})
	inBubble(t, "negative", func(t *testing.T) {
		b := newBroker(10)
		err := flow.FromItems(b).Edge(flow.Edge[int]{Name: "scale", Capacity: 50, MaxWeight: 20, Weight: func(i int) int64 { return int64(3 - i) }}).
			To(stage.Discard[int]()).Run(t.Context())
		if err == nil || !strings.Contains(err.Error(), `edge "scale": weight must be >= 0, got -1`) {
			t.Fatalf("Run() = %v", err)
		}
		b.once(t)
	})
}

// S19: the hook runs when no lock is held: it may ask the run for its figures.
func TestS19HookHoldsNoLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *flow.Run
		calls := 0
		in := flow.NewInlet(flow.Edge[int]{Name: "line", Capacity: 1, OnFull: flow.DropNewest, Dropped: func(int, flow.DropReason) {
			calls++
			if e := r.Stats().Edges[0]; e.Depth > 1 {
				t.Errorf("depth %d", e.Depth)
			}
		}})
		r = start(t, in.Flow().ForEach(hang))
		for range 5 {
			_, _ = in.Offer(t.Context(), 1)
			synctest.Wait()
		}
		equal(t, "calls", calls, 3)
		stopped(t, r)
	})
}

// S20: after a stop, accepted = delivered + dropped + held stays true for ever, and an Inlet answers ErrClosed.
func TestS20AfterStop(t *testing.T) {
	for _, p := range []flow.Policy{flow.Block, flow.DropNewest, flow.DropOldest, flow.Reject} {
		inBubble(t, p.String(), func(t *testing.T) {
			in := flow.NewInlet(flow.Edge[int]{Name: "line", Capacity: 3, OnFull: p})
			r := start(t, in.Flow().ForEach(hang))
			accepted := 0
			for i := range 8 {
				_, err := in.Offer(t.Context(), i)
				synctest.Wait()
				if err == nil {
					accepted++
				} else if _, full := errors.AsType[*flow.FullError](err); !full && !errors.Is(err, flow.ErrDropped) {
					t.Fatalf("Offer() = %v", err)
				}
			}
			stopped(t, r)
			for range 2 {
				e := edgeStats(t, r, "line")
				equal(t, "held", e.Depth, 3)
				equal(t, "in = out + dropped + held", e.In, e.Out+e.Dropped.Total()+int64(e.Depth))
				for _, put := range []func(context.Context, int) (flow.Receipt, error){in.Offer, in.Put} {
					if _, err := put(t.Context(), 1); !errors.Is(err, flow.ErrClosed) {
						t.Fatalf("after the stop it answers %v, want ErrClosed", err)
					}
				}
				wantError(t, in.Do(t.Context(), 1), flow.ErrClosed)
			}
			rep := r.Report()
			equal(t, "given back", rep.GivenBack, 4) // and what the sink had in hand
			if p != flow.DropOldest {
				equal(t, "accepted", accepted, 4)
			}
		})
	}
}

// Reject stops the run inside a graph, with the edge's name; what had come so far is given back.
func TestRejectInsideAGraph(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(100)
		err := flow.FromItems(b).Buffer(5, flow.Reject, flow.Name("line")).ForEach(hang).Run(t.Context())
		full, ok := errors.AsType[*flow.FullError](err)
		if !ok || full.Edge != "line" || full.Capacity != 5 {
			t.Fatalf("Run() = %v, want a *FullError of the edge", err)
		}
		b.once(t)
		equal(t, "given back", len(b.kind(stage.Failed)), b.next)
	})
}
