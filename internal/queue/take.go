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
		if drops := q.expire(now); drops != nil {
			q.mu.Unlock()
			q.report(drops)
			q.mu.Lock()
			continue
		}
		if q.values.n > 0 {
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
	n := min(len(dst), q.values.n)
	if q.fair && q.consumers > 1 {
		n = min(n, (q.values.n+q.consumers-1)/q.consumers)
	}
	q.values.peek(dst[:n])
	if q.cfg.Tagged {
		q.tags.peek(tags[:n])
	}
	q.remove(n)
	for left := n; left > 0; {
		at, k := q.marks.take(left)
		wait := time.Duration(max(now-at, 0)) // accepted after the clock was read, before the lock was taken
		q.count.sojourn.Record(wait, int64(k))
		q.count.floor.see(wait, now)
		left -= k
	}
	w.Ticket, w.Returned, w.taken = q.count.takes, now, n
	q.count.takes++
	q.count.out += int64(n)
	q.count.service.running += int64(n)
	q.hint()
	q.refresh(now)
	return n
}

// expire drops items that have waited longer than MaxWait, some at a time. It returns nil when there is nothing to report.
func (q *Queue[T]) expire(now int64) []drop[T] {
	if q.cfg.MaxWait == 0 {
		return nil
	}
	var drops []drop[T]
	for q.values.n > 0 && len(drops) < expiredPerLock {
		oldest := q.marks.oldest()
		if now-oldest.at <= int64(q.cfg.MaxWait) {
			break
		}
		drops = q.shed(min(oldest.n, expiredPerLock), DropExpired, drops)
	}
	q.hint()
	q.wakePutters()
	return drops
}

// refresh replaces the error of refusals, at most once an interval, so that its estimate stays live.
func (q *Queue[T]) refresh(now int64) {
	if now-q.count.refreshed < int64(interval) {
		return
	}
	q.count.refreshed = now
	wait := q.estimate()
	if old := q.fullErr.Load(); old.EstimatedWait != wait {
		q.fullErr.Store(&FullError{Edge: q.cfg.Name, Capacity: q.cfg.Capacity, EstimatedWait: wait})
	}
}
