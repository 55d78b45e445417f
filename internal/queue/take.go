package queue

import (
	"time"

	"github.com/weir-go/weir/internal/clock"
)

// expiredPerLock bounds how many expired items are dropped before the hook gets them, outside the lock.
const expiredPerLock = 256

// Take waits for at least one item and moves what is there, up to len(dst), to dst, with its tags to tags unless the queue is
// plain. It returns stage.ErrEnd when the stream has ended, the cause of Abort, ErrLeft after Leave, or ErrTimeout when
// timeout delivers first; a nil timeout never does.
func (q *Queue[T]) Take(w *Waiter, dst []T, tags []*Tag, timeout <-chan time.Time) (int, error) {
	return q.TakeAt(clock.Now(), w, dst, tags, timeout)
}

// TakeAt is Take for a caller that has just read the clock.
func (q *Queue[T]) TakeAt(now int64, w *Waiter, dst []T, tags []*Tag, timeout <-chan time.Time) (int, error) {
	w.Entered, w.Waited = now, 0
	q.mu.Lock()
	q.count.service.finish(w)
	for late := false; ; {
		q.count.little.pass(now, q.depth())
		if drops := q.sift(now); drops != nil {
			q.mu.Unlock()
			q.report(drops)
			q.mu.Lock()
			continue
		}
		if q.depth() > 0 {
			break
		}
		err := q.end
		if err == nil && late {
			err = ErrTimeout
		}
		if err != nil {
			q.mu.Unlock()
			w.Returned = now
			return 0, err
		}
		late = !q.park(&q.takers, w, timeout, nil)
		before := now
		now = clock.Now()
		w.Waited += now - before
	}
	n := q.pop(w, dst, tags, now)
	q.wakePutters()
	q.wakeTakers()
	q.mu.Unlock()
	return n, nil
}

// pop moves items out; there is at least one.
func (q *Queue[T]) pop(w *Waiter, dst []T, tags []*Tag, now int64) int {
	depth := q.depth()
	n := min(len(dst), depth)
	if q.fair && q.consumers > 1 {
		n = min(n, (depth+q.consumers-1)/q.consumers)
	}
	if q.slab != nil {
		n = q.popSlots(dst[:n], tags, now)
	} else {
		n = q.popFirst(dst[:n], tags, now)
	}
	w.Ticket, w.Returned, w.taken = q.count.takes, now, n
	q.count.takes++
	q.count.out += int64(n)
	q.count.service.running += int64(n)
	q.hint()
	q.refresh(now)
	return n
}

// serves returns the end at which the rings are served now. There is an item.
func (q *Queue[T]) serves(now int64) end {
	if q.newest == nil {
		return head
	}
	return q.newest.look(now, wait(now, q.oldest()), q.values.n-1)
}

// popFirst moves the first len(dst) items of the rings out, those less that are not to start.
func (q *Queue[T]) popFirst(dst []T, tags []*Tag, now int64) int {
	e, n := q.serves(now), len(dst)
	if q.exit.on {
		n = q.passing(e, n, now)
		q.starts(now, q.leaving(e, 0, now).deadline)
	}
	oldest := wait(now, q.oldest())
	q.values.peek(e, dst[:n])
	if q.cfg.Tagged {
		q.tags.peek(e, tags[:n])
	}
	q.remove(e, n)
	for left := n; left > 0; {
		at, k := q.marks.take(e, left)
		q.served(mark{at, k}, now)
		left -= k
		if e == head {
			oldest = wait(now, at)
			q.count.floor.see(oldest, now)
		}
	}
	if e == tail {
		q.count.floor.see(oldest, now)
	}
	if q.newest != nil {
		q.newest.look(now, oldest, q.values.n) // the last of them: the law looks at each
	}
	return n
}

// passing returns how many of the first n items at e may start, up to one that may not. The first one may.
func (q *Queue[T]) passing(e end, n int, now int64) int {
	if q.exit.states == nil {
		for k, earliest := 1, now+q.count.service.slow(); k < n; k++ {
			if q.deadlines.buf[q.deadlines.slot(e, k)] < earliest {
				return k
			}
		}
		return n
	}
	k := 0
	for run := 0; k < n; run++ {
		m := q.marks.buf[q.marks.slot(e, run)]
		together := min(m.n, n-k)
		if !q.exit.late && q.exit.states[0].Passes(&q.exit.law, wait(now, m.at)) {
			k += together
			continue
		}
		for range together {
			if _, drop := q.judge(now, q.leaving(e, k, m.at), false); drop {
				return k
			}
			k++
		}
	}
	return k
}

// leaving is the k-th item at e, which was accepted at the moment at.
func (q *Queue[T]) leaving(e end, k int, at int64) leaving {
	i := leaving{at: at, deadline: never, behind: q.values.n - 1 - k, first: k == 0}
	if q.exit.late {
		i.deadline = q.deadlines.buf[q.deadlines.slot(e, k)]
	}
	return i
}

// popSlots moves up to len(dst) items out, in the order that the queue has.
func (q *Queue[T]) popSlots(dst []T, tags []*Tag, now int64) (n int) {
	s := q.slab
	q.count.floor.see(wait(now, q.oldest()), now)
	var run mark // of items in a row that came together
	for n < len(dst) {
		i := s.order.next(now)
		if q.exit.on {
			if _, drop := q.judge(now, s.leaving(i, n == 0), false); drop {
				break // never the first one
			}
			if n == 0 {
				q.starts(now, s.of[i].deadline)
			}
		}
		dst[n] = s.values[i]
		if q.cfg.Tagged {
			tags[n] = s.tags[i]
		}
		if at := s.of[i].at; at != run.at {
			q.served(run, now)
			run = mark{at: at}
		}
		run.n++
		q.weight -= s.of[i].weight
		s.remove(i, true)
		n++
	}
	q.served(run, now)
	return n
}

// served counts how long the items of a mark have waited.
func (q *Queue[T]) served(m mark, now int64) {
	if m.n > 0 {
		q.count.sojourn.Record(wait(now, m.at), int64(m.n))
		q.count.little.left(m.at, m.n)
	}
}

// sift drops items that must not start, some at a time: those that have waited longer than MaxWait, and the next ones in line that
// can't meet their deadline or that the law drops. It returns nil when there is nothing to report.
func (q *Queue[T]) sift(now int64) (drops []drop[T]) {
	if q.cfg.MaxWait == 0 && !q.exit.on {
		return nil
	}
	if q.slab != nil {
		drops = q.siftSlots(now)
	} else {
		drops = q.siftFirst(now)
	}
	q.hint()
	q.wakePutters()
	return drops
}

// siftFirst looks at the oldest item as well, which may not be next.
func (q *Queue[T]) siftFirst(now int64) (drops []drop[T]) {
	for q.values.n > 0 && len(drops) < expiredPerLock {
		oldest := q.marks.oldest()
		if q.expired(now, oldest.at) {
			drops = q.shed(head, min(oldest.n, expiredPerLock), DropExpired, drops)
			continue
		}
		if q.late(now, q.leaving(head, 0, oldest.at).deadline, true) {
			drops = q.shed(head, 1, DropDeadline, drops)
			continue
		}
		if !q.exit.on {
			break
		}
		e := q.serves(now)
		why, drop := q.judge(now, q.leaving(e, 0, q.marks.buf[q.marks.slot(e, 0)].at), true)
		if !drop {
			break
		}
		drops = q.shed(e, 1, why, drops)
	}
	return drops
}

// siftSlots looks at the items that have waited longest as well, which may never be next.
func (q *Queue[T]) siftSlots(now int64) (drops []drop[T]) {
	s := q.slab
	for s.n > 0 && len(drops) < expiredPerLock {
		i := s.age.first
		why, drop := DropExpired, q.expired(now, s.of[i].at)
		if !drop {
			why, drop = DropDeadline, q.late(now, s.of[i].deadline, true)
		}
		if !drop && q.exit.on {
			i = s.order.next(now)
			why, drop = q.judge(now, s.leaving(i, true), true)
		}
		if !drop {
			break
		}
		drops = q.dropSlot(i, why, drops)
	}
	return drops
}

// expired reports whether an item that was accepted at the moment at has waited too long.
func (q *Queue[T]) expired(now, at int64) bool {
	return q.cfg.MaxWait > 0 && now-at > int64(q.cfg.MaxWait)
}

// refresh replaces the error of refusals, at most once an interval, so that its estimate stays live.
func (q *Queue[T]) refresh(now int64) {
	if now-q.count.refreshed < int64(interval) {
		return
	}
	q.count.refreshed = now
	q.count.flow.update(now, q.arrived(), q.kept())
	wait := q.estimate()
	if old := q.fullErr.Load(); old.EstimatedWait != wait {
		q.fullErr.Store(&FullError{Edge: q.cfg.Name, Capacity: q.cfg.Capacity, EstimatedWait: wait})
	}
}
