package admission

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/stage"
)

// Gate decides, where work enters, whether it is taken on: at once, before anything has been done for it, and without a queue of its
// own. Who is let in gets a [Permit], and is inside until that is released. The others get a *[Refusal].
//
// Its methods are safe for concurrent use. It starts no goroutine.
type Gate struct {
	cfg    Config
	levels levels

	mu       sync.Mutex
	line     line // Concurrency wide: who runs in it is worked on as far as the gate knows
	service  estimator
	ended    int64 // when the last work ended whose time is known, by the clock
	trial    int64 // until when nobody else is let in to renew the estimate, by the clock; 0: there is nobody
	tenants  tenants
	refusals refusals
	counts   counts
}

// held is what one inside has taken, and gives back.
type held struct {
	tenant   *entry[int]
	charge   charge
	deadline int64 // by the clock; 0 is never
	rank     int
	expired  bool // it was not worked on
	trial    bool // it was let in to renew the estimate
}

// NewGate returns a gate. It panics if the configuration makes no sense; [Config.Validate] says so before.
func NewGate(c Config) *Gate {
	if err := c.Validate(); err != nil {
		panic(err)
	}
	c = c.withDefaults()
	g := &Gate{cfg: c, levels: levelsOf(&c), line: line{width: c.Concurrency}, counts: newCounts()}
	if c.Quota != nil {
		g.tenants.table = newTable[int](c.Limit)
	}
	return g
}

// Admit decides about one piece of work, whose metadata is in ctx (stage.WithMeta); a deadline of ctx counts as one of the metadata.
// The permit must be released. The error is a *[Refusal], or ctx's cause if it has been canceled.
//
//	Cost: one lock; no allocation for either answer. Config.Quota and SpendConfig.Cost are called without the lock.
func (g *Gate) Admit(ctx context.Context) (Permit, error) {
	m, _ := stage.MetaFrom(ctx)
	if d, ok := ctx.Deadline(); ok && (m.Deadline.IsZero() || d.Before(m.Deadline)) {
		m.Deadline = d
	}
	if errors.Is(ctx.Err(), context.Canceled) { // past the deadline it is refused below
		return Permit{}, context.Cause(ctx)
	}
	return g.admit(&m)
}

// Do runs fn with a permit, and gives that back however fn ends: with or without an error, by a panic, or with its goroutine. fn finds
// the permit in its context ([FromContext]). The error is fn's, or Admit's, and then fn was not called.
func (g *Gate) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	p, err := g.Admit(ctx)
	if err != nil {
		return err
	}
	defer p.Release()
	return fn(WithPermit(ctx, p))
}

// admit decides about one with metadata m, which it may change.
func (g *Gate) admit(m *stage.Meta) (Permit, error) {
	r := request{meta: m, quota: -1, now: clock.Now()}
	m.Criticality, m.Key = clamp(m.Criticality), shortened(m.Key)
	if !m.Deadline.IsZero() {
		r.limited, r.left = true, min(time.Until(m.Deadline), farAway)
	}
	if g.cfg.Quota != nil {
		r.quota = g.cfg.Quota(m.Key)
	}
	if g.cfg.Spend != nil {
		r.costs, r.budget = g.cfg.Spend.costs(m), g.cfg.Spend.budget(m.Key)
	}
	g.mu.Lock()
	permit, err := g.decide(&r)
	g.mu.Unlock()
	if r.alert != 0 {
		g.alert(r.alert, permit)
	}
	if err != nil {
		return Permit{}, err
	}
	return permit, nil
}

// alert tells of a level of spending. If the user's function does not return, nobody gets the permit.
func (g *Gate) alert(l SpendLevel, p Permit) {
	returned := false
	defer func() {
		if !returned {
			p.Release()
		}
	}()
	g.cfg.Spend.alert(l)
	returned = true
}

// farAway is a deadline that sums do not overflow with.
const farAway = math.MaxInt64 / 4

// request is one that asks for a permit.
type request struct {
	meta    *stage.Meta
	now     int64
	limited bool          // by a deadline
	trial   bool          // it is let in although it will be late, as far as is known
	left    time.Duration // until then
	quota   int           // of its tenant; below 0 is none
	costs   costs
	budget  int64      // what its tenant may spend; below 0 is no bound
	alert   SpendLevel // to tell, once the lock is released
}

// decide lets r in, or not. The lock is held.
func (g *Gate) decide(r *request) (Permit, *Refusal) {
	rank := rank(r.meta.Criticality)
	wait := g.wait()
	g.counts.offer(rank, r.now)
	if why, refused := g.refuses(r, wait); refused {
		return Permit{}, g.refuse(why, rank, r, wait)
	}
	var c charge
	if g.cfg.Spend != nil {
		var why Reason
		var refused bool
		if c, why, refused = g.cfg.Spend.take(r); refused {
			return Permit{}, g.refuse(why, rank, r, wait)
		}
	}
	p := g.line.enter(r.now)
	p.held = held{charge: c, rank: rank, trial: r.trial}
	if r.trial {
		g.trial = r.now + int64(max(r.left, g.service.percentile(95)))
	}
	if r.limited {
		p.held.deadline = r.now + int64(r.left)
	}
	if r.quota >= 0 {
		p.held.tenant = g.tenants.enter(r.meta.Key)
	}
	g.counts.enter(rank, p.phase == waits, c.rung > 0, g.line.inside())
	return Permit{owner: g, place: p, generation: p.generation, wait: wait, rung: c.rung}, nil
}

// refuses goes through the rules.
func (g *Gate) refuses(r *request, wait time.Duration) (Reason, bool) {
	if r.limited && g.late(r.left, wait) {
		if r.trial = g.stale(r); !r.trial {
			return ReasonDeadline, true
		}
	}
	over := r.quota >= 0 && g.tenants.inside(r.meta.Key) >= r.quota
	return g.levels.refuses(r.meta, over, g.line.inside())
}

// late reports whether an answer would come too late. An idle gate lets in all that have not expired: its estimate may be wrong by
// now, and only work can renew it.
func (g *Gate) late(left, wait time.Duration) bool {
	return left <= 0 || g.line.inside() > 0 && wait+g.service.percentile(95) > left
}

// stale reports whether r is let in although it would be late, because the estimate may be wrong by now and only work can renew it: a
// worker is free, and for as long as r has left nothing has ended. Without that a single one inside that stays for long, a stream
// for example, would have all others refused for ever. One is tried at a time, so that is what it costs if the estimate is right; only
// one that is overdue is not waited for.
func (g *Gate) stale(r *request) bool {
	return r.left > 0 && (g.trial == 0 || r.now >= g.trial) && g.line.running < g.line.width && r.now-g.ended >= int64(r.left)
}

// wait estimates how long one more would wait.
func (g *Gate) wait() time.Duration { return time.Duration(g.line.wait(g.service.mean())) }

// refuse counts and returns a refusal.
func (g *Gate) refuse(why Reason, rank int, r *request, wait time.Duration) *Refusal {
	g.counts.refuse(why, rank, r.now)
	again := r.meta.Attempt < g.cfg.MaxAttempts && why != ReasonDeadline && r.meta.Criticality != stage.Sheddable
	after := max(wait, time.Duration(g.service.mean()))
	if why == ReasonBudget || why == ReasonSpend {
		after = g.cfg.Spend.turn()
	}
	return g.refusals.refusal(why, again, wait, after, r.now)
}

// EstimatedWait returns how long one more would wait: those inside, running ones included, each at its share of Concurrency. It is 0
// while nothing is known, and where one more could be worked on at once.
func (g *Gate) EstimatedWait() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.wait()
}

// release implements owner.
func (g *Gate) release(p *place, generation uint64) {
	now := clock.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.generation != generation {
		return
	}
	if p.phase == runs && !p.held.expired {
		g.service.see(now - p.started)
		g.ended = now
	}
	if p.held.trial {
		g.trial = 0
	}
	if p.held.tenant != nil {
		g.tenants.leave(p.held.tenant)
	}
	if late := p.held.deadline != 0 && now > p.held.deadline; late {
		g.counts.late++
		g.cfg.Spend.late(&p.held.charge)
	}
	g.line.leave(p, now)
}

// begin implements owner.
func (g *Gate) begin(p *place, generation uint64) error {
	now := clock.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.generation != generation {
		return nil
	}
	if d := p.held.deadline; d != 0 && g.hopeless(p, d-now) {
		if !p.held.expired {
			p.held.expired = true
			g.counts.expired[p.held.rank]++
		}
		return g.refusals.refusal(ReasonDeadline, false, g.wait(), 0, now)
	}
	g.line.begin(p, now)
	return nil
}

// hopeless reports whether p's work is too late if it begins now. While nothing else is worked on the estimate does not count, as for
// late, and not for one that is there to renew it.
func (g *Gate) hopeless(p *place, left int64) bool {
	others := g.line.running
	if p.phase == runs {
		others--
	}
	return left <= 0 || others > 0 && !p.held.trial && int64(g.service.percentile(95)) > left
}

// charge implements owner.
func (g *Gate) charge(p *place, generation uint64, cost int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.generation == generation {
		g.cfg.Spend.correct(&p.held.charge, cost)
	}
}
