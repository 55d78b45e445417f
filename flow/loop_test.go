package flow_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
)

// laps is a value that goes round left times more.
type laps struct{ id, left, done int }

// lapsOf returns n values; value i goes round i % most times.
func lapsOf(n, most int) []laps {
	all := make([]laps, n)
	for i := range all {
		all[i] = laps{id: i, left: i % most}
	}
	return all
}

// round is a body in which values leave that have no laps left.
func round(in flow.Flow[laps]) (out, again flow.Flow[laps]) {
	out, again = in.Map(func(l laps) laps { l.done++; return l }).Split(func(l laps) bool { return l.left == 0 })
	return out, again.Map(func(l laps) laps { l.left--; return l })
}

// wantLaps checks that each value has come once, with all its laps.
func wantLaps(t *testing.T, got []laps, n, most int) {
	t.Helper()
	equal(t, "number of values", len(got), n)
	slices.SortFunc(got, func(a, b laps) int { return a.id - b.id })
	for i, l := range got {
		if l != (laps{id: i, done: i%most + 1}) {
			t.Fatalf("value %d is %+v, want %d laps done", i, l, i%most+1)
		}
	}
}

func TestLoopEndsWhenNothingIsInside(t *testing.T) {
	for _, k := range []int{1, 2, 7, 64, 1000} {
		synctest.Test(t, func(t *testing.T) {
			got := newSeen[laps]()
			must(t, flow.FromSlice(lapsOf(500, 9)).Loop(flow.Gated(k), round).ForEach(got.each).Run(t.Context()))
			wantLaps(t, got.values(), 500, 9)
		})
	}
}

func TestLoopOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := newSeen[laps]()
		must(t, flow.FromSlice[laps](nil).Loop(flow.Gated(1), round).ForEach(got.each).Run(t.Context()))
		equal(t, "number of values", len(got.values()), 0)
	})
}

func TestLoopLetsInNoMoreThanTheGateSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inside, most atomic.Int64
		body := func(in flow.Flow[laps]) (out, again flow.Flow[laps]) {
			out, again = round(in.Tap(func(l laps) {
				if l.done == 0 {
					most.Store(max(most.Load(), inside.Add(1)))
				}
			}))
			return out.Tap(func(laps) { inside.Add(-1) }), again
		}
		must(t, flow.FromSlice(lapsOf(200, 5)).Loop(flow.Gated(6), body).ForEach(newSeen[laps]().each).Run(t.Context()))
		equal(t, "most inside", most.Load(), 6)
	})
}

func TestLoopThatNobodyWantsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := newSeen[laps]()
		must(t, flow.FromSeq(func(yield func(laps) bool) {
			for i := 0; yield(laps{id: i, left: i % 4}); i++ {
			}
		}).Loop(flow.Gated(8), round).Take(5).ForEach(got.each).Run(t.Context()))
		equal(t, "number of values", len(got.values()), 5)
	})
}

func TestLoopIsDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := newSeen[laps]()
		r := start(t, flow.From(then(lapsOf(20, 5)...)).Loop(flow.Gated(8), func(in flow.Flow[laps]) (out, again flow.Flow[laps]) {
			return round(in.Tap(func(laps) { time.Sleep(time.Second) }))
		}).ForEach(got.each))
		time.Sleep(5 * time.Second)
		must(t, r.Drain(t.Context()))
		equal(t, "GivenBack", r.Report().GivenBack, 0)
		for _, l := range got.values() {
			equal(t, "laps", l.done, l.id%5+1)
		}
	})
}

func TestLoopIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, flow.From(then(lapsOf(20, 5)...)).Loop(flow.Gated(2), func(in flow.Flow[laps]) (out, again flow.Flow[laps]) {
			return round(in.Tap(func(laps) { time.Sleep(time.Second) }))
		}).ForEach(newSeen[laps]().each))
		time.Sleep(5 * time.Second)
		stopped(t, r)
	})
}

func TestLoopThatFails(t *testing.T) {
	boom := errors.New("boom")
	synctest.Test(t, func(t *testing.T) {
		err := flow.FromSlice(lapsOf(20, 5)).Loop(flow.Gated(2), func(in flow.Flow[laps]) (out, again flow.Flow[laps]) {
			return round(in.TryMap(func(_ context.Context, l laps) (laps, error) {
				if l.id == 7 && l.left == 1 {
					return l, boom
				}
				return l, nil
			}, flow.Name("work")))
		}).ForEach(newSeen[laps]().each).Run(t.Context())
		wantError(t, err, boom)
		wantStage(t, err, "work")
	})
}

// A crawler: each page has links, some of them to pages that were seen. The gate counts those that wait.
func crawl(in flow.Flow[int]) (out, again flow.Flow[int]) {
	pages := in.Distinct(10_000, func(p int) int { return p }).Broadcast(2)
	return pages[0], pages[1].FlatMap(func(p int) []int { return []int{(2*p + 1) % 500, (2*p + 2) % 500, p} })
}

func TestLoopWithChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := newSeen[int]()
		must(t, flow.FromSlice([]int{0}).Loop(flow.Gated(4).Children(1500), crawl).ForEach(got.each).Run(t.Context()))
		pages := got.values()
		slices.Sort(pages)
		equalSlices(t, "pages", pages, ints(500))
	})
}

func TestLoopIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := flow.FromSlice([]int{0}).Loop(flow.Gated(4).Children(10), crawl, flow.Name("crawl")).ForEach(newSeen[int]().each).Run(t.Context())
		full, ok := errors.AsType[*flow.LoopFullError](err)
		if !ok || full.Loop != "crawl" || full.Limit != 10 || full.Inside < 10 {
			t.Fatalf("got %v (%+v), want a *LoopFullError of crawl", err, full)
		}
		wantStage(t, err, "crawl")
		if _, ok := errors.AsType[*flow.FullError](err); !ok || !strings.Contains(err.Error(), `loop "crawl" is full`) {
			t.Errorf("got %v, want it to say that the loop is full", err)
		}
	})
}

func TestLoopDropsChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := newSeen[int]()
		r := start(t, flow.FromSlice([]int{0}).Loop(flow.Gated(4).Children(10, flow.SettleDropped(flow.Ack)), crawl, flow.Name("crawl")).ForEach(got.each))
		must(t, r.Wait())
		if n := edgeStats(t, r, "crawl.again").Dropped[flow.DropFull]; n == 0 {
			t.Error("nothing was dropped")
		}
	})
}
