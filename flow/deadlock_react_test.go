package flow_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// batchedDiamond is G3: a diamond of 64 items, whose edge "direct" has room for two and needs seven.
func batchedDiamond(direct flow.Edge[int], each func(i int)) flow.Pipeline {
	bs := flow.FromSlice(ints(64)).Broadcast(2, flow.Name("fork"))
	batched := bs[0].Buffer(2, flow.Block).Batch(8, 0, flow.Name("batch")).FlatMap(flatten)
	direct.Name, direct.Capacity = "direct", 2
	return flow.Trusting(discard(pairs(batched, bs[1].Edge(direct)).Tap(each)))
}

// G3 with a reserve for edges: all comes out, and the edge has got what it needs and no more than the double of it.
func TestGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var found []*flow.DeadlockError
		items := 0
		p := batchedDiamond(flow.Edge[int]{}, func(int) { items++ })
		r := start(t, p.OnDeadlock(flow.DeadlockConfig{Grow: 100, Found: func(e *flow.DeadlockError) { found = append(found, e) }}))
		must(t, r.Wait())
		equal(t, "items", items, 64)
		if len(found) == 0 {
			t.Fatal("nothing was found")
		}
		last := found[len(found)-1]
		equal(t, "edge", last.Smallest, "direct")
		equal(t, "capacity", last.Capacity, 8)
		equal(t, "capacity in the stats", edgeStats(t, r, "direct").Capacity, 8)
		g := r.Graph()
		i := slices.IndexFunc(g.Edges, func(e flow.GraphEdge) bool { return e.Name == "direct" })
		equal(t, "capacity in the graph", g.Edges[i].Capacity, 8)
		equal(t, "more than the bound of the blueprint", g.Bound-p.Graph().Bound, 6)
		if want := `edge "direct" has 8 places from now on: give it as many`; !strings.Contains(last.Error(), want) {
			t.Errorf("got %v, want %q in it", last, want)
		}
	})
}

// A reserve that is too small is used up, and then the run fails.
func TestGrowFailsWhenItsReserveIsUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var capacities []int
		p := batchedDiamond(flow.Edge[int]{}, func(int) {})
		err := p.OnDeadlock(flow.DeadlockConfig{Grow: 3, Found: func(e *flow.DeadlockError) {
			capacities = append(capacities, e.Capacity)
		}}).Run(t.Context())
		e := deadlock(t, err)
		equalSlices(t, "capacities", capacities, []int{4, 5, 0})
		if want := "the places that edges may grow by are used up"; e.Refused != want || !strings.Contains(e.Error(), want) {
			t.Errorf("refused: %q, want %q", e.Refused, want)
		}
	})
}

// Nothing helps where nobody waits for room.
func TestGrowIsOfNoUseForATrueDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := flow.Ring(1, viaFunc(double), viaFunc(double)).OnDeadlock(flow.DeadlockConfig{Grow: 100})
		e := deadlock(t, p.Run(t.Context()))
		equal(t, "artificial", e.Artificial, false)
		if e.Refused == "" || !strings.Contains(e.Error(), "no capacity would help") {
			t.Errorf("got %v", e)
		}
	})
}

// Items of a circle without a way out would go round for ever.
func TestNothingGrowsInACircleWithoutAWayOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := flow.Ring(1, three(), three()).OnDeadlock(flow.DeadlockConfig{Grow: 100, Shed: true})
		e := deadlock(t, p.Run(t.Context()))
		equal(t, "artificial", e.Artificial, true)
		equal(t, "capacity", e.Capacity, 0)
		if want := "go round for ever"; !strings.Contains(e.Error(), want) {
			t.Errorf("got %v, want %q in it", e, want)
		}
	})
}

// An edge that says what becomes of a dropped item gives one away, which is counted, and the graph goes on.
func TestShed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := 0
		var dropped []int
		direct := flow.Edge[int]{Dropped: func(i int, why flow.DropReason) {
			equal(t, "reason", why, flow.DropShed)
			dropped = append(dropped, i)
		}}
		var shed []string
		r := start(t, batchedDiamond(direct, func(int) { items++ }).OnDeadlock(flow.DeadlockConfig{Shed: true, Found: func(e *flow.DeadlockError) {
			shed = append(shed, e.Shed)
		}}))
		must(t, r.Wait())
		if items == 0 || len(dropped) == 0 || items+len(dropped) != 64 {
			t.Errorf("%d items came out and %d were dropped, want 64 in all", items, len(dropped))
		}
		equal(t, "edges that have dropped", len(shed), len(dropped))
		equal(t, "edge", shed[0], "direct")
		equal(t, "counted", edgeStats(t, r, "direct").Dropped[flow.DropShed], int64(len(dropped)))
	})
}

// One that does not say it keeps what it has.
func TestShedNeedsAnEdgeThatMayDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := deadlock(t, batchedDiamond(flow.Edge[int]{}, func(int) {}).OnDeadlock(flow.DeadlockConfig{Shed: true}).Run(t.Context()))
		equal(t, "refused", e.Refused, "no full edge of the circle says what becomes of a dropped item")
	})
}

// Messages that are inside when a run fails for a deadlock are given back, as in any run that fails.
func TestDeadlockGivesMessagesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(1000)
		bs := flow.FromItems(b).Broadcast(2)
		batched := bs[0].Batch(500, 0).FlatMap(flatten)
		_ = deadlock(t, flow.Trusting(discard(pairs(batched, bs[1].Buffer(2, flow.Block)))).Run(t.Context()))
		b.once(t)
	})
}

// The interval says how long it takes, and a negative one that nobody looks.
func TestIntervalOfLooks(t *testing.T) {
	for interval, want := range map[time.Duration]time.Duration{0: 2 * time.Second, time.Minute: 2 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			_ = deadlock(t, batchedDiamond(flow.Edge[int]{}, func(int) {}).OnDeadlock(flow.DeadlockConfig{Interval: interval}).Run(t.Context()))
			equal(t, "time", time.Since(began), want)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		r := start(t, batchedDiamond(flow.Edge[int]{}, func(int) {}).OnDeadlock(flow.DeadlockConfig{Interval: -1}))
		time.Sleep(time.Hour)
		stopped(t, r)
	})
}

// What is wrong with the settings is a build error, and so are two of them for one run.
func TestOnDeadlockBuildErrors(t *testing.T) {
	p := func() flow.Pipeline { return discard(flow.FromSlice(ints(3))) }
	quick := flow.DeadlockConfig{Interval: time.Millisecond}
	for want, p := range map[string]flow.Pipeline{
		"flow: OnDeadlock: Grow must be 0 to 2147483647, got -1": p().OnDeadlock(flow.DeadlockConfig{Grow: -1}),
		"flow: OnDeadlock: StallAfter must be >= 0, got -1s":     p().OnDeadlock(flow.DeadlockConfig{StallAfter: -time.Second}),
		"several of the pipelines have an OnDeadlock":            flow.Join(p().OnDeadlock(quick), p().OnDeadlock(quick)),
	} {
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q in it", err, want)
		}
	}
	must(t, flow.Join(p(), p().OnDeadlock(quick)).Check())
	must(t, flow.Join(p().OnDeadlock(quick), p()).OnDeadlock(quick).Check())
}

// The setting of a part holds for the pipelines that it is joined with.
func TestJoinKeepsOnDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		stuck := batchedDiamond(flow.Edge[int]{}, func(int) {}).OnDeadlock(flow.DeadlockConfig{Interval: time.Minute})
		_ = deadlock(t, flow.Trusting(flow.Join(discard(ticker()), stuck)).Run(t.Context()))
		equal(t, "time", time.Since(began), 2*time.Minute)
	})
}

// swallow takes everything and emits nothing: a stage whose part in a diamond no check can know.
var swallow = viaFunc(func(ctx context.Context, in *stage.In[int], _ *stage.Out[int]) error {
	for _, err := range in.All(ctx) {
		if err != nil {
			return err
		}
	}
	return nil
})

// Whoever loops over a flow learns of a deadlock in it, too.
func TestLoopOverAGraphThatStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := fork()
		var last error
		for _, err := range pairs(a.Via(swallow, flow.Name("swallow")), b).All(t.Context()) {
			last = err
		}
		equalSlices(t, "stages", names(deadlock(t, last)), []string{"fork", "zip", "swallow"})
	})
}
