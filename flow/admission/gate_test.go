package admission_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/flow/sizing"
	"github.com/weir-go/weir/stage"
)

func TestConfigSaysAllThatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name string
		cfg  admission.Config
		want string // "": nothing
	}{
		{"the smallest", admission.Config{Limit: 1}, ""},
		{"everything", admission.Config{
			Limit: 200, Concurrency: 20, Target: 0.8, Classes: true, Reserved: 0.1, ScaleAt: 0.7, MaxAttempts: 5,
			Quota: func(string) int { return 3 }, Borrow: true,
		}, ""},
		{"the reserve may be all above the target", admission.Config{Limit: 10, Classes: true, Reserved: 0.1}, ""},
		{"no limit", admission.Config{}, "Config.Limit must be 1 to 2147483647, got 0"},
		{"too wide", admission.Config{Limit: 10, Concurrency: 11}, "Config.Concurrency must be 1 to Limit, got 11"},
		{"a target of more than all", admission.Config{Limit: 10, Target: 1.1}, "Config.Target must be above 0, and at most 1, got 1.1"},
		{"too much reserved", admission.Config{Limit: 10, Classes: true, Target: 0.5, Reserved: 0.2}, "Config.Reserved must be 0 to 0.1, got 0.2"},
		{"reserved for nobody", admission.Config{Limit: 10, Reserved: 0.1}, "Config.Reserved needs Classes"},
		{"reserved below the target", admission.Config{Limit: 10, Classes: true, Target: 0.95, Reserved: 0.1}, "Config.Reserved must lie between Target and Limit"},
		{"scaling behind shedding", admission.Config{Limit: 10, ScaleAt: 0.9}, "Config.ScaleAt must be above 0, and below Target, got 0.9"},
		{"attempts", admission.Config{Limit: 10, MaxAttempts: -1}, "Config.MaxAttempts must be >= 1, got -1"},
		{"borrowing nothing", admission.Config{Limit: 10, Borrow: true}, "Config.Borrow needs Quota"},
	} {
		err := c.cfg.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	defer func() {
		if err, _ := recover().(error); err == nil || strings.Count(err.Error(), "\n") != 1 {
			t.Errorf("NewGate panics with %v, want two findings", err)
		}
	}()
	admission.NewGate(admission.Config{Target: 2})
}

// Without classes everything goes at the target.
func TestGateWithoutClassesStopsAtTheTarget(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 10})
	admit(of(stage.Sheddable), t, g, 9)
	for _, c := range []stage.Criticality{stage.Sheddable, stage.Critical, stage.CriticalPlus} {
		_, err := g.Admit(of(c))
		wantReason(t, err, admission.ReasonSaturated)
	}
	equal(t, "inside", g.Stats().Inside, 9)
}

// Each class stops at a level of its own, and what must be kept gets the rest.
func TestGateShedsInOrder(t *testing.T) {
	again := stage.Meta{Attempt: 2}
	keep := stage.Meta{Attempt: 2, Criticality: stage.CriticalPlus}
	for _, c := range []struct {
		name string
		meta stage.Meta
		from int
		why  admission.Reason
	}{
		{"Sheddable", stage.Meta{Criticality: stage.Sheddable}, 80, admission.ReasonSheddable},
		{"below the lowest class", stage.Meta{Criticality: -100}, 80, admission.ReasonSheddable},
		{"a Sheddable retry", stage.Meta{Criticality: stage.Sheddable, Attempt: 2}, 80, admission.ReasonSheddable},
		{"a retry", again, 85, admission.ReasonRetry},
		{"SheddablePlus", stage.Meta{Criticality: stage.SheddablePlus}, 90, admission.ReasonDeferrable},
		{"Critical", stage.Meta{}, 95, admission.ReasonSaturated},
		{"a retry of CriticalPlus", keep, 100, admission.ReasonSaturated},
		{"CriticalPlus", stage.Meta{Criticality: stage.CriticalPlus}, 100, admission.ReasonSaturated},
		{"above the highest class", stage.Meta{Criticality: 100}, 100, admission.ReasonSaturated},
	} {
		g := admission.NewGate(admission.Config{Limit: 100, Classes: true, Reserved: 0.05})
		admit(of(stage.CriticalPlus), t, g, c.from-1)
		equal(t, "the idle reserve", g.Stats().ReserveIdle, min(5, 100-(c.from-1)))
		admit(with(c.meta), t, g, 1)
		_, err := g.Admit(with(c.meta))
		if r := refusal(t, err); r.Reason != c.why {
			t.Errorf("%s is refused for %v, want %v", c.name, r.Reason, c.why)
		}
	}
}

func TestOrderCanBePrinted(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 100, Classes: true, Reserved: 0.05, Quota: func(string) int { return 1 }, Borrow: true})
	var lines []string
	for _, r := range g.Order() {
		lines = append(lines, r.String())
	}
	equal(t, "the order", strings.Join(lines, "\n"), `from 1: what can't meet its deadline (deadline)
from 80: Sheddable (sheddable)
from 85: retries below CriticalPlus (retry)
from 90: SheddablePlus (deferrable)
from 90: tenants over their quota (quota)
from 95: Critical (saturated)
from 100: CriticalPlus (saturated)`)
	plain := admission.NewGate(admission.Config{Limit: 10}).Order()
	equal(t, "the last of a plain gate", plain[len(plain)-1].String(), "from 9: everything (saturated)")
	equal(t, "an unknown reason", admission.Reason(200).String(), "Reason(200)")
}

// The smallest gates let somebody in.
func TestSmallGates(t *testing.T) {
	for limit := 1; limit <= 12; limit++ {
		for _, classes := range []bool{false, true} {
			for c := stage.Sheddable; c <= stage.CriticalPlus; c++ {
				g := admission.NewGate(admission.Config{Limit: limit, Classes: classes})
				admit(of(c), t, g, 1)
			}
		}
	}
}

// A tenant gets what it may have, and 429 for the rest; the others do not notice.
func TestQuota(t *testing.T) {
	quota := map[string]int{"a": 2, "blocked": 0, "free": -1}
	g := admission.NewGate(admission.Config{Limit: 20, Quota: func(key string) int { return quota[key] }})
	a := with(stage.Meta{Key: "a"})
	permits := admit(a, t, g, 2)
	for _, key := range []string{"a", "blocked", "unknown"} {
		_, err := g.Admit(with(stage.Meta{Key: key}))
		wantReason(t, err, admission.ReasonQuota)
		equal(t, "it is the caller's own", refusal(t, err).Reason.Personal(), true)
	}
	free := admit(with(stage.Meta{Key: "free"}), t, g, 10)
	permits[0].Release()
	permits[0].Release()
	admit(a, t, g, 1)
	_, err := g.Admit(a)
	wantReason(t, err, admission.ReasonQuota)
	release(free...)
	s := g.Stats()
	load, personal := s.RefusedInAll()
	equal(t, "refused because of the load", load, 0)
	equal(t, "refused because of the caller", personal, 4)
	equal(t, "the same by its reason", s.RefusedFor(admission.ReasonQuota), 4)
	equal(t, "by a reason there is not", s.RefusedFor(200), 0)
}

// Of a key the first 256 bytes count.
func TestLongKeysAreOneTenant(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 20, Quota: func(string) int { return 1 }})
	long := strings.Repeat("k", 256)
	admit(with(stage.Meta{Key: long + "1"}), t, g, 1)
	_, err := g.Admit(with(stage.Meta{Key: long + "2"}))
	wantReason(t, err, admission.ReasonQuota)
	admit(with(stage.Meta{Key: long[1:]}), t, g, 1)
}

// Over its quota a tenant may use what nobody else needs.
func TestBorrowing(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 10, Classes: true, Borrow: true, Quota: func(string) int { return 2 }})
	a := with(stage.Meta{Key: "a"})
	admit(a, t, g, 9)
	_, err := g.Admit(a)
	wantReason(t, err, admission.ReasonQuota)
	admit(with(stage.Meta{Key: "b"}), t, g, 1)
}

// Whose answer would come too late is refused: the mean wait and the 95th percentile of the service time are more than is left.
func TestDeadlineRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := admission.NewGate(admission.Config{Limit: 50, Concurrency: 1})
		work(t, g, 60, 10*time.Millisecond)
		left := func(d time.Duration) context.Context { return with(stage.Meta{Deadline: time.Now().Add(d)}) }
		_, err := g.Admit(left(0))
		wantReason(t, err, admission.ReasonDeadline)
		if r := refusal(t, err); r.Retryable || r.RetryAfter <= 0 {
			t.Errorf("%+v", r)
		}
		release(admit(left(time.Nanosecond), t, g, 1)...) // an idle gate tries
		work(t, g, 100, 10*time.Millisecond)
		inside := admit(context.Background(), t, g, 3) // a wait of 30 ms, and 10 ms for itself
		equal(t, "the wait", g.EstimatedWait(), 30*time.Millisecond)
		_, err = g.Admit(left(40*time.Millisecond - 1))
		wantReason(t, err, admission.ReasonDeadline)
		p := admit(left(40*time.Millisecond), t, g, 1)
		equal(t, "what it is told", p[0].EstimatedWait(), 30*time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		_, err = g.Admit(ctx) // the context's own deadline counts as well
		wantReason(t, err, admission.ReasonDeadline)
		release(append(inside, p...)...)
	})
}

// A deadline in a thousand years is none that anybody misses.
func TestADeadlineFarAway(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 3})
	ctx := with(stage.Meta{Deadline: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)})
	permits := admit(ctx, t, g, 2)
	for _, p := range permits {
		if err := p.Start(); err != nil {
			t.Error(err)
		}
	}
	release(permits...)
	equal(t, "late", g.Stats().Late, 0)
}

// The wait comes from the mean. With nine short pieces of work and a long one in ten, the median would say a tenth of it.
func TestTheWaitComesFromTheMean(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := admission.NewGate(admission.Config{Limit: 50, Concurrency: 1})
		for range 8 {
			work(t, g, 9, time.Millisecond)
			work(t, g, 1, 91*time.Millisecond)
		}
		release(admit(context.Background(), t, g, 0)...)
		s := g.Stats()
		equal(t, "the median", s.P50, time.Millisecond)
		equal(t, "the 95th percentile", s.P95, 91*time.Millisecond)
		if s.Mean < 9*time.Millisecond || s.Mean > 12*time.Millisecond {
			t.Errorf("the mean is %v", s.Mean)
		}
		defer release(admit(context.Background(), t, g, 1)...)
		equal(t, "the wait", g.EstimatedWait(), s.Mean)
	})
}

// When service times triple, admission follows within 100 completions.
func TestEstimatesFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := admission.NewGate(admission.Config{Limit: 50, Concurrency: 1})
		ask := func() bool {
			defer release(admit(context.Background(), t, g, 2)...)
			p, err := g.Admit(with(stage.Meta{Deadline: time.Now().Add(45 * time.Millisecond)}))
			p.Release()
			return err == nil
		}
		work(t, g, 1000, 10*time.Millisecond)
		equal(t, "20 ms of wait and 10 ms of work in 45 ms", ask(), true)
		completions := 0
		for ; ask(); completions += 3 {
			work(t, g, 1, 30*time.Millisecond)
		}
		if completions > 100 {
			t.Errorf("it took %d completions", completions)
		}
		work(t, g, 100, 30*time.Millisecond)
		s := g.Stats()
		equal(t, "the mean", s.Mean, 30*time.Millisecond)
		equal(t, "the 95th percentile", s.P95, 30*time.Millisecond)
		work(t, g, 100, 10*time.Millisecond)
		equal(t, "and back", ask(), true)
	})
}

// Behind the gate a few work in order on what many brought. From when permits come and go the gate knows how long the work takes, and
// how many wait for it.
func TestGateTellsWorkFromWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := admission.NewGate(admission.Config{Limit: 50, Concurrency: 2})
		pool, err := admission.NewLimiter(2, 50)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for range 40 {
			p := admit(context.Background(), t, g, 1)
			wg.Go(func() {
				defer release(p...)
				if err := pool.Do(t.Context(), func(context.Context) error { time.Sleep(10 * time.Millisecond); return nil }); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		s := g.Stats()
		equal(t, "working", s.Running, 2)
		equal(t, "waiting", s.Waiting, 38)
		equal(t, "the wait, when nothing is finished yet", s.EstimatedWait, 0)
		time.Sleep(100*time.Millisecond + 1)
		s = g.Stats()
		equal(t, "waiting after 100 ms", s.Waiting, 18)
		equal(t, "the wait behind 20", s.EstimatedWait, 100*time.Millisecond)
		wg.Wait()
		s = g.Stats()
		equal(t, "the mean", s.Mean, 10*time.Millisecond)
		equal(t, "the 95th percentile", s.P95, 10*time.Millisecond)
		equal(t, "queued", s.Queued.Sum(), 38)
		equal(t, "the most inside", s.MaxInside, 40)
	})
}

// Start is the truth where the order is another one, and the last look at the deadline.
func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := admission.NewGate(admission.Config{Limit: 10, Concurrency: 1})
		work(t, g, 96, 10*time.Millisecond)
		first := admit(context.Background(), t, g, 1)[0]
		soon := admit(with(stage.Meta{Deadline: time.Now().Add(50 * time.Millisecond)}), t, g, 1)[0]
		last := admit(context.Background(), t, g, 1)[0]
		time.Sleep(5 * time.Millisecond)
		for _, p := range []admission.Permit{last, last} {
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
		}
		equal(t, "waiting", g.Stats().Waiting, 1)
		time.Sleep(10 * time.Millisecond)
		last.Release()
		if err := last.Start(); err != nil {
			t.Errorf("after the release: %v", err)
		}
		equal(t, "the mean, of its own time", g.Stats().Mean, 10*time.Millisecond)
		time.Sleep(26 * time.Millisecond) // 9 ms are left
		for range 2 {
			wantReason(t, soon.Start(), admission.ReasonDeadline)
		}
		s := g.Stats()
		equal(t, "expired", s.Expired.Sum(), 1)
		equal(t, "refused at the door", s.RefusedFor(admission.ReasonDeadline), 0)
		time.Sleep(10 * time.Millisecond)
		release(first, soon)
		s = g.Stats()
		equal(t, "late", s.Late, 1)
		equal(t, "the mean, without what was not worked on", s.Mean, (94*10+10+51)*time.Millisecond/96)
		equal(t, "inside", s.Inside, 0)
	})
}

// Whether to come again depends on the attempt and the class.
func TestDoNotRetry(t *testing.T) {
	for _, c := range []struct {
		meta stage.Meta
		want bool
	}{
		{stage.Meta{}, true},
		{stage.Meta{Attempt: 2}, true},
		{stage.Meta{Attempt: 3}, false},
		{stage.Meta{Criticality: stage.Sheddable}, false},
		{stage.Meta{Criticality: stage.SheddablePlus}, true},
	} {
		g := admission.NewGate(admission.Config{Limit: 1})
		admit(context.Background(), t, g, 1)
		_, err := g.Admit(with(c.meta))
		r := refusal(t, err)
		if r.Retryable != c.want || r.RetryAfter != time.Second {
			t.Errorf("%+v: %+v", c.meta, r)
		}
		want := "admission: refused: saturated, retry after 1s"
		if !c.want {
			want = "admission: refused: saturated, not to be retried"
		}
		equal(t, "the text", r.Error(), want)
	}
}

// One refusal serves many, and follows the estimate.
func TestRefusalsAreRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := admission.NewGate(admission.Config{Limit: 4, Target: 1, Concurrency: 1})
		work(t, g, 64, 10*time.Millisecond)
		inside := admit(context.Background(), t, g, 4)
		ask := func() *admission.Refusal {
			_, err := g.Admit(context.Background())
			return refusal(t, err)
		}
		first := ask()
		equal(t, "the wait", first.EstimatedWait, 40*time.Millisecond)
		equal(t, "how long to stay away", first.RetryAfter, 40*time.Millisecond)
		time.Sleep(time.Hour)
		equal(t, "the same again", ask(), first)
		release(inside...)
		inside = admit(context.Background(), t, g, 4)
		next := ask()
		if next == first || next.EstimatedWait <= first.EstimatedWait || first.EstimatedWait != 40*time.Millisecond {
			t.Errorf("after an hour of work %v, before %v", next, first)
		}
		release(inside...)
	})
}

func TestAContextThatHasEnded(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 1})
	gone := errors.New("gone")
	if _, err := g.Admit(canceled(gone)); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	_, err := g.Admit(ctx)
	wantReason(t, err, admission.ReasonDeadline)
	s := g.Stats()
	equal(t, "offered", s.Offered.Sum(), 1)
	equal(t, "inside", s.Inside, 0)
}

// What a scaler reads is the load that was offered: shedding does not make it less.
func TestLoadIsWhatIsOffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := admission.NewGate(admission.Config{Limit: 2, Target: 1, Concurrency: 1, ScaleAt: 0.75})
		equal(t, "the load of an idle gate", g.Stats().Load, 0)
		offer := func(every time.Duration, n int) (admitted int) {
			for range n {
				if p, err := g.Admit(t.Context()); err == nil {
					admitted++
					time.AfterFunc(10*time.Millisecond, p.Release)
				}
				time.Sleep(every)
			}
			return admitted
		}
		offer(20*time.Millisecond, 1000)
		s := g.Stats()
		if s.Load < 0.49 || s.Load > 0.51 || s.Zone != sizing.ZoneNormal || s.ScaleOut || s.Reversal {
			t.Errorf("at half load: %v, %v, scale out %v, reversal %v", s.Load, s.Zone, s.ScaleOut, s.Reversal)
		}
		admitted := offer(2*time.Millisecond, 10000)
		s = g.Stats()
		if admitted > 5000 || s.Load < 4.9*s.Mean.Seconds()/0.01 || s.Zone != sizing.ZoneUnsteady || !s.ScaleOut || !s.Reversal {
			t.Errorf("at five times the load %d got in: %v, %v, scale out %v, reversal %v", admitted, s.Load, s.Zone, s.ScaleOut, s.Reversal)
		}
		time.Sleep(11 * time.Second)
		s = g.Stats()
		if s.Load != 0 || s.Reversal {
			t.Errorf("when it is over: %v, reversal %v", s.Load, s.Reversal)
		}
	})
}

// Bulk under a label that protects it is reported.
func TestRelabelledBulk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := admission.NewGate(admission.Config{Limit: 100, Classes: true})
		offer := func(c stage.Criticality, n int) {
			for range n {
				release(admit(of(c), t, g, 1)...)
			}
		}
		offer(stage.CriticalPlus, 60)
		equal(t, "with one class", g.Stats().Crowded, false)
		offer(stage.SheddablePlus, 59)
		s := g.Stats()
		if !s.Crowded || s.Dominant != stage.CriticalPlus {
			t.Errorf("60 of 119: %v %v", s.Crowded, s.Dominant)
		}
		equal(t, "the offered of that class", s.Offered.Of(stage.CriticalPlus), 60)
		offer(stage.SheddablePlus, 100)
		equal(t, "bulk as bulk", g.Stats().Crowded, false)
		time.Sleep(11 * time.Second)
		equal(t, "when it is over", g.Stats().Crowded, false)
	})
}

// However the function ends, its permit is back.
func TestGateDo(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 1})
	broken := errors.New("broken")
	for name, end := range map[string]func() error{
		"return": func() error { return nil },
		"error":  func() error { return broken },
		"panic":  func() error { panic("on purpose") },
		"goexit": func() error { runtime.Goexit(); return nil },
	} {
		var wg sync.WaitGroup
		wg.Go(func() {
			defer func() { _ = recover() }()
			err := g.Do(context.Background(), func(ctx context.Context) error {
				if admission.FromContext(ctx) == (admission.Permit{}) {
					t.Error("there is no permit")
				}
				wantReason(t, g.Do(ctx, func(context.Context) error { t.Error("two are inside"); return nil }), admission.ReasonSaturated)
				return end()
			})
			if want := map[string]error{"error": broken}[name]; !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
		})
		wg.Wait()
		if n := g.Stats().Inside; n != 0 {
			t.Fatalf("after %s %d are inside", name, n)
		}
	}
}

// Work that stays inside for long, a stream for example, does not keep an estimate alive that is wrong by now.
func TestOneThatStaysDoesNotKeepAllOthersOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := admission.NewGate(admission.Config{Limit: 20, Concurrency: 10})
		work(t, g, 96, time.Second) // it was slow,
		stays := admit(context.Background(), t, g, 1)
		ask := func() (in int) {
			for range 1000 { // and takes 10 ms now
				p, err := g.Admit(with(stage.Meta{Deadline: time.Now().Add(500 * time.Millisecond)}))
				if err == nil {
					in++
					if err := p.Start(); err != nil {
						t.Errorf("it was let in, and must not begin: %v", err)
					}
					time.Sleep(10 * time.Millisecond)
					p.Release()
				}
				time.Sleep(90 * time.Millisecond)
			}
			return in
		}
		ask() // one at a time: that is a minute
		if in := ask(); in != 1000 {
			t.Errorf("%d of 1000 were let in", in)
		}
		release(stays...)

		// Where the estimate is right, one is tried at a time, and only while a worker is free.
		work(t, g, 96, time.Second)
		time.Sleep(time.Hour)
		inside := admit(context.Background(), t, g, 9)
		late := func() error {
			p, err := g.Admit(with(stage.Meta{Deadline: time.Now().Add(500 * time.Millisecond)}))
			inside = append(inside, p)
			return err
		}
		if err := late(); err != nil {
			t.Errorf("a worker is free, and nobody is tried: %v", err)
		}
		wantReason(t, late(), admission.ReasonDeadline)
		inside[0].Release()
		time.Sleep(999 * time.Millisecond)
		wantReason(t, late(), admission.ReasonDeadline) // still one on trial
		time.Sleep(time.Millisecond)
		if err := late(); err != nil {
			t.Errorf("the one on trial is overdue, and holds up all others: %v", err)
		}
		inside[9].Release()
		time.Sleep(499 * time.Millisecond)
		wantReason(t, late(), admission.ReasonDeadline) // something has ended a moment ago
		inside = append(inside, admit(context.Background(), t, g, 2)...)
		time.Sleep(time.Hour)
		wantReason(t, late(), admission.ReasonDeadline) // no worker is free
		release(inside...)
	})
}
