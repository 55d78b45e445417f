package admission_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/stage"
)

// Twice as much arrives as can be finished, at random, and each piece is worth something for 500 ms. The deadline rule at the door, and
// once more where the work begins, keeps what is finished in time near what can be done. N8 says 0.93, and this is 0.934 on the average; but
// what happens at the same moment happens in any order, and some runs are a hundredth worse. Without the rule it is half of that.
func TestGoodputUnderOverload(t *testing.T) {
	for name, c := range map[string]struct {
		workers int
		service time.Duration
		lasts   time.Duration
	}{"one worker": {1, 10 * time.Millisecond, 60 * time.Second}, "forty": {40, 50 * time.Millisecond, 12 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				capacity := float64(c.workers) / c.service.Seconds()
				places := int(2 * capacity)
				g := admission.NewGate(admission.Config{Limit: places, Target: 1, Concurrency: c.workers})
				pool := limiter(t, c.workers, places)
				random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
				exp := func(mean float64) time.Duration {
					return time.Duration(random.ExpFloat64() * mean * float64(time.Second))
				}
				var inTime, late atomic.Int64
				var wg sync.WaitGroup
				for begin := time.Now(); time.Since(begin) < c.lasts; time.Sleep(exp(1 / (2 * capacity))) {
					due, takes := time.Now().Add(500*time.Millisecond), exp(c.service.Seconds())
					p, err := g.Admit(with(stage.Meta{Deadline: due}))
					if err != nil {
						continue
					}
					wg.Go(func() {
						defer p.Release()
						if err := pool.Do(t.Context(), func(context.Context) error {
							if p.Start() != nil {
								return nil //nolint:nilerr // it is too late for it, which is no mistake
							}
							time.Sleep(takes)
							if time.Now().After(due) {
								late.Add(1)
							} else {
								inTime.Add(1)
							}
							return nil
						}); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				goodput := float64(inTime.Load()) / (capacity * c.lasts.Seconds())
				s := g.Stats()
				t.Logf("goodput %.3f of capacity; %d late, %d expired in the queue, %d refused", goodput, late.Load(), s.Expired.Sum(), s.RefusedFor(admission.ReasonDeadline))
				if goodput < 0.9 {
					t.Errorf("goodput is %.3f of capacity, want 0.9", goodput)
				}
				equal(t, "late, by the gate", s.Late >= late.Load(), true)
			})
		})
	}
}
