package admission

import (
	"fmt"
	"math"

	"github.com/weir-go/weir/stage"
)

// Rule says what a gate refuses, and from how many inside on. The first one that applies decides.
type Rule struct {
	Reason Reason
	What   string
	From   int // it applies when so many are inside
}

// String is the rule as a line of text.
func (r Rule) String() string { return fmt.Sprintf("from %d: %s (%s)", r.From, r.What, r.Reason) }

// levels are the numbers inside from which on a gate refuses, by rule.
type levels struct {
	sheddable, retry, deferrable int
	overQuota                    int
	critical, limit              int
}

const never = math.MaxInt

// levelsOf computes them. Each is at least 1, but for tenants over their quota: an idle gate refuses nothing else.
func levelsOf(c *Config) (l levels) {
	share := func(s float64) int {
		return max(int(math.Floor(float64(c.Limit)*s+rounding)), 1)
	}
	target := share(c.Target)
	l = levels{sheddable: never, retry: never, deferrable: never, critical: target, limit: target}
	if c.Classes {
		above := 1 - c.Target
		l.sheddable, l.retry, l.deferrable = share(c.Target-above), share(c.Target-above/2), target
		l.limit = c.Limit
		l.critical = c.Limit - int(math.Ceil(float64(c.Limit)*c.Reserved-rounding))
		l.critical = max(l.critical, 1)
	}
	if c.Borrow {
		l.overQuota = target
	}
	return l
}

// Order returns the order in which the gate refuses, first to go first.
func (g *Gate) Order() []Rule {
	l := &g.levels
	rules := []Rule{{ReasonDeadline, "what can't meet its deadline", 1}}
	if g.cfg.Classes {
		rules = append(rules,
			Rule{ReasonSheddable, "Sheddable", l.sheddable},
			Rule{ReasonRetry, "retries below CriticalPlus", l.retry},
			Rule{ReasonDeferrable, "SheddablePlus", l.deferrable})
	}
	if g.cfg.Quota != nil {
		rules = append(rules, Rule{ReasonQuota, "tenants over their quota", l.overQuota})
	}
	if !g.cfg.Classes {
		return append(rules, Rule{ReasonSaturated, "everything", l.limit})
	}
	return append(rules,
		Rule{ReasonSaturated, "Critical", l.critical},
		Rule{ReasonSaturated, "CriticalPlus", l.limit})
}

// refuses returns why one with metadata m is refused while n are inside, as far as that depends on nothing else.
func (l *levels) refuses(m *stage.Meta, overQuota bool, n int) (Reason, bool) {
	top := m.Criticality == stage.CriticalPlus
	switch {
	case n >= l.sheddable && m.Criticality == stage.Sheddable:
		return ReasonSheddable, true
	case n >= l.retry && m.Attempt > 1 && !top:
		return ReasonRetry, true
	case n >= l.deferrable && m.Criticality == stage.SheddablePlus:
		return ReasonDeferrable, true
	case n >= l.overQuota && overQuota:
		return ReasonQuota, true
	case n >= l.limit, n >= l.critical && !top:
		return ReasonSaturated, true
	}
	return 0, false
}
