package admission

import (
	"time"

	"github.com/weir-go/weir/flow/sizing"
	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/stage"
)

// Stats is what a gate has counted and measured. Everything offered was admitted or refused: at every instant Offered = Admitted + the
// sum of Refused, for each class.
type Stats struct {
	Limit, Inside, MaxInside int
	Concurrency              int
	Running, Waiting         int // of those inside, as far as the gate knows
	ReserveIdle              int // places that only CriticalPlus may use, and nobody does
	Offered, Admitted        PerClass
	Queued                   PerClass // of those admitted, who had to wait behind others
	Degraded                 PerClass // of those admitted, who got a cheaper rung
	Refused                  [reasons]PerClass
	Expired                  PerClass // of those admitted, whose deadline could not be met when the work was to begin
	Late                     int64    // who ended behind their deadline

	EstimatedWait  time.Duration // of one more
	Mean, P50, P95 time.Duration // service times, of the last 96; 0 while nothing is known

	// Load is what was offered in the last ten seconds, refused or not, by what could be done: what a scaler should read, because
	// shedding does not make it less. 0 while nothing is known.
	Load     float64
	Zone     sizing.Zone // what that means for those who wait
	ScaleOut bool        // Load has reached Config.ScaleAt

	// Reversal says that work which must be kept was refused for want of room in the last ten seconds: Critical or CriticalPlus. No
	// order of shedding helps any more, the answer is capacity.
	Reversal bool

	// Crowded says that more than half of what was offered in the last ten seconds has Dominant as its class, one above
	// SheddablePlus, though several classes are in use: bulk under a wrong label protects nobody.
	Crowded  bool
	Dominant stage.Criticality
}

// RefusedFor returns how many were refused for a reason.
func (s Stats) RefusedFor(why Reason) int64 {
	if int(why) >= len(s.Refused) {
		return 0
	}
	return s.Refused[why].Sum()
}

// RefusedInAll returns how many were refused because of the load, and because of the caller: HTTP says 503 to the former and 429 to
// the latter.
func (s Stats) RefusedInAll() (load, personal int64) {
	for why := range s.Refused {
		if n := s.Refused[why].Sum(); Reason(why).Personal() {
			personal += n
		} else {
			load += n
		}
	}
	return load, personal
}

// signalWindow is what the signals of a gate are taken over.
const signalWindow = 10 * time.Second

// counts is what a gate counts under its lock.
type counts struct {
	offered, admitted, queued, degraded, expired PerClass
	refused                                      [reasons]PerClass
	maxInside                                    int
	late                                         int64
	recent                                       [classes]rolling // offered
	kept                                         rolling          // refused, and should have been kept
}

func newCounts() (c counts) {
	for i := range c.recent {
		c.recent[i] = newRolling(signalWindow)
	}
	c.kept = newRolling(signalWindow)
	return c
}

func (c *counts) offer(rank int, now int64) {
	c.offered[rank]++
	c.recent[rank].add(now, 1)
}

func (c *counts) enter(rank int, queued, degraded bool, inside int) {
	c.admitted[rank]++
	if queued {
		c.queued[rank]++
	}
	if degraded {
		c.degraded[rank]++
	}
	c.maxInside = max(c.maxInside, inside)
}

func (c *counts) refuse(why Reason, rank int, now int64) {
	c.refused[why][rank]++
	if why == ReasonSaturated {
		c.kept.add(now, 1)
	}
}

// Stats returns the figures as of now.
func (g *Gate) Stats() Stats {
	now := clock.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &g.counts
	s := Stats{
		Limit: g.cfg.Limit, Inside: g.line.inside(), MaxInside: c.maxInside,
		Concurrency: g.line.width, Running: g.line.running, Waiting: g.line.waiting,
		Offered: c.offered, Admitted: c.admitted, Queued: c.queued, Degraded: c.degraded, Refused: c.refused,
		Expired: c.expired, Late: c.late,
		EstimatedWait: g.wait(), Mean: time.Duration(g.service.mean()), P50: g.service.percentile(50), P95: g.service.percentile(95),
		Reversal: c.kept.total(now) > 0,
	}
	s.ReserveIdle = min(g.levels.limit-g.levels.critical, max(g.levels.limit-s.Inside, 0))
	s.Load = c.rate(now) * g.service.mean() / float64(time.Second) / float64(g.line.width)
	s.Zone, _ = sizing.ZoneOf(s.Load) // a load is never negative
	s.ScaleOut = g.cfg.ScaleAt > 0 && s.Load >= g.cfg.ScaleAt
	s.Dominant, s.Crowded = c.dominant(now)
	return s
}

// rate returns how many are offered in a second.
func (c *counts) rate(now int64) (rate float64) {
	for i := range c.recent {
		rate += c.recent[i].rate(now)
	}
	return rate
}

// dominant returns the class above SheddablePlus that has more than half of what is offered, if there are several classes.
func (c *counts) dominant(now int64) (stage.Criticality, bool) {
	sum, used := int64(0), 0
	for i := range c.recent {
		n := c.recent[i].total(now)
		sum += n
		if n > 0 {
			used++
		}
	}
	for i := rank(stage.Critical); i < classes && used > 1; i++ {
		if 2*c.recent[i].sum > sum {
			return class(i), true
		}
	}
	return stage.Critical, false
}
