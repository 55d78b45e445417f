package flow_test

import (
	"context"
	"flag"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

var (
	importFlag   = flag.Int("import", 9_000, "how many rows the heavy tenant imports; 4,000,000 is the whole thing")
	overloadFlag = flag.Duration("overload", 20*time.Second, "how long an overload lasts, in virtual time; 10m is the whole thing")
)

// request is a call that came at a moment and is worth nothing 500 ms later.
type request struct {
	came   time.Time
	counts bool // it came once things had settled
}

const (
	budget = 500 * time.Millisecond
	warmUp = 5 * time.Second
)

// overloaded is the goodput of an edge with 2 s of work in front of workers that take mean, exponentially, at twice the load that they can
// finish: items finished within the budget, by items that could be. Arrivals are random.
func overloaded(t *testing.T, workers int, mean time.Duration, e flow.Edge[request]) float64 {
	t.Helper()
	rate := float64(workers) / mean.Seconds()
	e.Capacity = int(2 * rate)
	in := flow.NewInlet(e)
	services, mu := rand.New(rand.NewPCG(1, 2)), new(sync.Mutex)
	draw := func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(services.ExpFloat64() * float64(mean))
	}
	var inTime atomic.Int64
	run, err := in.Flow().Parallel(workers, func(_ context.Context, r request) (request, error) {
		time.Sleep(draw())
		if r.counts && time.Since(r.came) <= budget {
			inTime.Add(1)
		}
		return r, nil
	}, flow.Unordered).To(stage.Discard[request]()).Start(context.Background())
	must(t, err)
	arrivals := rand.New(rand.NewPCG(3, 4))
	start := time.Now()
	for now := time.Duration(0); now < warmUp+*overloadFlag+budget; now = time.Since(start) {
		_, _ = in.Offer(context.Background(), request{time.Now(), now >= warmUp && now < warmUp+*overloadFlag})
		time.Sleep(time.Duration(arrivals.ExpFloat64() * float64(time.Second) / (2 * rate)))
	}
	run.Stop()
	_ = run.Wait()
	return float64(inTime.Load()) / (rate * overloadFlag.Seconds())
}

// What is left of the capacity at twice the load, when answers are wanted within 500 ms and the edge holds 2 s of work. Without a control
// everybody is served too late. With any of those that must hold, nearly all that is served is served in time; the others are there to
// show why they are not enough.
func TestGoodputAtTwiceTheLoad(t *testing.T) {
	deadline := func(r request) time.Time { return r.came.Add(budget) }
	codel := flow.CoDel{Target: 50 * time.Millisecond, Interval: 100 * time.Millisecond}
	root := codel
	root.Law = flow.RootLaw
	for _, tt := range []struct {
		name        string
		edge        flow.Edge[request]
		least, most [2]float64 // with one worker of 10 ms, and with 40 of 50 ms
	}{
		{"first in, first out", flow.Edge[request]{OnFull: flow.DropNewest}, [2]float64{}, [2]float64{0.05, 0.05}},
		{"deadlines", flow.Edge[request]{OnFull: flow.DropNewest, Deadline: deadline}, [2]float64{0.93, 0.93}, [2]float64{1.1, 1.1}},
		{"the newest first", flow.Edge[request]{
			OnFull: flow.DropOldest, MaxWait: budget, Deadline: deadline, Discipline: flow.AdaptiveLIFO[request](50*time.Millisecond, 100*time.Millisecond),
		}, [2]float64{0.93, 0.93}, [2]float64{1.1, 1.1}},
		{"CoDel, the limit law", flow.Edge[request]{OnFull: flow.DropNewest, CoDel: codel}, [2]float64{0.93, 0.93}, [2]float64{1.1, 1.1}},
		{"age alone", flow.Edge[request]{OnFull: flow.DropNewest, MaxWait: budget}, [2]float64{}, [2]float64{0.7, 0.2}},
		{"CoDel, the root law", flow.Edge[request]{OnFull: flow.DropNewest, CoDel: root}, [2]float64{}, [2]float64{1.1, 0.5}},
	} {
		for i, load := range []struct {
			workers int
			mean    time.Duration
		}{{1, 10 * time.Millisecond}, {40, 50 * time.Millisecond}} {
			inBubble(t, tt.name, func(t *testing.T) {
				got := overloaded(t, load.workers, load.mean, tt.edge)
				t.Logf("%d workers of %v: %.2f of the capacity is useful", load.workers, load.mean, got)
				if got < tt.least[i] || got > tt.most[i] {
					t.Errorf("%d workers of %v: goodput %.3f, want %v to %v", load.workers, load.mean, got, tt.least[i], tt.most[i])
				}
			})
		}
	}
}

// row is a row of a tenant.
type row struct {
	tenant string
	n      int
	came   time.Time
}

// imported runs an import through one inlet beside a tenant that sends one item a second through another, in front of one worker that
// takes 1/300 s, and returns how long the items of the second one waited.
func imported(t *testing.T, rows int, e flow.Edge[row]) (waits []time.Duration, heavy int) {
	t.Helper()
	const service = time.Second / 300
	hub := flow.NewMergeHub(2, e)
	bulk, err := hub.Attach()
	must(t, err)
	sparse, err := hub.Attach()
	must(t, err)
	ctx := context.Background()
	next := 0
	run, err := hub.Flow().ForEach(func(_ context.Context, r row) error {
		if r.tenant == "sparse" {
			waits = append(waits, time.Since(r.came))
		} else {
			if r.n != next {
				t.Errorf("row %d came behind %d", r.n, next-1)
			}
			next++
		}
		time.Sleep(service)
		return nil
	}).Start(ctx)
	must(t, err)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for i := range rows {
			if _, err := bulk.Put(ctx, row{"bulk", i, time.Now()}); err != nil {
				t.Errorf("Put(%d) = %v", i, err)
				return
			}
		}
		bulk.Close()
	}()
	time.Sleep(10*time.Second + time.Millisecond) // the edge is full by now
	for done := false; !done; {
		select {
		case <-over:
			done = true
		case <-time.After(time.Second + 137*time.Microsecond):
			if _, err := sparse.Put(ctx, row{"sparse", 0, time.Now()}); err != nil {
				t.Errorf("Put() of the sparse tenant = %v", err)
			}
		}
	}
	sparse.Close()
	must(t, run.Drain(ctx))
	return waits, next
}

// The headline: one tenant imports rows at all that the worker can do, another sends one item a second through the same edge of 1,024 that
// blocks. Its items wait for one service time at most, two with the edge full; first in, first out it is the whole edge, 3.4 s. No row
// is lost, and they stay in order.
func TestASparseTenantBesideAnImport(t *testing.T) {
	for _, tt := range []struct {
		name        string
		discipline  flow.Discipline[row]
		least, most time.Duration
	}{
		{"fair", flow.FairBy(func(r row) string { return r.tenant }), 0, 2 * time.Second / 300},
		{"first in, first out", nil, 3 * time.Second, 3500 * time.Millisecond},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			waits, heavy := imported(t, *importFlag, flow.Edge[row]{Name: "work", Capacity: 1024, Discipline: tt.discipline})
			if heavy != *importFlag || len(waits) < 10 {
				t.Fatalf("%d rows and %d sparse items arrived, want %d and at least 10", heavy, len(waits), *importFlag)
			}
			longest := slices.Max(waits)
			t.Logf("%d rows; the sparse tenant's longest wait is %v", heavy, longest)
			if longest > tt.most || longest < tt.least {
				t.Errorf("the sparse tenant's longest wait is %v, want %v to %v", longest, tt.least, tt.most)
			}
		})
	}
}
