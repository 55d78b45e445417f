package admission_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/stage"
)

func spending(t checker, c admission.SpendConfig) *admission.SpendLimiter {
	t.Helper()
	s, err := admission.NewSpendLimiter(c)
	if err != nil {
		t.Fatalf("NewSpendLimiter: %v", err)
	}
	return s
}

// Neither answer allocates, whatever it takes to find it.
func TestAdmitDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Log("with the race detector the numbers are its own; the others count them")
	}
	one := func(stage.Meta, int) int64 { return 1 }
	full := admission.Config{
		Limit: 8, Target: 1, Classes: true, Quota: func(string) int { return 4 },
		Spend: spending(t, admission.SpendConfig{Ceiling: 1 << 40, Cost: one, Rungs: 3, Budget: func(string) int64 { return 1 << 39 }}),
	}
	poor := full
	poor.Spend = spending(t, admission.SpendConfig{Ceiling: 1, Cost: func(stage.Meta, int) int64 { return 2 }})
	key := with(stage.Meta{Key: "a", Deadline: time.Now().Add(time.Hour)})
	var keys [16]context.Context
	for i := range keys {
		keys[i] = with(stage.Meta{Key: fmt.Sprint("tenant", i)}) //nolint:fatcontext // each has one of its own
	}
	i := 0
	for name, c := range map[string]struct {
		cfg    admission.Config
		inside int
		ctx    func() context.Context
		ok     bool
	}{
		"admitted":              {admission.Config{Limit: 8}, 0, context.Background, true},
		"admitted, all of it":   {full, 3, func() context.Context { return key }, true},
		"admitted, any tenant":  {full, 3, func() context.Context { i++; return keys[i%len(keys)] }, true},
		"refused: saturated":    {admission.Config{Limit: 8}, 7, context.Background, false},
		"refused: quota":        {full, 4, func() context.Context { return key }, false},
		"refused: money":        {poor, 0, context.Background, false},
		"refused: the deadline": {admission.Config{Limit: 8}, 0, func() context.Context { return late }, false},
	} {
		g := admission.NewGate(c.cfg)
		if c.inside > 0 {
			admit(key, t, g, c.inside)
		}
		got := testing.AllocsPerRun(1000, func() {
			p, err := g.Admit(c.ctx())
			if (err == nil) != c.ok {
				t.Fatalf("%s: %v", name, err)
			}
			p.Release()
		})
		if got != 0 && !raceEnabled {
			t.Errorf("%s: %v allocations, want none", name, got)
		}
	}
}

var late = with(stage.Meta{Deadline: time.Now().Add(-time.Hour)})

func TestLimiterDoesNotAllocate(t *testing.T) {
	l := limiter(t, 1, 0)
	nothing := func(context.Context) error { return nil }
	run := func() {
		if err := l.Do(context.Background(), nothing); err != nil {
			t.Fatal(err)
		}
	}
	if got := testing.AllocsPerRun(1000, run); got != 0 && !raceEnabled {
		t.Errorf("%v allocations for one that runs", got)
	}
	if _, err := l.Acquire(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := testing.AllocsPerRun(1000, func() { _ = l.Do(context.Background(), nothing) }); got != 0 && !raceEnabled {
		t.Errorf("%v allocations for one that is refused", got)
	}
}

// A million forged tenants leave nothing behind: not in the quotas, not in the budgets.
func TestForgedTenantsTakeNoMemory(t *testing.T) {
	n := 1_000_000
	if raceEnabled {
		n = 30_000
	}
	g := admission.NewGate(admission.Config{
		Limit: 100, Quota: func(string) int { return 1 },
		Spend: spending(t, admission.SpendConfig{
			Ceiling: 1 << 50, Cost: func(stage.Meta, int) int64 { return 1 }, Budget: func(string) int64 { return 1 << 40 },
		}),
	})
	offer := func(from, to int) {
		for i := from; i < to; i++ {
			m := stage.Meta{Key: fmt.Sprintf("forged-%0200d", i)}
			p, err := g.Admit(with(m))
			if err != nil {
				t.Fatal(err)
			}
			p.Release()
		}
	}
	offer(0, 5000)
	before := heap()
	offer(5000, n)
	if grown := heap() - before; grown > 1<<20 {
		t.Errorf("%d tenants took %d KiB", n, grown>>10)
	}
	runtime.KeepAlive(g)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
