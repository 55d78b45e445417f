package queue

import "github.com/weir-go/weir/stage"

// Grow gives a queue room for n items more, and lets in who waits for it. One that has ended stays as it is.
func (q *Queue[T]) Grow(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.end != nil {
		return
	}
	q.cfg.Capacity += n
	full := *q.fullErr.Load()
	full.Capacity = q.cfg.Capacity
	q.fullErr.Store(&full)
	q.hint()
	q.wakePutters()
}

// Capacity returns how many items there is room for, now.
func (q *Queue[T]) Capacity() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.cfg.Capacity
}

// Shed drops the oldest item, as [DropShed], and lets in who waits for its room. Where there is no hook for dropped items its
// tag ends with o. It reports whether there was one.
func (q *Queue[T]) Shed(o stage.Outcome) bool {
	q.mu.Lock()
	if q.depth() == 0 || q.end != nil {
		q.mu.Unlock()
		return false
	}
	t := q.oldestTag()
	drops := q.shed(head, 1, DropShed, nil)
	q.hint()
	q.wakePutters()
	q.mu.Unlock()
	if q.cfg.Dropped == nil {
		t.Release(o)
	}
	q.report(drops)
	return true
}
