package admission_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/stage"
)

// T64. Try: a dependency that takes ten times as long for an hour, then as long as before; and a limit that is all used, with nobody
// waiting. Right: the estimates are those of now, in the bad hour and behind it, and no notion of what is normal has moved: as much is
// let in as at the start. At the limit nothing is refused that fits, and the limit does not move.
func TestT64NothingDrifts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const fast, slow, places = 50 * time.Millisecond, 500 * time.Millisecond, 10
		g := admission.NewGate(admission.Config{Limit: places, Target: 1, Concurrency: places})
		lim := limiter(t, places, 0)
		// round has as many callers as there are places make calls that take d, all at the same time, for so long.
		round := func(d, lasts time.Duration) {
			var callers sync.WaitGroup
			for range places {
				callers.Go(func() {
					for began := time.Now(); time.Since(began) < lasts; {
						if err := g.Do(t.Context(), func(ctx context.Context) error {
							return lim.Do(ctx, func(context.Context) error { time.Sleep(d); return nil })
						}); err != nil {
							t.Errorf("at the limit, and no more: %v", err)
							return
						}
					}
				})
			}
			callers.Wait()
		}
		// admitted is how many pieces of work that must be done in 200 ms are let in, with all places but one taken.
		admitted := func() (n int) {
			defer release(admit(context.Background(), t, g, places-1)...)
			p, err := g.Admit(with(stage.Meta{Deadline: time.Now().Add(200 * time.Millisecond)}))
			if err == nil {
				n = 1
			}
			p.Release()
			return n
		}
		phase := func(name string, d, lasts time.Duration, lets int) {
			round(d, lasts)
			s := g.Stats()
			equal(t, name+": the mean", s.Mean, d)
			equal(t, name+": the 95th percentile", s.P95, d)
			equal(t, name+": let in with 200 ms left", admitted(), lets)
			work(t, g, 200, d) // what admitted has left in the estimate is gone
		}
		phase("before", fast, time.Minute, 1)
		phase("the bad hour", slow, time.Hour, 0)
		phase("behind it", fast, time.Minute, 1)
		s, l := g.Stats(), lim.Stats()
		equal(t, "the limit", s.Limit, places)
		equal(t, "most inside", s.MaxInside, places)
		equal(t, "refused for want of room", s.RefusedFor(admission.ReasonSaturated), 0)
		equal(t, "refused by the limiter", l.Refused+l.Queued, 0)
		equal(t, "most that ran", l.MaxRunning, places)
	})
}
