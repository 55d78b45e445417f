package breaker

import (
	"context"
	"errors"
	"math"

	"github.com/weir-go/weir/internal/clock"
)

// call is one that was let through.
type call struct {
	b     *Breaker
	done  func(error)
	item  uint64
	era   int64
	began int64
}

// errFailed stands for all faults of the dependency.
var errFailed = errors.New("breaker: the call has failed")

// ended is called with what the call has failed with. It reports whether that is the dependency's fault, and no calls are made now.
func (c *call) ended(err error) (open bool) {
	told := context.Canceled // also where the user's function panics: a probe must not stay away for ever
	defer func() { c.tell(told) }()
	b := c.b
	switch {
	case err != nil && cutOff(err):
		return false
	case err == nil || !b.cfg.Failed(err):
		told = nil
		b.suspect.Store(0)
		return false
	}
	b.failed.Add(1)
	if told = errFailed; c.alone() {
		told = context.Canceled
	}
	c.tell(told)
	c.done = nil
	return State(b.state.Load()) != Closed
}

// several is who is suspected where more than one item has failed.
const several = math.MaxUint64

// alone notes that the item has failed, and reports whether it is the only one since a call has gone well, and not for the first time.
// Such a failure does not count while the breaker is closed, so that one item that always fails does not open it.
func (c *call) alone() bool {
	suspect := &c.b.suspect
	if c.item == 0 {
		suspect.Store(several)
		return false
	}
	if suspect.CompareAndSwap(0, c.item) {
		return false
	}
	if suspect.Load() != c.item {
		suspect.Store(several)
		return false
	}
	return State(c.b.state.Load()) == Closed
}

// tell counts the outcome. One that comes late would not be counted, because the part of the window in which the call began may be
// forgotten: it counts as that of a call that is made now.
func (c *call) tell(outcome error) {
	if c.done == nil {
		return
	}
	b := c.b
	late := clock.Now()-c.began > int64(b.cfg.Window/2)
	if late && State(b.state.Load()) == Closed && b.era.Load() == c.era {
		c.done(context.Canceled)
		if done, err := b.two.Allow(); err == nil {
			done(outcome)
		}
	} else {
		c.done(outcome)
	}
	if State(b.state.Load()) == HalfOpen {
		b.wake() // there may be a place for another probe
	}
}
