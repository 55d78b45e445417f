package admission_test

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/stage"
)

var overload = flag.Duration("overload", 20*time.Second, "how long TestF20 lasts, in virtual time; 1h is the whole thing")

// dice draws arrivals and times of service, the same each time.
type dice struct {
	mu sync.Mutex
	r  *rand.Rand
}

func newDice() *dice {
	return &dice{r: rand.New(rand.NewPCG(20, 26))} //nolint:gosec // the same each time
}

// exp draws a time with this mean, exponentially.
func (d *dice) exp(mean time.Duration) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Duration(d.r.ExpFloat64() * float64(mean))
}

// times is a list of times that workers add to.
type times struct {
	mu   sync.Mutex
	list []time.Duration
}

func (ts *times) add(d time.Duration) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.list = append(ts.list, d)
}

// p99 is the time that 99 % of them do not exceed.
func (ts *times) p99() time.Duration {
	slices.Sort(ts.list)
	return ts.list[len(ts.list)*99/100]
}

// stats returns what the run knows of an edge.
func stats(t *testing.T, r *flow.Run, name string) flow.EdgeStats {
	t.Helper()
	for _, e := range r.Stats().Edges {
		if e.Name == name {
			return e
		}
	}
	t.Fatalf("there is no edge %s", name)
	return flow.EdgeStats{}
}

func begin(t *testing.T, p flow.Pipeline) *flow.Run {
	t.Helper()
	r, err := p.Start(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func drain(t *testing.T, r *flow.Run) {
	t.Helper()
	if err := r.Drain(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// Try: twice what can be done arrives for an hour, at random, and an answer is wanted within 500 ms. Right: 95 % of what could be done is
// done in time; 99 of 100 that were let in are done within twice that time; nearly all others are refused at the entrance, and each
// of them is counted.
func TestF20TwiceTheCapacity(t *testing.T) {
	const target, warmUp = 500 * time.Millisecond, 5 * time.Second
	type job struct {
		came   time.Time
		counts bool
	}
	for name, c := range map[string]struct {
		workers int
		mean    time.Duration
	}{"one worker": {1, 10 * time.Millisecond}, "forty": {40, 50 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				perSecond := float64(c.workers) / c.mean.Seconds()
				places := int(2 * perSecond)
				gate := admission.NewGate(admission.Config{Limit: places + c.workers, Concurrency: c.workers, Target: 1})
				in := flow.NewInlet(flow.Edge[job]{
					Name: "jobs", Capacity: places, OnFull: flow.DropNewest, Deadline: func(j job) time.Time { return j.came.Add(target) },
				})
				var took times
				var inTime, done atomic.Int64
				random := newDice()
				r := begin(t, in.Flow().Parallel(c.workers, func(_ context.Context, j job) (job, error) {
					time.Sleep(random.exp(c.mean))
					late := time.Since(j.came)
					if took.add(late); j.counts && late <= target {
						inTime.Add(1)
					}
					done.Add(1)
					return j, nil
				}, flow.Unordered).To(stage.Discard[job]()))
				door := admission.Behind(gate, in)
				arrivals := newDice()
				var offered, refused, full int64
				start := time.Now()
				for now := time.Duration(0); now < warmUp+*overload; now = time.Since(start) {
					j := job{time.Now(), now >= warmUp}
					_, err := door.Offer(with(stage.Meta{Deadline: j.came.Add(target)}), j)
					if _, ok := errors.AsType[*admission.Refusal](err); ok {
						refused++
					} else if err != nil {
						full++
					}
					offered++
					time.Sleep(arrivals.exp(time.Duration(float64(time.Second) / (2 * perSecond))))
				}
				drain(t, r)
				s, expired := gate.Stats(), stats(t, r, "jobs").Dropped.Total()
				goodput := float64(inTime.Load()) / (perSecond * overload.Seconds())
				t.Logf("goodput %.3f; p99 of those let in %v; of %d offered %d refused, %d expired in the queue", goodput, took.p99(), offered, refused, expired)
				if goodput < 0.95 {
					t.Errorf("goodput is %.3f of the capacity, want 0.95", goodput)
				}
				if p := took.p99(); p > 2*target {
					t.Errorf("99 of 100 that were let in took %v, want at most %v", p, 2*target)
				}
				equal(t, "offered", s.Offered.Sum(), offered)
				equal(t, "refused for their deadline", s.RefusedFor(admission.ReasonDeadline), refused)
				equal(t, "found no place", full, 0)
				equal(t, "done, refused and expired", done.Load()+refused+expired, offered)
				if expired > (offered-refused)/8 {
					t.Errorf("%d of %d that were let in expired, want one in eight at most", expired, offered-refused)
				}
			})
		})
	}
}

// share is a piece of work of a tenant.
type share struct {
	tenant string
	came   time.Time
}

// tenants sends items of tenants, as pick names them, for a while, into an edge in front of workers that take as long for each. It returns
// how long those of others than "import" waited, and how many were done of each.
func tenants(t *testing.T, workers int, service, gap, lasts time.Duration, by flow.Discipline[share], pick func(n float64) string) (*times, map[string]int) {
	t.Helper()
	in := flow.NewInlet(flow.Edge[share]{Name: "work", Capacity: 1024, OnFull: flow.DropNewest, Discipline: by})
	var mu sync.Mutex
	var waits times
	done := map[string]int{}
	r := begin(t, in.Flow().ForEach(func(_ context.Context, s share) error {
		if s.tenant != "import" {
			waits.add(time.Since(s.came))
		}
		mu.Lock()
		done[s.tenant]++
		mu.Unlock()
		time.Sleep(service)
		return nil
	}, flow.Workers(workers)))
	offer := func(tenant string) {
		if _, err := in.Offer(context.Background(), share{tenant, time.Now()}); err != nil && !errors.Is(err, flow.ErrDropped) {
			t.Error(err)
		}
	}
	for range workers { // they are not in step
		offer("import")
		time.Sleep(service / time.Duration(workers))
	}
	random := newDice()
	for range 4 * workers {
		offer("import")
	}
	for start := time.Now(); time.Since(start) < lasts; time.Sleep(random.exp(gap)) {
		offer(pick(random.r.Float64()))
	}
	r.Stop()
	_ = r.Wait()
	return &waits, done
}

// jain is Jain's index of fairness: 1 where all have the same, 1/n where one has everything.
func jain(xs []float64) float64 {
	var sum, squares float64
	for _, x := range xs {
		sum += x
		squares += x * x
	}
	return sum * sum / (float64(len(xs)) * squares)
}

// fairly has as many subqueues as there can be: whose key meets the import's in one of them waits with it, and which keys do that is
// another matter in each run.
func fairly() flow.Discipline[share] {
	return flow.FairBy(func(s share) string { return s.tenant }, flow.Subqueues(65536))
}

// Try: one tenant sends 95 % of twice what can be done. Right: the items of all others wait for two service times by the number of workers
// at most, 99 of 100 of them, and all of theirs is done; also where each of their items has a key of its own. First in, first out they
// wait for the whole edge.
func TestF21OneTenantSendsNearlyEverything(t *testing.T) {
	const workers, service, lasts = 4, 10 * time.Millisecond, 20 * time.Second
	const gap, most = service / workers / 2, 2 * service / workers
	next := 0
	few := func(n float64) string { return "tenant " + strconv.Itoa(int(n*400)) }
	each := func(float64) string { next++; return "tenant " + strconv.Itoa(next) }
	for name, c := range map[string]struct {
		by    flow.Discipline[share]
		other func(float64) string
		fair  bool
	}{
		"fair, twenty others":         {fairly(), few, true},
		"fair, each with its own key": {fairly(), each, true},
		"first in, first out":         {nil, few, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent := 0
				waits, done := tenants(t, workers, service, gap, lasts, c.by, func(n float64) string {
					if n >= 0.05 {
						return "import"
					}
					sent++
					return c.other(n)
				})
				lost := sent - len(waits.list)
				t.Logf("p99 of their waits is %v; %d of %d items lost; the import has done %d", waits.p99(), lost, sent, done["import"])
				if fair := waits.p99() <= most && lost < 5; fair != c.fair {
					t.Errorf("the others wait for %v, want %v, and %d of their %d items were lost", waits.p99(), most, lost, sent)
				}
			})
		})
	}
}

// Try: one tenant sends 95 % of so much that each of four others wants more than a fair share, too. Right: all get the same, by Jain's index
// at least 0.95; first in, first out one gets nearly everything.
func TestF21AllGetTheSame(t *testing.T) {
	for name, c := range map[string]struct {
		by          flow.Discipline[share]
		least, most float64
	}{"fair": {fairly(), 0.95, 1}, "first in, first out": {nil, 0, 0.4}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, done := tenants(t, 1, 10*time.Millisecond, 500*time.Microsecond, 20*time.Second, c.by, func(n float64) string {
					if n >= 0.05 {
						return "import"
					}
					return "tenant " + strconv.Itoa(int(n*80))
				})
				var got []float64
				for _, n := range done {
					got = append(got, float64(n))
				}
				index := jain(got)
				t.Logf("%v: index %.3f", done, index)
				if len(got) != 5 || index < c.least || index > c.most {
					t.Errorf("%d tenants have an index of %.3f, want 5 with %v to %v", len(got), index, c.least, c.most)
				}
			})
		})
	}
}

// Try: for 20 s twice what can be done is asked for, and everybody who is refused tries ten times, as soon as the callers let it; then four
// fifths are asked for. Right: 1.1 times the calls reach the gate at most; what waits is gone when the spare capacity could have done it,
// within a fifth.
func TestF22ARetryStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, service = 10, 100 * time.Millisecond
		const perSecond = workers * 10
		gate := admission.NewGate(admission.Config{Limit: 2*perSecond + workers, Concurrency: workers, Target: 1})
		in := flow.NewInlet(flow.Edge[int]{Name: "calls", Capacity: 2*perSecond + workers})
		r := begin(t, in.Flow().ForEach(func(ctx context.Context, _ int) error {
			time.Sleep(service)
			return nil
		}, flow.Workers(workers)))
		door := admission.Behind(gate, in)
		caller := admission.NewCaller(admission.CallerConfig{MaxAttempts: 10})
		var wg sync.WaitGroup
		calls, refused := 0, new(atomic.Int64)
		call := func() {
			calls++
			wg.Go(func() {
				_ = caller.Do(context.Background(), func(ctx context.Context) admission.Answer {
					if _, err := door.Offer(ctx, 0); err != nil {
						refused.Add(1)
						return admission.Answer{Err: err, Refused: true, Again: true}
					}
					return admission.Answer{Accepted: true}
				})
			})
		}
		for start := time.Now(); time.Since(start) < 20*time.Second; time.Sleep(time.Second / (2 * perSecond)) {
			call()
		}
		over := time.Now()
		backlog := gate.Stats().Inside - workers
		const load = perSecond * 8 / 10
		for gate.Stats().Inside > workers && time.Since(over) < time.Minute {
			call()
			time.Sleep(time.Second / load)
		}
		gone, wanted := time.Since(over), time.Duration(backlog)*time.Second/(perSecond-load)
		wg.Wait()
		drain(t, r)
		sent := float64(gate.Stats().Offered.Sum()) / float64(calls)
		t.Logf("%.3f attempts for each of %d calls, %d refused; a backlog of %d was gone in %v, ideally in %v", sent, calls, refused.Load(), backlog, gone, wanted)
		if sent > 1.1 || refused.Load() < 500 {
			t.Errorf("%.3f attempts for each call, want at most 1.1, and %d were refused", sent, refused.Load())
		}
		if backlog < perSecond || gone > wanted*12/10 {
			t.Errorf("a backlog of %d was gone in %v, want within %v", backlog, gone, wanted*12/10)
		}
	})
}

// ranked is a request with a class.
type ranked struct {
	class stage.Criticality
	came  time.Time
}

func isCritical(r ranked) bool { return r.class == stage.Critical }

// Try: sheddable work of ten times what can be done arrives beside critical work for a third of it; both call something behind them, and what
// comes of both is stored in pairs, for which there is not quite enough room either. Right: what is critical is done as if it was
// alone; nobody sheds any of it: not the gate, not the gate of what it calls, which learns the class from the context, and not the
// edge, for which a pair is as critical as the more critical one of it.
func TestF23PriorityInversion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers, service, lasts = 10, 20 * time.Millisecond, 10 * time.Second
		const target = 200 * time.Millisecond
		const perSecond = 500
		gate := admission.NewGate(admission.Config{Limit: 400, Concurrency: workers, Classes: true})
		inner := admission.NewGate(admission.Config{Limit: workers, Classes: true, Target: 0.75})
		in := flow.NewInlet(flow.Edge[ranked]{Name: "requests", Capacity: 400, Discipline: flow.ByCriticality[ranked](nil)})
		var took times
		var shed, dropped atomic.Int64
		pairs := flow.Edge[[]ranked]{
			Name: "pairs", Capacity: 40, OnFull: flow.DropNewest, SettleDropped: flow.Ack, Discipline: flow.ByCriticality[[]ranked](nil),
			Dropped: func(rs []ranked, _ flow.DropReason) {
				if dropped.Add(1); slices.ContainsFunc(rs, isCritical) {
					t.Errorf("the pair %v was shed", rs)
				}
			},
		}
		r := begin(t, in.Flow().Parallel(workers, func(ctx context.Context, q ranked) (ranked, error) {
			if m, _ := stage.MetaFrom(ctx); m.Criticality != q.class {
				t.Errorf("a request of class %v has class %v in its context", q.class, m.Criticality)
			}
			time.Sleep(service / 2)
			if err := inner.Do(ctx, func(context.Context) error { time.Sleep(service / 2); return nil }); err != nil {
				shed.Add(1)
				return q, err
			}
			if isCritical(q) {
				took.add(time.Since(q.came))
			}
			return q, nil
		}, flow.Unordered, flow.OnError(flow.Skip)).Batch(2, service).Edge(pairs).ForEach(func(context.Context, []ranked) error {
			time.Sleep(6600 * time.Microsecond)
			return nil
		}))
		door := admission.Behind(gate, in)
		random := newDice()
		for start := time.Now(); time.Since(start) < lasts; time.Sleep(random.exp(time.Second / (perSecond * 103 / 10))) {
			q := ranked{stage.Sheddable, time.Now()}
			if random.r.IntN(103) < 3 {
				q.class = stage.Critical
			}
			_, _ = door.Offer(of(q.class), q)
		}
		drain(t, r)
		for name, s := range map[string]admission.Stats{"the gate": gate.Stats(), "the gate of what it calls": inner.Stats()} {
			equal(t, "critical work that "+name+" refused", s.Offered.Of(stage.Critical)-s.Admitted.Of(stage.Critical), 0)
		}
		equal(t, "critical work that reached what it calls", inner.Stats().Offered.Of(stage.Critical), gate.Stats().Offered.Of(stage.Critical))
		low := gate.Stats().Offered.Of(stage.Sheddable)
		t.Logf("p99 of %d critical ones is %v; of %d sheddable ones the gate let in %d, then %d were shed inside, and %d pairs",
			len(took.list), took.p99(), low, gate.Stats().Admitted.Of(stage.Sheddable), shed.Load(), dropped.Load())
		equal(t, "critical work that is done", int64(len(took.list)), gate.Stats().Offered.Of(stage.Critical))
		if p := took.p99(); p > target {
			t.Errorf("99 of 100 critical ones took %v, want at most %v", p, target)
		}
		if low < 9*perSecond*int64(lasts/time.Second) || dropped.Load() == 0 || shed.Load() == 0 {
			t.Errorf("%d sheddable ones came, %d and %d pairs were shed inside, want some of each", low, shed.Load(), dropped.Load())
		}
	})
}
