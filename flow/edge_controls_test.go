package flow_test

import (
	"context"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// Fields that make no sense, and what is said about them. Nothing is clamped, and all is said at once.
func TestControlsThatMakeNoSense(t *testing.T) {
	id := func(v int) int { return v }
	for _, tt := range []struct {
		name string
		edge flow.Edge[int]
		want string
	}{
		{"a target above the capacity", flow.Edge[int]{Target: 101}, "Target must be 0 to the capacity, got 101"},
		{"a negative target", flow.Edge[int]{Target: -1}, "Target must be 0 to the capacity, got -1"},
		{"Deadline and KeepLate", flow.Edge[int]{Deadline: func(int) time.Time { return time.Time{} }, KeepLate: true}, "Deadline and KeepLate exclude each other"},
		{"CoDel without a target", flow.Edge[int]{CoDel: flow.CoDel{Interval: 1}}, "CoDel.Target must be > 0, got 0s"},
		{"CoDel without an interval", flow.Edge[int]{CoDel: flow.CoDel{Target: 1}}, "CoDel.Interval must be > 0, got 0s"},
		{"CoDel with a negative target", flow.Edge[int]{CoDel: flow.CoDel{Target: -time.Second, Interval: 1}}, "CoDel.Target must be > 0, got -1s"},
		{"an unknown law", flow.Edge[int]{CoDel: flow.CoDel{Target: 1, Interval: 1, Law: 7}}, "CoDel.Law must be LimitLaw or RootLaw, got 7"},
		{"CoDel and criticality", flow.Edge[int]{CoDel: flow.CoDelFor(time.Second), Discipline: flow.ByCriticality[int](nil)}, "ByCriticality: it does not go together with CoDel"},
		{"CoDel and LIFO", flow.Edge[int]{OnFull: flow.DropOldest, MaxWait: time.Second, CoDel: flow.CoDelFor(time.Second), Discipline: flow.AdaptiveLIFO[int](1, 1)}, "AdaptiveLIFO: it does not go together with CoDel"},
		{"no key", flow.Edge[int]{Discipline: flow.FairBy[int, int](nil)}, "FairBy: key must not be nil"},
		{"no subqueue", flow.Edge[int]{Discipline: flow.FairBy(id, flow.Subqueues(0))}, "FairBy: Subqueues must be 1 to 65536, got 0"},
		{"too many subqueues", flow.Edge[int]{Discipline: flow.FairByKey[int](flow.Subqueues(65537))}, "FairByKey: Subqueues must be 1 to 65536, got 65537"},
		{"weights of other keys", flow.Edge[int]{Discipline: flow.FairBy(id, flow.Weights(func(string) int { return 1 }))}, "FairBy: Weights must take keys of the type that the edge is fair by"},
		{"nil weights", flow.Edge[int]{Discipline: flow.FairBy(id, flow.Weights[int](nil))}, "FairBy: Weights must not be nil"},
		{"a nil option", flow.Edge[int]{Discipline: flow.FairBy(id, nil)}, "FairBy: an option must not be nil"},
		{"fair, blocking and by weight", flow.Edge[int]{Discipline: flow.FairBy(id), MaxWeight: 9, Weight: func(int) int64 { return 1 }}, "FairBy: it does not go together with Block and MaxWeight: producers wait by key or class for a place, and can't for a weight"},
		{"a reserve above a tenth", flow.Edge[int]{Discipline: flow.ByCriticality[int](nil, flow.Reserved(11))}, "ByCriticality: Reserved must be at most a tenth of the capacity, got 11"},
		{"a negative reserve", flow.Edge[int]{Discipline: flow.ByCriticality[int](nil, flow.Reserved(-1))}, "ByCriticality: Reserved must be >= 0, got -1"},
		{"a nil option of criticality", flow.Edge[int]{Discipline: flow.ByCriticality[int](nil, nil)}, "ByCriticality: an option must not be nil"},
		{"LIFO that blocks", flow.Edge[int]{MaxWait: time.Second, Discipline: flow.AdaptiveLIFO[int](1, 1)}, "AdaptiveLIFO: the policy must be DropOldest: the oldest is who pays for the newest"},
		{"LIFO without MaxWait", flow.Edge[int]{OnFull: flow.DropOldest, Discipline: flow.AdaptiveLIFO[int](1, 1)}, "AdaptiveLIFO: MaxWait is required: it is how old items leave"},
		{"LIFO with a target above MaxWait", flow.Edge[int]{OnFull: flow.DropOldest, MaxWait: 5, Discipline: flow.AdaptiveLIFO[int](5, 1)}, "AdaptiveLIFO: target must be below MaxWait"},
		{"LIFO without a target", flow.Edge[int]{OnFull: flow.DropOldest, MaxWait: 5, Discipline: flow.AdaptiveLIFO[int](0, 1)}, "AdaptiveLIFO: target must be > 0, got 0s"},
		{"LIFO without an interval", flow.Edge[int]{OnFull: flow.DropOldest, MaxWait: 5, Discipline: flow.AdaptiveLIFO[int](1, 0)}, "AdaptiveLIFO: interval must be > 0, got 0s"},
		{"largest that rejects", flow.Edge[int]{OnFull: flow.Reject, Discipline: flow.ShedLargest(func(int) int64 { return 1 }, 1)}, "ShedLargest: the policy must be DropNewest or DropOldest: the others drop nothing"},
		{"largest without a cost", flow.Edge[int]{OnFull: flow.DropNewest, Discipline: flow.ShedLargest[int](nil, 1)}, "ShedLargest: cost must not be nil"},
		{"largest without an age", flow.Edge[int]{OnFull: flow.DropNewest, Discipline: flow.ShedLargest(func(int) int64 { return 1 }, 0)}, "ShedLargest: age must be > 0, got 0s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.edge.Capacity, tt.edge.Name = 100, "e"
			err := flow.FromSlice([]int{1}).Edge(tt.edge).To(stage.Discard[int]()).Check()
			if err == nil || !strings.HasSuffix(err.Error(), "): "+tt.want) {
				t.Errorf("Check() = %v, want just %q", err, tt.want)
			}
		})
	}
	edge := flow.Edge[int]{Capacity: 10, Discipline: flow.FairBy(id)}
	err := flow.FromSlice([]int{1}).GroupBy(flow.Groups[int]{Lane: edge}, id, func(int) stage.Stage[int, int] { return nil }).To(stage.Discard[int]()).Check()
	if err == nil || !strings.Contains(err.Error(), "Lane: Discipline has no meaning in a lane") {
		t.Errorf("Check() = %v of a lane with a discipline, want an error", err)
	}
}

// Edges that drop on their way out are like others that drop: behind a claim they say how a message ends, and behind an effect they are
// refused.
func TestControlsThatDropNeedASettlement(t *testing.T) {
	far := func(int) time.Time { return time.Now().Add(time.Hour) }
	for name, edge := range map[string]flow.Edge[int]{
		"CoDel":    {Capacity: 9, CoDel: flow.CoDelFor(time.Second)},
		"Deadline": {Capacity: 9, Deadline: far},
	} {
		src := func() flow.Flow[int] { return flow.FromItems(newBroker(1)) }
		if err := src().Edge(edge).To(stage.Discard[int]()).Check(); err == nil || !strings.Contains(err.Error(), "say with SettleDropped") {
			t.Errorf("%s behind a claim: Check() = %v, want one that asks for SettleDropped", name, err)
		}
		edge.SettleDropped = flow.Ack
		if err := src().Edge(edge).To(stage.Discard[int]()).Check(); err != nil {
			t.Errorf("%s with a settlement: Check() = %v, want nil", name, err)
		}
		effect := src().TryMap(func(_ context.Context, v int) (int, error) { return v, nil }, flow.NonIdempotent)
		if err := effect.Edge(edge).To(stage.Discard[int]()).Check(); err == nil || !strings.Contains(err.Error(), "NonIdempotent") {
			t.Errorf("%s behind an effect: Check() = %v, want a refusal", name, err)
		}
	}
}

// late runs 10 items through an edge whose consumer takes 10 ms for each. All have a deadline 55 ms from now.
func late(t *testing.T, e flow.Edge[int], stamped bool) (done []int, dropped []flow.DropReason) {
	t.Helper()
	e.Capacity = 10
	e.Dropped = func(_ int, why flow.DropReason) { dropped = append(dropped, why) }
	in := flow.NewInlet(e)
	ctx := context.Background()
	if stamped {
		ctx = stage.WithMeta(ctx, stage.Meta{Deadline: time.Now().Add(55 * time.Millisecond)})
	}
	for v := range 10 {
		if _, err := in.Offer(ctx, v); err != nil {
			t.Fatal(err)
		}
	}
	in.Close()
	must(t, in.Flow().ForEach(func(_ context.Context, v int) error {
		time.Sleep(10 * time.Millisecond)
		done = append(done, v)
		return nil
	}).Run(ctx))
	return done, dropped
}

// What can't be finished in time is not started: at 50 ms the sixth would be finished at 60. It takes a settlement, a policy that drops or
// the field Deadline; KeepLate says no.
func TestItemsThatWouldBeLateAreNotStarted(t *testing.T) {
	now := func(int) time.Time { return time.Now().Add(55 * time.Millisecond) }
	for _, tt := range []struct {
		name    string
		edge    flow.Edge[int]
		stamped bool
		want    int
	}{
		{"a policy that drops", flow.Edge[int]{OnFull: flow.DropNewest}, true, 5},
		{"a settlement", flow.Edge[int]{SettleDropped: flow.Ack}, true, 5},
		{"a field", flow.Edge[int]{Deadline: now}, false, 5},
		{"with another order", flow.Edge[int]{OnFull: flow.DropNewest, Discipline: flow.FairBy(func(v int) int { return v % 3 })}, true, 5},
		{"nothing that says so", flow.Edge[int]{}, true, 10},
		{"no deadlines", flow.Edge[int]{OnFull: flow.DropNewest}, false, 10},
		{"told to keep them", flow.Edge[int]{OnFull: flow.DropNewest, KeepLate: true}, true, 10},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			done, dropped := late(t, tt.edge, tt.stamped)
			if len(done) != tt.want || len(done)+len(dropped) != 10 {
				t.Fatalf("finished %v and dropped %v, want %d finished and the rest dropped", done, dropped, tt.want)
			}
			for _, why := range dropped {
				if why != flow.DropDeadline {
					t.Fatalf("dropped as %v, want as %v", why, flow.DropDeadline)
				}
			}
		})
	}
}

// A few slow items don't have all that come behind them dropped for ever: where the figures say that none can be finished in time, one
// is tried now and then, and renews them.
func TestDeadlinesOutliveASlowTime(t *testing.T) {
	inBubble(t, "a slow time", func(t *testing.T) {
		const budget = 500 * time.Millisecond
		in := flow.NewInlet(flow.Edge[time.Duration]{
			Capacity: 50, OnFull: flow.DropNewest, Deadline: func(time.Duration) time.Time { return time.Now().Add(budget) },
		})
		var finished atomic.Int64
		r := start(t, in.Flow().ForEach(func(_ context.Context, d time.Duration) error {
			time.Sleep(d)
			finished.Add(1)
			return nil
		}))
		finishes := func(n int64, service time.Duration) int64 {
			before := finished.Load()
			for range n {
				_, err := in.Offer(t.Context(), service)
				must(t, err)
				time.Sleep(time.Second)
			}
			return finished.Load() - before
		}
		equal(t, "finished", finishes(100, 450*time.Millisecond), 100)
		finishes(20, 2*budget)
		if n := finishes(200, time.Millisecond); n < 200-64 { // as many as are remembered
			t.Errorf("finished %d of 200 quick items behind slow ones, want at least 136", n)
		}
		equal(t, "finished", finishes(100, time.Millisecond), 100)
		in.Close()
		must(t, r.Wait())
	})
}

// A soft threshold beside the hard one. 40 workers x 50 ms are 800 items a second; 250 ms of waiting is a capacity of 200, and half a
// place for each worker a target of 20, which drains in 25 ms. A burst is no standing queue; a load of 900 a second makes one.
func TestTargetBesideCapacity(t *testing.T) {
	inBubble(t, "40 workers", func(t *testing.T) {
		in := flow.NewInlet(flow.Edge[int]{Name: "calls", Capacity: 200, OnFull: flow.Reject})
		run, err := in.Flow().Parallel(40, func(_ context.Context, v int) (int, error) {
			time.Sleep(50 * time.Millisecond)
			return v, nil
		}, flow.Unordered).To(stage.Discard[int]()).Start(context.Background())
		must(t, err)
		refused := 0
		load := func(rate int, d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second / time.Duration(rate)) {
				if _, err := in.Offer(context.Background(), 1); err != nil {
					refused++
				}
			}
		}
		edge := func() flow.EdgeStats { return run.Stats().Edges[0] }
		load(700, time.Second)
		if e := edge(); e.Target != 20 || e.TargetWait != 25*time.Millisecond || e.Standing || refused > 0 {
			t.Errorf("at 700/s: target %d (%v), standing %t, %d refused, want 20 (25ms), false, 0", e.Target, e.TargetWait, e.Standing, refused)
		}
		for range 100 { // a burst
			_, err := in.Offer(context.Background(), 1)
			must(t, err)
		}
		load(400, 500*time.Millisecond)
		if e := edge(); e.Standing || refused > 0 {
			t.Errorf("behind a burst: standing %t with a least wait of %v, %d refused, want false, 0", e.Standing, e.MinSojourn, refused)
		}
		load(900, 8*time.Second)
		e := edge()
		if !e.Standing || e.MaxDepth != 200 || refused == 0 {
			t.Errorf("at 900/s: standing %t, %d waited at most, %d refused, want true, 200, some", e.Standing, e.MaxDepth, refused)
		}
		if e.MinSojourn > 250*time.Millisecond || e.MinSojourn < 200*time.Millisecond {
			t.Errorf("at 900/s: the least wait is %v, want 200 to 250 ms", e.MinSojourn)
		}
		if math.Abs(e.OfferedLoad-900.0/800) > 0.03 {
			t.Errorf("at 900/s: the offered load is %.3f, want 1.125, that of refused items included", e.OfferedLoad)
		}
		in.Close()
		must(t, run.Wait())
	})
}
