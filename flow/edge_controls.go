package flow

import (
	"time"

	"github.com/weir-go/weir/internal/codel"
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/internal/queue"
)

// Law says what [CoDel] drops while a queue stands: [LimitLaw] or [RootLaw].
type Law = codel.Law

// The laws.
const (
	LimitLaw = codel.Limit // every item that has waited longer than twice the target: holds any overload
	RootLaw  = codel.Root  // one by one, faster and faster: for senders that slow down when they lose something
)

// CoDel drops items that have waited too long, once that is no burst: when for a whole Interval every item had waited longer than Target.
// It stops as soon as one has not, and never drops the last one. There are no defaults: what is right for packets is not for
// requests. [CoDelFor] derives both from what an answer may take.
//
// It creates no capacity: it keeps the wait of those that are served short, and pays with the others.
type CoDel struct {
	Target   time.Duration
	Interval time.Duration
	Law      Law // LimitLaw by default
}

// CoDelFor returns the control for answers that are worth nothing behind budget: a tenth of it is the target, a fifth the interval.
func CoDelFor(budget time.Duration) CoDel { return CoDel{Target: budget / 10, Interval: budget / 5} }

// validateControls records what is wrong with what decides about items beside the bound.
func (e *Edge[T]) validateControls(n *node) {
	n.check(e.Target >= 0 && e.Target <= max(e.Capacity, 0), argument("Target", "0 to the capacity", e.Target))
	n.check(e.Deadline == nil || !e.KeepLate, "Deadline and KeepLate exclude each other")
	if c := e.CoDel; c != (CoDel{}) {
		n.check(c.Target > 0, argument("CoDel.Target", "> 0", c.Target))
		n.check(c.Interval > 0, argument("CoDel.Interval", "> 0", c.Interval))
		n.check(c.Law.Valid(), argument("CoDel.Law", "LimitLaw or RootLaw", c.Law))
	}
	if e.Discipline != nil {
		e.Discipline.order().validate(e.bare(), n)
	}
}

// bare is the edge without what depends on T, as far as an order has to know it.
func (e *Edge[T]) bare() *Edge[struct{}] {
	return &Edge[struct{}]{Capacity: e.Capacity, OnFull: e.OnFull, MaxWait: e.MaxWait, MaxWeight: e.MaxWeight, CoDel: e.CoDel}
}

// deadlines returns what gives the deadline of an item in the stream s; nil where nobody asks.
func (e *Edge[T]) deadlines(s engine.Stream) func(T, *queue.Tag) time.Time {
	switch {
	case e.KeepLate:
		return nil
	case e.Deadline != nil:
		deadline := e.Deadline
		return func(v T, _ *queue.Tag) time.Time { return deadline(v) }
	case s.Tagged && e.mayExpire() && s.Effect == "":
		return func(_ T, t *queue.Tag) time.Time {
			if t == nil {
				return time.Time{}
			}
			return t.Meta.Deadline
		}
	}
	return nil
}
