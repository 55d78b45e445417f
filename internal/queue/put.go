package queue

import (
	"time"

	"github.com/weir-go/weir/stage"
)

// Demand returns how many items a producer should fetch now, at most limit. The only producer of a Block queue waits until
// there is room and gets just that much. One of several, which may not reserve room for an item it does not have, never
// waits: it gets one item while the queue is full. In front of a dropping queue demand is never withheld.
func (q *Queue[T]) Demand(w *Waiter, limit int, sole bool) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.end == nil {
		if room := q.room(); room > 0 {
			return min(room, limit), nil
		}
		switch {
		case q.cfg.OnFull != Block:
			return min(q.cfg.Capacity, limit), nil
		case !sole:
			return 1, nil
		}
		q.park(&q.putters, w, nil, nil)
	}
	return 0, q.closed()
}

// closed returns what a producer gets from a queue that has ended.
func (q *Queue[T]) closed() error {
	if q.end == stage.ErrEnd {
		return ErrClosed
	}
	return q.end
}

// room returns how many more items fit; where there is a weight bound that is an estimate from the mean weight of those that wait.
func (q *Queue[T]) room() int {
	free := q.free()
	if q.slab != nil {
		free = q.slab.order.spare(free)
	}
	switch {
	case free == 0 || q.next != nil:
		return 0
	case q.cfg.MaxWeight == 0 || q.weight == 0:
		return free
	case q.weight >= q.cfg.MaxWeight:
		return 0
	}
	mean := max(q.weight/int64(q.depth()), 1)
	return int(min(int64(free), max((q.cfg.MaxWeight-q.weight)/mean, 1)))
}

// Put hands values over, with tags beside them unless the queue is plain, and waits for room where the policy is Block, but not
// once done is closed. It returns how many the queue took over, dropped ones included; the others are still the caller's. The
// error is ErrLeft, ErrClosed, the cause of Abort, ErrGaveUp, a *FullError, or what is wrong with a weight. A nil w is for
// callers that do not wait: a full Block queue fails with a *FullError.
func (q *Queue[T]) Put(w *Waiter, values []T, tags []*Tag, done <-chan struct{}) (int, error) {
	if w != nil {
		w.Took = 0
	}
	if q.full.Load() && len(values) > 0 {
		return q.refuseAll(w, values, tags)
	}
	p := putting[T]{q: q, w: w, values: values, tags: tags, done: done}
	if q.asks {
		if err := p.inspect(); err != nil {
			return 0, err
		}
	}
	q.mu.Lock()
	err := p.run()
	q.mu.Unlock()
	if w != nil {
		w.Took = p.taken
	}
	q.report(p.drops)
	return p.taken, err
}

// Offer is Put for one item, without waiting: a full Block queue fails with a *FullError, and a drop of the item itself
// is reported as ErrDropped, when the queue has taken it over.
func (q *Queue[T]) Offer(v T, t *Tag) error {
	_, err := q.OfferWait(v, t)
	return err
}

// OfferWait is Offer, and says how long the item is going to wait.
func (q *Queue[T]) OfferWait(v T, t *Tag) (time.Duration, error) {
	if q.full.Load() {
		return 0, q.refuse(v, t)
	}
	return q.offer(v, t)
}

// Refuse is Offer for an item that nobody needs to know, where it would be refused without the lock: it counts it and returns
// the error. It returns nil where Offer has to be asked.
func (q *Queue[T]) Refuse() error {
	if !q.full.Load() {
		return nil
	}
	q.refused.Add(1)
	if q.cfg.OnFull == Reject {
		return q.fullErr.Load()
	}
	return ErrDropped
}

// refuse does to an offer what the policy says, without the lock.
func (q *Queue[T]) refuse(v T, t *Tag) error {
	q.refused.Add(1)
	if q.cfg.OnFull == Reject {
		return q.fullErr.Load()
	}
	if q.cfg.Dropped != nil {
		q.cfg.Dropped(v, t, DropFull)
	}
	return ErrDropped
}

// refuseAll is refuse for the values of a Put.
func (q *Queue[T]) refuseAll(w *Waiter, values []T, tags []*Tag) (int, error) {
	if q.cfg.OnFull == Reject {
		q.refused.Add(1)
		return 0, q.fullErr.Load()
	}
	q.refused.Add(int64(len(values)))
	if w != nil {
		w.Took = len(values)
	}
	if q.cfg.Dropped != nil {
		q.loseAll(values, tags)
	}
	return len(values), nil
}

// loseAll calls the hook for every value, also behind one for which the hook ends its goroutine.
func (q *Queue[T]) loseAll(values []T, tags []*Tag) {
	i := 0
	defer func() {
		if i < len(values) {
			q.loseAll(values[i:], tags[min(i, len(tags)):])
		}
	}()
	for i < len(values) {
		i++
		q.cfg.Dropped(values[i-1], q.tagOf(tags, i-1), DropFull)
	}
}

// offer is the part of Offer that is not worth inlining. It holds the lock throughout, because it never waits.
func (q *Queue[T]) offer(v T, t *Tag) (time.Duration, error) {
	var f facts
	var err error
	switch {
	case !q.asks:
	case q.bare(t):
		f.deadline = never
	default:
		if f, err = q.inspectOne(v, t); err != nil {
			return 0, err
		}
	}
	q.mu.Lock()
	if q.exchanges && q.free() == 0 && q.end == nil {
		oldest, tag := q.exchange(v, t, f.deadline)
		wait := q.estimate()
		q.mu.Unlock()
		if q.cfg.Dropped != nil {
			q.cfg.Dropped(oldest, tag, DropFull)
		}
		return wait, nil
	}
	o := &q.offered
	o.value[0], o.tag[0], o.facts[0] = v, t, f
	p := putting[T]{q: q, values: o.value[:], tags: o.tag[:], facts: o.facts[:]}
	err = p.run()
	*o = offered[T]{}
	wait := q.estimate()
	q.mu.Unlock()
	q.report(p.drops)
	if p.lost > 0 {
		err = ErrDropped
	}
	return wait, err
}

// exchange takes v over in the slot of the oldest item of a full queue, which it returns.
func (q *Queue[T]) exchange(v T, t *Tag, deadline int64) (oldest T, tag *Tag) {
	oldest = q.values.rotate(v)
	if q.cfg.Tagged {
		tag = q.tags.rotate(t)
	}
	if q.exit.late {
		q.deadlines.rotate(deadline)
	}
	at, _ := q.marks.take(head, 1)
	q.count.little.left(at, 1)
	q.stamp(1, true)
	q.count.in++
	q.count.dropped[DropFull]++
	return oldest, tag
}
