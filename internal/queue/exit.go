package queue

import (
	"time"

	"github.com/weir-go/weir/internal/codel"
)

// exit is what items have to pass before they start.
type exit struct {
	on     bool
	late   bool          // those that can't be finished by their deadline are dropped
	law    codel.Config  // a zero Target: there is none
	states []codel.State // of each lane of a fair order; otherwise one
}

func newExit[T any](cfg *Config[T]) exit {
	e := exit{late: cfg.Deadline != nil, law: cfg.CoDel}
	if e.law.Target > 0 {
		lanes := 1
		if cfg.Order.Kind == Fair {
			lanes = cfg.Order.Lanes
		}
		e.states = make([]codel.State, lanes)
	}
	e.on = e.late || e.states != nil
	return e
}

// leaving is an item on its way out.
type leaving struct {
	at, deadline int64
	lane         int32
	behind       int  // how many wait behind it
	first        bool // of a take
}

// judge says whether an item must not start at the moment now, and why. The caller is going to drop it, or to take it, but not both:
// what the law learns from the item is remembered just if it goes that way, because otherwise it is judged again.
func (q *Queue[T]) judge(now int64, i leaving, dropping bool) (why Reason, drop bool) {
	if q.late(now, i.deadline, i.first) {
		return DropDeadline, true
	}
	if q.exit.states == nil {
		return 0, false
	}
	if int(i.lane) >= len(q.exit.states) {
		i.lane = 0
	}
	state := q.exit.states[i.lane]
	drop = state.Drop(&q.exit.law, now, wait(now, i.at), i.behind)
	if drop == dropping {
		q.exit.states[i.lane] = state
	}
	return DropShed, drop
}

// late reports whether an item that starts now can't be finished by its deadline, as service times have been. The first of a take is
// let through now and then, to see whether they still are so.
func (q *Queue[T]) late(now, deadline int64, first bool) bool {
	return q.tight(now, deadline) && (!first || !q.count.service.stale(now, deadline-now))
}

func (q *Queue[T]) tight(now, deadline int64) bool {
	return q.exit.late && now+q.count.service.slow() > deadline
}

// starts takes note of the deadline of the first item of a take.
func (q *Queue[T]) starts(now, deadline int64) {
	if q.tight(now, deadline) {
		q.count.service.try(now, deadline-now)
	}
}

// wait returns how long an item has waited at the moment now. It may have been accepted after the clock was read, before the lock was
// taken.
func wait(now, at int64) time.Duration { return time.Duration(max(now-at, 0)) }
