package queue

import (
	"time"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/histogram"
)

// interval is how long the minimum of the sojourn time is taken over.
const interval = 100 * time.Millisecond

// Stats is what a queue has measured. In = Out + the sum of Dropped + Depth, at every instant.
type Stats struct {
	Depth, MaxDepth int
	Weight          int64
	In, Out         int64
	Dropped         [Reasons]int64
	Refused         int64         // offers that failed with a FullError: not part of In
	Oversize        int64         // items heavier than MaxWeight that passed alone
	Blocked         time.Duration // how long at least one producer waited for room
	Starved         time.Duration // how long at least one consumer waited for an item
	Sojourn         histogram.Histogram
	MinSojourn      time.Duration // the least, over the last whole interval, that the item has waited that had waited longest
	EstimatedWait   time.Duration // of an item that would arrive now
	Signals
}

// Stats returns the figures as of now. After the queue was aborted or left, Depth is what was given back.
func (q *Queue[T]) Stats() Stats {
	s, overdue := q.stats()
	if overdue != nil {
		s.OverdueKey = overdue() // a user's function, outside the lock
	}
	return s
}

func (q *Queue[T]) stats() (Stats, func() string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := clock.Now() // under the lock: no mark and no parked waiter is later
	c := &q.count
	dropped, rejected := q.hinted()
	s := Stats{
		Depth: q.depth() + c.held, MaxDepth: c.maxDepth, Weight: q.weight,
		In: c.in + dropped, Out: c.out, Dropped: c.dropped, Refused: c.refusals + rejected, Oversize: c.oversize,
		Blocked: q.putters.waited(now), Starved: q.takers.waited(now),
		Sojourn: c.sojourn.Histogram(), MinSojourn: c.floor.last(now), EstimatedWait: q.estimate(),
	}
	s.Dropped[DropFull] += dropped
	if q.depth() > 0 && c.floor.stale(now) {
		s.MinSojourn = wait(now, q.oldest())
	}
	signals, overdue := q.signals(now)
	s.Signals = signals
	s.Standing = s.TargetWait > 0 && s.MinSojourn > s.TargetWait
	return s, overdue
}

// oldest returns when the item was accepted that has waited longest. There is one.
func (q *Queue[T]) oldest() int64 {
	if q.slab != nil {
		return q.slab.of[q.slab.age.first].at
	}
	return q.marks.oldest().at
}

// hinted returns how many items were dropped, and how many offers rejected, without the lock.
func (q *Queue[T]) hinted() (dropped, rejected int64) {
	if q.cfg.OnFull == Reject {
		return 0, q.refused.Load()
	}
	return q.refused.Load(), 0
}

// EstimatedWait returns how long an item would wait that arrives now: those before it, running ones included, divided by the
// rate at which busy consumers finish items. It is 0 until an item has been finished.
func (q *Queue[T]) EstimatedWait() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.estimate()
}

func (q *Queue[T]) estimate() time.Duration {
	s := &q.count.service
	if s.finished == 0 || q.consumers <= 0 {
		return 0
	}
	ahead := float64(int64(q.depth()) + s.running)
	return time.Duration(ahead * s.busy / s.finished / float64(q.consumers))
}

// floor is the minimum of the sojourn time over an interval, the signal that tells a standing queue from a burst.
type floor struct {
	start         int64
	current, done time.Duration
	any           bool
}

// see records a sojourn time.
func (f *floor) see(d time.Duration, now int64) {
	switch {
	case f.stale(now): // what was seen before says nothing about now
		f.start, f.current, f.done, f.any = now, d, d, true
	case now-f.start >= int64(interval):
		f.start, f.current, f.done = now, d, f.current
	default:
		f.current = min(f.current, d)
	}
}

// stale reports whether nothing was seen for an interval.
func (f *floor) stale(now int64) bool { return !f.any || now-f.start >= 2*int64(interval) }

// last returns the minimum of the last interval, zero if nothing was seen in it.
func (f *floor) last(now int64) time.Duration {
	if f.stale(now) {
		return 0
	}
	return f.done
}
