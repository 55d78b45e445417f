package admission_test

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/stage"
)

func cost(perRung ...int64) func(stage.Meta, int) int64 {
	return func(_ stage.Meta, rung int) int64 { return perRung[rung] }
}

func spendGate(t checker, c admission.SpendConfig) (*admission.Gate, *admission.SpendLimiter) {
	t.Helper()
	s := spending(t, c)
	return admission.NewGate(admission.Config{Limit: 1000, Classes: true, Spend: s}), s
}

func TestSpendConfigSaysAllThatIsWrong(t *testing.T) {
	ok := admission.SpendConfig{Ceiling: 1, Cost: cost(1)}
	for _, c := range []struct {
		change func(*admission.SpendConfig)
		want   string
	}{
		{func(*admission.SpendConfig) {}, ""},
		{func(c *admission.SpendConfig) { c.Ceiling = 0 }, "SpendConfig.Ceiling must be 1 to 2^53, got 0"},
		{func(c *admission.SpendConfig) { c.Window = 1 }, "SpendConfig.Window must be >= 1ms, got 1ns"},
		{func(c *admission.SpendConfig) { c.Rungs = 9 }, "SpendConfig.Rungs must be 1 to 8, got 9"},
		{func(c *admission.SpendConfig) { c.ShedFrom = 0.95 }, "SpendConfig.ShedFrom must be above 0, and at most DowngradeFrom, got 0.95"},
		{func(c *admission.SpendConfig) { c.DowngradeFrom = 2 }, "SpendConfig.DowngradeFrom must be above 0, and at most 1, got 2"},
		{func(c *admission.SpendConfig) { c.Tenants = -1 }, "SpendConfig.Tenants must be 1 to 1048576, got -1"},
		{func(c *admission.SpendConfig) { c.Cost = nil }, "SpendConfig.Cost is required"},
	} {
		cfg := ok
		c.change(&cfg)
		_, err := admission.NewSpendLimiter(cfg)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

// As more is spent, speculative work goes first, then all the others get something cheaper, and only then nothing.
func TestTheLadderOfSpending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var alerts []admission.SpendLevel
		g, s := spendGate(t, admission.SpendConfig{
			Ceiling: 1000, Window: time.Minute, Cost: cost(10, 5, 1), Rungs: 3,
			Alert: func(l admission.SpendLevel) { alerts = append(alerts, l) },
		})
		rungs := func(ctx stage.Criticality) (n [4]int) { // how many get each rung, the last is refused
			for range 1000 {
				p, err := g.Admit(of(ctx))
				if err != nil {
					r := refusal(t, err)
					if r.Reason != admission.ReasonSpend || r.RetryAfter <= 0 || r.RetryAfter > 3*time.Second {
						t.Fatalf("%+v", r)
					}
					n[3]++
					continue
				}
				n[p.Rung()]++
				p.Release()
			}
			return n
		}
		equal(t, "Sheddable by rung", rungs(stage.Sheddable), [4]int{80, 0, 0, 920})
		equal(t, "Critical by rung", rungs(stage.Critical), [4]int{10, 10, 50, 930})
		equal(t, "CriticalPlus by rung", rungs(stage.CriticalPlus), [4]int{0, 0, 0, 1000})
		st := s.Stats()
		equal(t, "spent", st.Spent, 1000)
		equal(t, "downgraded", st.Downgraded, 60)
		equal(t, "the rate, over the first part of the window", st.Rate, 1000/3.0)
		want := []admission.SpendLevel{admission.SpendShedding, admission.SpendDowngrading, admission.SpendRefusing}
		if !slices.Equal(alerts, want) {
			t.Errorf("the alerts are %v, want %v", alerts, want)
		}
		equal(t, "degraded", g.Stats().Degraded.Of(stage.Critical), 60)
		time.Sleep(63 * time.Second)
		equal(t, "a window later", s.Stats().Spent, 0)
		release(admit(of(stage.Sheddable), t, g, 1)...)
		st = s.Stats()
		equal(t, "the level", st.Level, admission.SpendNormal)
		equal(t, "in all", st.Total, 1010)
	})
}

// An alert that panics, or ends its goroutine, leaves no place behind.
func TestAlertsThatDoNotReturn(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("on purpose") }, "goexit": runtime.Goexit} {
		g, _ := spendGate(t, admission.SpendConfig{Ceiling: 10, Cost: cost(9), Alert: func(admission.SpendLevel) { end() }})
		var wg sync.WaitGroup
		wg.Go(func() {
			defer func() { _ = recover() }()
			_, _ = g.Admit(t.Context())
			t.Errorf("%s: it has returned", name)
		})
		wg.Wait()
		equal(t, "inside", g.Stats().Inside, 0)
	}
}

// A loop that runs away inside every limit of concurrency hits the ceiling within a window, and in no window is more spent.
func TestARunawayLoopHitsTheCeiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const ceiling = 500
		s := spending(t, admission.SpendConfig{Ceiling: ceiling, Window: time.Minute, Cost: cost(7)})
		g := admission.NewGate(admission.Config{Limit: 100, Spend: s})
		type spent struct {
			at   time.Time
			cost int64
		}
		var bills []spent
		begin := time.Now()
		hit := time.Duration(0)
		for time.Since(begin) < 5*time.Minute {
			p, err := g.Admit(t.Context()) // one at a time: no other limit notices
			switch {
			case err == nil:
				bills = append(bills, spent{time.Now(), 7})
				p.Release()
			case hit == 0:
				wantReason(t, err, admission.ReasonSpend)
				hit = time.Since(begin)
			}
			time.Sleep(100 * time.Millisecond)
		}
		if hit == 0 || hit > time.Minute {
			t.Errorf("the ceiling was hit after %v", hit)
		}
		for i := range bills {
			sum := int64(0)
			for _, b := range bills[i:] {
				if b.at.Sub(bills[i].at) < time.Minute {
					sum += b.cost
				}
			}
			if sum > ceiling {
				t.Fatalf("%d were spent in the minute from %v on", sum, bills[i].at.Sub(begin))
			}
		}
		if total := int64(len(bills)) * 7; total < 4*ceiling {
			t.Errorf("%d were spent in five windows of %d: the limiter takes too much away", total, ceiling)
		}
	})
}

// No number at a time gets beyond the ceiling: the cost is reserved before.
func TestSpendingIsReserved(t *testing.T) {
	s := spending(t, admission.SpendConfig{Ceiling: 100, Window: time.Hour, Cost: cost(3)})
	g := admission.NewGate(admission.Config{Limit: 1000, Spend: s})
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 100 {
				if p, err := g.Admit(t.Context()); err == nil {
					defer p.Release()
				}
			}
		})
	}
	wg.Wait()
	equal(t, "spent", s.Stats().Spent, 99)
	equal(t, "let in", g.Stats().Admitted.Sum(), 33)
	equal(t, "refused", g.Stats().RefusedFor(admission.ReasonSpend), 1600-33)
}

// What it has cost replaces what it was going to cost.
func TestCharge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := spendGate(t, admission.SpendConfig{
			Ceiling: 100, Cost: cost(10), Budget: func(string) int64 { return 80 },
		})
		key := with(stage.Meta{Key: "a"})
		p := admit(key, t, g, 2)
		p[0].Charge(1)
		equal(t, "spent", s.Stats().Spent, 11)
		p[0].Charge(30)
		equal(t, "spent", s.Stats().Spent, 40)
		p[0].Charge(-5)
		equal(t, "spent", s.Stats().Spent, 10)
		p[1].Charge(75)
		_, err := g.Admit(key)
		wantReason(t, err, admission.ReasonBudget)
		equal(t, "it is the caller's own", refusal(t, err).Reason.Personal(), true)
		_, err = g.Admit(with(stage.Meta{Key: "b"}))
		if err != nil {
			t.Errorf("another tenant: %v", err)
		}
		time.Sleep(2 * time.Minute)
		p[0].Charge(0) // long forgotten
		p[1].Charge(5)
		equal(t, "spent, two minutes later", s.Stats().Spent, 0)
		p[1].Charge(25)
		equal(t, "what is told late and is more counts now", s.Stats().Spent, 20)
		release(p...)
		p[1].Charge(99)
		equal(t, "in all, but not after the release", s.Stats().Total, 0+25+10)
	})
}

// Money spent on work that ended behind its deadline is counted.
func TestMoneySpentInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := spendGate(t, admission.SpendConfig{Ceiling: 100, Cost: cost(10)})
		ctx := with(stage.Meta{Deadline: time.Now().Add(time.Second)})
		p := admit(ctx, t, g, 2)
		p[0].Release()
		time.Sleep(2 * time.Second)
		p[1].Charge(15)
		p[1].Release()
		equal(t, "in vain", s.Stats().Late, 15)
		equal(t, "the gate's count", g.Stats().Late, 1)
	})
}

// While all accounts are in use, further tenants share one. Those that have nothing left in the window make room.
func TestAccountsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, s := spendGate(t, admission.SpendConfig{
			Ceiling: 1000, Cost: cost(10), Tenants: 2, Budget: func(key string) int64 {
				if key == "free" {
					return -1
				}
				return 30
			},
		})
		spend := func(key string) (n int) {
			for range 5 {
				if p, err := g.Admit(with(stage.Meta{Key: key})); err == nil {
					n++
					p.Release()
				}
			}
			return n
		}
		equal(t, "a", spend("a"), 3)
		equal(t, "b", spend("b"), 3)
		equal(t, "c, in the account of the others", spend("c"), 3)
		equal(t, "d, which shares that", spend("d"), 0)
		equal(t, "one without a budget", spend("free"), 5)
		equal(t, "accounts", s.Stats().Tenants, 2)
		time.Sleep(2 * time.Minute)
		equal(t, "c later, with one of its own", spend("c"), 3)
		equal(t, "d later", spend("d"), 3)
		equal(t, "accounts", s.Stats().Tenants, 2)
	})
}
