package flow_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// ticks is 0, 1, ..., one each second.
func ticks() flow.Flow[int] {
	n := -1
	return flow.FromFunc(func(ctx context.Context) (int, error) {
		n++
		return n, nap(ctx, time.Second)
	})
}

// attach adds a member that must have a place.
func attach(t *testing.T, hub *flow.BroadcastHub[int], e flow.Edge[int]) (flow.Flow[int], func()) {
	t.Helper()
	f, leave, err := hub.Attach(e)
	must(t, err)
	return f, leave
}

func TestBroadcastHubMembersComeAndGo(t *testing.T) {
	inBubble(t, "each sees what came while it was there", func(t *testing.T) {
		hub := flow.NewBroadcastHub[int](2, 100)
		r := start(t, ticks().ToHub(hub))
		first, second := newSeen[int](), newSeen[int]()
		f, _ := attach(t, hub, flow.Edge[int]{Capacity: 4})
		a := start(t, f.ForEach(first.each))
		time.Sleep(3500 * time.Millisecond)
		f, _ = attach(t, hub, flow.Edge[int]{Capacity: 4})
		b := start(t, f.Take(2).ForEach(second.each))
		_, _, err := hub.Attach(flow.Edge[int]{Capacity: 4})
		wantError(t, err, flow.ErrHubFull)
		must(t, b.Wait())
		equalSlices(t, "of the second", second.values(), []int{3, 4})
		f, leave := attach(t, hub, flow.Edge[int]{Capacity: 4}) // its place is free
		time.Sleep(1500 * time.Millisecond)
		leave()
		leave()
		must(t, f.ForEach(hang).Run(t.Context()))
		must(t, a.Drain(t.Context()))
		equalSlices(t, "of the first", first.values(), ints(6))
		equal(t, "items", stageStats(t, r, "tohub#2").Out, 6)
		stopped(t, r)
		_, _, err = hub.Attach(flow.Edge[int]{Capacity: 4})
		wantError(t, err, flow.ErrClosed)
	})
	inBubble(t, "the end is that of all, behind what waits", func(t *testing.T) {
		hub := flow.NewBroadcastHub[int](3, 300)
		all := make(chan struct{}) // closed when all are there
		r := start(t, flow.FromSlice(ints(50)).Tap(func(int) { <-all }).ToHub(hub))
		time.Sleep(time.Hour) // nobody is there yet
		var got [3][]int
		var wg sync.WaitGroup
		flows := make([]flow.Flow[int], 3)
		for i := range flows {
			flows[i], _ = attach(t, hub, flow.Edge[int]{Capacity: 100})
		}
		close(all)
		for i, f := range flows {
			wg.Go(func() {
				var err error
				if got[i], err = f.Collect(t.Context(), 100); err != nil {
					t.Errorf("Collect() = %v, want none", err)
				}
			})
		}
		must(t, r.Wait())
		wg.Wait()
		for i := range got {
			equalSlices(t, "values", got[i], ints(50))
		}
	})
	inBubble(t, "a drain without members ends", func(t *testing.T) {
		b := newBroker(10)
		hub := flow.NewBroadcastHub[int](3, 300)
		r := start(t, flow.FromItems(b).Buffer(4, flow.Block).ToHub(hub))
		synctest.Wait()
		must(t, r.Drain(t.Context()))
		b.once(t)
		equal(t, "given back", len(b.kind(stage.Failed)), 4)
	})
}

// T33: neither the drops nor the failures of a member that drops slow the other one, or cost an acknowledgement.
func TestT33BroadcastHubIsolatesMembersThatDrop(t *testing.T) {
	inBubble(t, "one blocks, one drops and fails", func(t *testing.T) {
		const total = 2000
		src := newBroker(total)
		hub := flow.NewBroadcastHub[int](2, 100)
		a, _ := attach(t, hub, flow.Edge[int]{Capacity: 8})
		b, _ := attach(t, hub, flow.Edge[int]{Name: "b", Capacity: 4, OnFull: flow.DropNewest, SettleDropped: flow.Ack})
		got := newSeen[int]()
		ra := start(t, a.ForEach(got.each))
		calls := 0
		rb := start(t, b.BestEffort().ForEach(func(ctx context.Context, _ int) error {
			if calls++; calls == 3 {
				return errB
			}
			return nap(ctx, time.Second)
		}))
		began := time.Now()
		r := start(t, flow.FromItems(src).TryMap(func(ctx context.Context, v int) (int, error) {
			return v, nap(ctx, 2*time.Millisecond)
		}).ToHub(hub))
		must(t, r.Wait())
		must(t, ra.Wait())
		wantError(t, rb.Wait(), errB)
		equal(t, "time", time.Since(began), total*2*time.Millisecond)
		equalSlices(t, "of a", got.values(), ints(total))
		if edgeStats(t, rb, "b").Dropped.Total() == 0 {
			t.Fatal("b dropped nothing, want drops")
		}
		src.once(t)
		equal(t, "done", len(src.kind(stage.Done)), total)
	})
}

// A member that blocks and hangs stops the hub; once it leaves, the others go on.
func TestBroadcastHubWaitsForMembersThatBlock(t *testing.T) {
	inBubble(t, "until it leaves", func(t *testing.T) {
		src := newBroker(1000)
		hub := flow.NewBroadcastHub[int](2, 100)
		a, _ := attach(t, hub, flow.Edge[int]{Capacity: 8})
		_, leave := attach(t, hub, flow.Edge[int]{Capacity: 8}) // never runs
		got := newSeen[int]()
		ra := start(t, a.ForEach(got.each))
		r := start(t, flow.FromItems(src).ToHub(hub))
		time.Sleep(time.Hour)
		equal(t, "delivered", len(got.values()), 8)
		leave()
		must(t, r.Wait())
		must(t, ra.Wait())
		equalSlices(t, "of a", got.values(), ints(1000))
		src.once(t)
		equal(t, "done", len(src.kind(stage.Done)), 1000)
	})
	inBubble(t, "or the run is stopped", func(t *testing.T) {
		src := newBroker(1000)
		hub := flow.NewBroadcastHub[int](2, 100)
		a, _ := attach(t, hub, flow.Edge[int]{Capacity: 8})
		ra := start(t, a.ForEach(hang))
		r := start(t, flow.FromItems(src).ToHub(hub))
		synctest.Wait()
		stopped(t, r)
		wantError(t, ra.Wait(), flow.ErrStopped)
		src.once(t)
		equal(t, "done", len(src.kind(stage.Done)), 0)
	})
}

// What a member does to its own edge is an error of its own run.
func TestBroadcastHubMemberFails(t *testing.T) {
	for name, e := range map[string]flow.Edge[int]{
		"a weight that panics": {Capacity: 8, MaxWeight: 10, Weight: func(int) int64 { panic(errA) }},
		"a negative weight":    {Capacity: 8, MaxWeight: 10, Weight: func(int) int64 { return -1 }},
		"a hook that panics":   {Capacity: 1, OnFull: flow.DropOldest, SettleDropped: flow.Ack, Dropped: func(int, flow.DropReason) { panic(errA) }},
	} {
		inBubble(t, name, func(t *testing.T) {
			src := newBroker(100)
			hub := flow.NewBroadcastHub[int](2, 100)
			good, _ := attach(t, hub, flow.Edge[int]{Capacity: 8})
			bad, _ := attach(t, hub, e)
			got := newSeen[int]()
			rg := start(t, good.ForEach(got.each))
			rb := start(t, bad.ForEach(hang))
			must(t, flow.FromItems(src).ToHub(hub).Run(t.Context()))
			must(t, rg.Wait())
			if err := rb.Wait(); err == nil {
				t.Fatal("the member's run ended without an error")
			}
			equalSlices(t, "of the good one", got.values(), ints(100))
			src.once(t)
		})
	}
}

func TestBroadcastHubRefuses(t *testing.T) {
	hub := flow.NewBroadcastHub[int](10, 10)
	for pattern, e := range map[string]flow.Edge[int]{
		"can't be Reject":   {Capacity: 1, OnFull: flow.Reject},
		"capacity must be":  {Capacity: 0},
		"hold 0 of 10, and": {Capacity: 11},
	} {
		_, _, err := hub.Attach(e)
		wantText(t, err, pattern)
	}
	wantText(t, flow.FromSlice(ints(1)).ToHub(nil).Check(), "hub must not be nil")
	wantText(t, flow.FromSlice(ints(1)).ToHub(flow.NewBroadcastHub[int](0, 0)).Check(),
		"(?s)members must be 1 to 2147483647, got 0.*capacity must be 1 to 2147483647, got 0")

	_, leave := attach(t, hub, flow.Edge[int]{Capacity: 1, OnFull: flow.DropNewest})
	_, err := flow.FromItems(newBroker(1)).ToHub(hub).Start(t.Context())
	wantText(t, err, "a member can drop messages")
	leave()
	_, _, err = hub.Attach(flow.Edge[int]{Capacity: 1, OnFull: flow.DropNewest})
	wantText(t, err, "the edge can drop messages")
}

// Members that come and go all the time, under the race detector: every message is settled once.
func TestBroadcastHubStress(t *testing.T) {
	src := newBroker(3000)
	hub := flow.NewBroadcastHub[int](4, 64)
	r := start(t, flow.FromItems(src).Buffer(16, flow.Block).ToHub(hub))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := 0; ; k++ {
				f, leave, err := hub.Attach(flow.Edge[int]{Capacity: 1 + i})
				switch {
				case err == nil && k%3 == 0:
					leave()
				case err == nil:
					_, _ = f.Take(5*i).Collect(t.Context(), 1000)
				case errors.Is(err, flow.ErrClosed):
					return
				}
			}
		})
	}
	must(t, r.Wait())
	wg.Wait()
	src.once(t)
}
