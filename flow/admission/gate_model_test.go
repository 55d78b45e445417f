package admission_test

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/stage"
)

// gateModel is a gate beside what it should be: lists of who is inside.
type gateModel struct {
	g      *admission.Gate
	cfg    admission.Config
	inside []inmate
	want   admission.Stats
}

type inmate struct {
	permit admission.Permit
	key    string
}

var modelQuota = map[string]int{"a": 1, "b": 3, "": -1}

func newGateModel(t *rapid.T) *gateModel {
	c := admission.Config{
		Limit: rapid.IntRange(1, 30).Draw(t, "limit"), Classes: rapid.Bool().Draw(t, "classes"),
		Target: rapid.SampledFrom([]float64{0.5, 0.9, 1}).Draw(t, "target"), Borrow: rapid.Bool().Draw(t, "borrow"),
		Quota: func(key string) int { return modelQuota[key] },
	}
	if c.Classes && c.Target < 1 {
		c.Reserved = rapid.SampledFrom([]float64{0, 0.05, 0.1}).Draw(t, "reserved")
	}
	c.Concurrency = rapid.IntRange(1, c.Limit).Draw(t, "concurrency")
	return &gateModel{g: admission.NewGate(c), cfg: c}
}

// share is a share of the limit in whole places, at least one.
func (w *gateModel) share(s float64) int {
	n := 0
	for float64(n+1) <= s*float64(w.cfg.Limit)+1e-6 {
		n++
	}
	return max(n, 1)
}

func (w *gateModel) of(key string) (n int) {
	for _, i := range w.inside {
		if i.key == key {
			n++
		}
	}
	return n
}

// decide is the order of shedding, written down from its description.
func (w *gateModel) decide(m stage.Meta) (admission.Reason, bool) {
	n, target := len(w.inside), w.share(w.cfg.Target)
	above := 1 - w.cfg.Target
	quota := modelQuota[m.Key]
	over := quota >= 0 && w.of(m.Key) >= quota && (!w.cfg.Borrow || n >= target)
	reserve := 0
	for float64(reserve) < w.cfg.Reserved*float64(w.cfg.Limit)-1e-6 {
		reserve++
	}
	c := w.cfg.Classes
	switch {
	case c && m.Criticality == stage.Sheddable && n >= w.share(w.cfg.Target-above):
		return admission.ReasonSheddable, true
	case c && m.Attempt > 1 && m.Criticality < stage.CriticalPlus && n >= w.share(w.cfg.Target-above/2):
		return admission.ReasonRetry, true
	case c && m.Criticality == stage.SheddablePlus && n >= target:
		return admission.ReasonDeferrable, true
	case over:
		return admission.ReasonQuota, true
	case !c && n >= target, n >= w.cfg.Limit, c && m.Criticality < stage.CriticalPlus && n >= max(w.cfg.Limit-reserve, 1):
		return admission.ReasonSaturated, true
	}
	return 0, false
}

func (w *gateModel) admit(t *rapid.T) {
	m := stage.Meta{
		Key: rapid.SampledFrom([]string{"a", "b", "c", ""}).Draw(t, "key"), Attempt: rapid.IntRange(0, 3).Draw(t, "attempt"),
		Criticality: stage.Criticality(rapid.IntRange(-2, 1).Draw(t, "class")),
	}
	why, refused := w.decide(m)
	rank := int(m.Criticality) + 2
	w.want.Offered[rank]++
	p, err := w.g.Admit(with(m))
	if !refused {
		if err != nil {
			t.Fatalf("%+v with %d inside: %v", m, len(w.inside), err)
		}
		w.want.Admitted[rank]++
		if len(w.inside) >= w.cfg.Concurrency {
			w.want.Queued[rank]++
		}
		w.inside = append(w.inside, inmate{p, m.Key})
		w.want.MaxInside = max(w.want.MaxInside, len(w.inside))
		return
	}
	if r := refusal(t, err); r.Reason != why || r.Retryable != (m.Attempt < 3 && m.Criticality != stage.Sheddable) || r.RetryAfter <= 0 {
		t.Fatalf("%+v with %d inside: %+v, want %v", m, len(w.inside), r, why)
	}
	w.want.Refused[why][rank]++
}

func (w *gateModel) release(t *rapid.T) {
	if len(w.inside) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.inside)-1).Draw(t, "who")
	for range rapid.IntRange(1, 2).Draw(t, "times") {
		w.inside[i].permit.Release()
	}
	w.inside = append(w.inside[:i], w.inside[i+1:]...)
}

func (w *gateModel) check(t *rapid.T) {
	s, want := w.g.Stats(), w.want
	want.Limit, want.Inside, want.Concurrency = w.cfg.Limit, len(w.inside), w.cfg.Concurrency
	want.Running = min(want.Inside, want.Concurrency)
	want.Waiting = want.Inside - want.Running
	want.ReserveIdle = s.ReserveIdle
	want.EstimatedWait, want.Mean, want.P50, want.P95 = s.EstimatedWait, s.Mean, s.P50, s.P95
	want.Load, want.Zone, want.Reversal, want.Crowded, want.Dominant = s.Load, s.Zone, s.Reversal, s.Crowded, s.Dominant
	if s != want {
		t.Fatalf("Stats() = %+v, want %+v", s, want)
	}
}

// A random sequence of calls is answered by the order of shedding, and every call is accounted for.
func TestGateAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newGateModel(t)
		t.Repeat(map[string]func(*rapid.T){"": w.check, "admit": w.admit, "admit another": w.admit, "release": w.release})
		for len(w.inside) > 0 {
			w.release(t)
		}
		w.check(t)
	})
}

// Many at once, with panics and goroutines that end: nothing is lost, nothing is over the limit.
func TestGateUnderAStorm(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 8, Concurrency: 3, Classes: true, Quota: func(string) int { return 3 }})
	const callers, rounds = 12, 500
	var counts [callers]struct{ admitted, refused int64 }
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 1)) //nolint:gosec // a test
			for range rounds {
				var one sync.WaitGroup
				one.Go(func() {
					defer func() { _ = recover() }()
					m := stage.Meta{Key: string(rune('a' + random.IntN(4))), Criticality: stage.Criticality(random.IntN(4) - 2)}
					p, err := g.Admit(with(m))
					if err != nil {
						counts[i].refused++
						return
					}
					defer p.Release()
					counts[i].admitted++
					if g.Stats().Inside > 8 {
						panic(errors.New("too many"))
					}
					switch random.IntN(4) {
					case 0:
						panic("on purpose")
					case 1:
						runtime.Goexit()
					case 2:
						p.Release()
					case 3:
						if err := p.Start(); err != nil {
							t.Error(err)
						}
						time.Sleep(time.Microsecond)
					}
				})
				one.Wait()
			}
		})
	}
	wg.Wait()
	s := g.Stats()
	var admitted, refused int64
	for _, c := range counts {
		admitted += c.admitted
		refused += c.refused
	}
	load, personal := s.RefusedInAll()
	equal(t, "admitted", s.Admitted.Sum(), admitted)
	equal(t, "refused", load+personal, refused)
	equal(t, "offered", s.Offered.Sum(), callers*rounds)
	equal(t, "inside", s.Inside, 0)
	equal(t, "running and waiting", s.Running+s.Waiting, 0)
	if s.MaxInside > 8 {
		t.Errorf("%d were inside", s.MaxInside)
	}
	admit(of(stage.CriticalPlus), t, g, 3) // and all of it can be used again
}
