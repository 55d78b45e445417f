package admission

import (
	"strings"
	"sync"
	"time"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/stage"
)

// SpendLimiter bounds what work costs in a rolling window, as Config.Spend of one or several gates. A cost is reserved when the work is
// let in, so no number of them at a time gets beyond the ceiling, and corrected by Permit.Charge when it is known: what has cost more
// than it was going to may get beyond it by that much, and then nothing is let in until the window has moved on.
//
// It holds some 100 KiB for 1024 tenants with a budget, whatever keys arrive. Its methods are safe for concurrent use.
type SpendLimiter struct {
	cfg SpendConfig

	mu      sync.Mutex // behind that of a gate
	all     rolling
	tenants table[bill]
	known   []*entry[bill]
	hand    int     // where to look for an account to close
	opened  int64   // accounts so far
	others  rolling // of the tenants that have found no account
	level   SpendLevel
	risen   int64 // the part of the window in which the level has risen last
	counts  SpendStats
}

// bill is the account of one tenant.
type bill struct {
	rolling
	number int64 // an account that is opened again has another one
}

// SpendStats is what a SpendLimiter has counted.
type SpendStats struct {
	Level      SpendLevel
	Spent      int64   // in the window
	Rate       float64 // per second, over the window
	Total      int64
	Late       int64 // spent on work that ended behind its deadline
	Downgraded int64 // let in on a rung above 0
	Tenants    int   // with an account
}

// costs are those of an item on each rung.
type costs [mostRungs]int64

// charge is what an item has been let in for.
type charge struct {
	tenant *entry[bill] // nil: none, or the account of the others
	number int64        // of that account
	budget bool         // the tenant has one
	cost   int64
	part   int64 // of the window in which it was counted
	own    int64 // and of the tenant's
	rung   int
}

// NewSpendLimiter returns a limiter. What is wrong with the configuration is an error.
func NewSpendLimiter(c SpendConfig) (*SpendLimiter, error) {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		return nil, err
	}
	s := &SpendLimiter{cfg: c, all: newRolling(c.Window), others: newRolling(c.Window)}
	if c.Budget != nil {
		s.tenants = newTable[bill](c.Tenants)
	}
	return s, nil
}

// Stats returns the figures as of now.
func (s *SpendLimiter) Stats() SpendStats {
	now := clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	c.Spent, c.Rate = s.all.total(now), s.all.rate(now)
	c.Level, c.Tenants = s.levelAt(c.Spent), len(s.known)
	return c
}

// costs asks what an item costs, without a lock.
func (s *SpendLimiter) costs(m *stage.Meta) (c costs) {
	for rung := range s.cfg.Rungs {
		c[rung] = min(max(s.cfg.Cost(*m, rung), 0), mostCeiling)
	}
	return c
}

// budget asks what a tenant may spend, without a lock; below 0 is no bound.
func (s *SpendLimiter) budget(key string) int64 {
	if s.cfg.Budget == nil {
		return -1
	}
	return min(s.cfg.Budget(key), mostCeiling)
}

// account is what may be spent of one ceiling.
type account struct {
	window  *rolling
	ceiling int64
	spent   int64
}

func (a *account) fits(cost int64, share float64) bool {
	return a.spent+cost <= portion(a.ceiling, share)
}

// take reserves the cost of r on the best rung that fits, or says why none does.
func (s *SpendLimiter) take(r *request) (c charge, why Reason, refused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := account{window: &s.all, ceiling: s.cfg.Ceiling, spent: s.all.total(r.now)}
	own := account{}
	if r.budget >= 0 {
		c.budget = true
		if c.tenant = s.account(r.meta.Key, r.now); c.tenant != nil {
			c.number = c.tenant.value.number
		}
		own = account{window: s.windowOf(&c), ceiling: r.budget}
		own.spent = own.window.total(r.now)
	}
	for c.rung = 0; c.rung < s.cfg.Rungs; c.rung++ {
		share := s.cfg.share(c.rung)
		if r.meta.Criticality == stage.Sheddable {
			share = min(share, s.cfg.ShedFrom)
		}
		c.cost = r.costs[c.rung]
		switch {
		case !all.fits(c.cost, share):
			why = ReasonSpend
		case c.budget && !own.fits(c.cost, share):
			why = ReasonBudget
		default:
			s.spend(&c, r.now)
			r.alert = s.rise(s.all.sum)
			return c, 0, false
		}
	}
	if why == ReasonSpend {
		r.alert = s.rise(all.spent + r.costs[s.cfg.Rungs-1])
	}
	return charge{}, why, true
}

// spend counts what c costs.
func (s *SpendLimiter) spend(c *charge, now int64) {
	s.all.add(now, c.cost)
	c.part = s.all.now
	if c.budget {
		own := s.windowOf(c)
		own.add(now, c.cost)
		c.own = own.now
	}
	s.counts.Total += c.cost
	if c.rung > 0 {
		s.counts.Downgraded++
	}
}

// windowOf returns the account of c's tenant.
func (s *SpendLimiter) windowOf(c *charge) *rolling {
	if c.tenant == nil {
		return &s.others
	}
	return &c.tenant.value.rolling
}

// account returns the account of a tenant, nil if there is none left: it is that of the others then.
func (s *SpendLimiter) account(key string, now int64) *entry[bill] {
	if e := s.tenants.find(key); e != nil {
		return e
	}
	if len(s.known) == s.cfg.Tenants && !s.close(now) {
		return nil
	}
	e := s.tenants.add(strings.Clone(key)) // it stays for longer than the request that it is part of
	s.opened++
	e.value = bill{newRolling(s.cfg.Window), s.opened}
	s.known = append(s.known, e)
	return e
}

// close closes one account in which nothing is left, if it finds one among the next few.
func (s *SpendLimiter) close(now int64) bool {
	for range min(4, len(s.known)) {
		s.hand = (s.hand + 1) % len(s.known)
		if e := s.known[s.hand]; e.value.total(now) == 0 {
			last := len(s.known) - 1
			s.known[s.hand] = s.known[last]
			s.known = s.known[:last]
			s.tenants.drop(e)
			return true
		}
	}
	return false
}

// correct makes cost what c has cost.
func (s *SpendLimiter) correct(c *charge, cost int64) {
	if s == nil {
		return
	}
	now := clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	more := min(cost, mostCeiling) - c.cost
	c.cost += more
	s.counts.Total += more
	s.all.correct(c.part, now, more)
	if !c.budget {
		return
	}
	if c.tenant == nil || c.tenant.value.number == c.number { // else its account has been closed
		s.windowOf(c).correct(c.own, now, more)
	}
}

// late counts that c was spent in vain.
func (s *SpendLimiter) late(c *charge) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Late += c.cost
}

// turn returns how long it takes until something of what was spent is forgotten.
func (s *SpendLimiter) turn() time.Duration {
	now := clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.turn(now)
}

// levelAt returns the level when so much is spent.
func (s *SpendLimiter) levelAt(spent int64) SpendLevel {
	switch {
	case spent > s.cfg.Ceiling:
		return SpendRefusing
	case spent > portion(s.cfg.Ceiling, s.cfg.DowngradeFrom):
		return SpendDowngrading
	case spent > portion(s.cfg.Ceiling, s.cfg.ShedFrom):
		return SpendShedding
	default:
		return SpendNormal
	}
}

// rise returns the level if it is a higher one than before. It falls only when the window has moved on, or an alert would follow
// the other.
func (s *SpendLimiter) rise(wanted int64) SpendLevel {
	level := s.levelAt(wanted)
	switch {
	case level > s.level:
		s.level, s.risen = level, s.all.now
		return level
	case s.all.now != s.risen:
		s.level = level
	}
	return 0
}

// alert tells of a level. No lock is held.
func (s *SpendLimiter) alert(l SpendLevel) {
	if s.cfg.Alert != nil {
		s.cfg.Alert(l)
	}
}
