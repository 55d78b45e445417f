package queue

import (
	"fmt"
	"slices"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/stage"
)

// marksPerCapacity bounds how many items that evict others share a clock reading: one in so many of the capacity, which keeps
// the error of a sojourn time below 2 % while they come evenly. Reading the clock each time would cost more than the eviction.
const marksPerCapacity = 64

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
	switch {
	case q.free() == 0 || q.next != nil:
		return 0
	case q.cfg.MaxWeight == 0 || q.weight == 0:
		return q.free()
	case q.weight >= q.cfg.MaxWeight:
		return 0
	}
	mean := max(q.weight/int64(q.values.n), 1)
	return int(min(int64(q.free()), max((q.cfg.MaxWeight-q.weight)/mean, 1)))
}

// Put hands values over, with tags beside them unless the queue is plain, and waits for room where the policy is Block, but not
// once done is closed. It returns how many the queue took over, dropped ones included; the others are still the caller's. The
// error is ErrLeft, ErrClosed, the cause of Abort, ErrGaveUp, a *FullError, or what is wrong with a weight. A nil w is for
// callers that do not wait: a full Block queue fails with a *FullError.
func (q *Queue[T]) Put(w *Waiter, values []T, tags []*Tag, done <-chan struct{}) (int, error) {
	if q.full.Load() && len(values) > 0 {
		return q.refuseAll(values, tags)
	}
	p := putting[T]{q: q, w: w, values: values, tags: tags, done: done}
	if q.cfg.MaxWeight > 0 {
		if err := p.weigh(); err != nil {
			return 0, err
		}
	}
	q.mu.Lock()
	err := p.run()
	q.mu.Unlock()
	q.report(p.drops)
	return p.taken, err
}

// Offer is Put for one item, without waiting: a full Block queue fails with a *FullError, and a drop of the item itself
// is reported as ErrDropped, when the queue has taken it over.
func (q *Queue[T]) Offer(v T, t *Tag) error {
	if q.full.Load() {
		return q.refuse(v, t)
	}
	return q.offer(v, t)
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
func (q *Queue[T]) refuseAll(values []T, tags []*Tag) (int, error) {
	if q.cfg.OnFull == Reject {
		q.refused.Add(1)
		return 0, q.fullErr.Load()
	}
	q.refused.Add(int64(len(values)))
	for i := 0; i < len(values) && q.cfg.Dropped != nil; i++ {
		q.cfg.Dropped(values[i], q.tagOf(tags, i), DropFull)
	}
	return len(values), nil
}

// offer is the part of Offer that is not worth inlining. It holds the lock throughout, because it never waits.
func (q *Queue[T]) offer(v T, t *Tag) error {
	weight, err := int64(0), error(nil)
	if q.cfg.MaxWeight > 0 {
		if weight, err = q.weightOf(v); err != nil {
			return err
		}
	}
	q.mu.Lock()
	if q.exchanges && q.free() == 0 && q.end == nil {
		oldest, tag := q.exchange(v, t)
		q.mu.Unlock()
		if q.cfg.Dropped != nil {
			q.cfg.Dropped(oldest, tag, DropFull)
		}
		return nil
	}
	o := &q.offered
	o.value[0], o.tag[0], o.weight[0] = v, t, weight
	p := putting[T]{q: q, values: o.value[:], tags: o.tag[:], weights: o.weight[:]}
	err = p.run()
	*o = offered[T]{}
	q.mu.Unlock()
	q.report(p.drops)
	if p.lost > 0 {
		return ErrDropped
	}
	return err
}

// exchange takes v over in the slot of the oldest item of a full queue, which it returns.
func (q *Queue[T]) exchange(v T, t *Tag) (oldest T, tag *Tag) {
	oldest = q.values.rotate(v)
	if q.cfg.Tagged {
		tag = q.tags.rotate(t)
	}
	q.marks.forget(1)
	q.stamp(1, true)
	q.count.in++
	q.count.dropped[DropFull]++
	return oldest, tag
}

// drop is an item on its way to the Dropped hook.
type drop[T any] struct {
	value T
	tag   *Tag
	why   Reason
}

// putting is one call of Put or Offer.
type putting[T any] struct {
	q       *Queue[T]
	w       *Waiter // nil: do not wait
	values  []T
	tags    []*Tag
	weights []int64
	done    <-chan struct{}

	taken int // values that are the queue's business now
	lost  int // those of them that were dropped on arrival
	drops []drop[T]
}

// run is called with the lock, which it gives up while it waits.
func (p *putting[T]) run() (err error) {
	q := p.q
	for err == nil && p.taken < len(p.values) {
		switch k := p.fits(); {
		case q.end != nil:
			err = q.closed()
		case k > 0:
			p.accept(k, false)
		default:
			err = p.overflow()
		}
	}
	q.unreserve(p.w)
	q.hint()
	q.wakeTakers()
	q.wakePutters() // there may be room left, above all if this caller was signalled and gave up
	return err
}

// weigh asks for the weight of each value, before the lock is taken.
func (p *putting[T]) weigh() error {
	if p.w != nil {
		p.weights = p.w.weights[:0]
	}
	for _, v := range p.values {
		weight, err := p.q.weightOf(v)
		if err != nil {
			return err
		}
		p.weights = append(p.weights, weight)
	}
	if p.w != nil {
		p.w.weights = p.weights
	}
	return nil
}

// weightOf asks a user's function.
func (q *Queue[T]) weightOf(v T) (int64, error) {
	weight := q.cfg.Weight(v)
	if weight < 0 {
		return 0, fmt.Errorf("flow: edge %q: weight must be >= 0, got %d", q.cfg.Name, weight)
	}
	return weight, nil
}

// fits returns how many of the next values have room.
func (p *putting[T]) fits() int {
	q, k := p.q, min(p.q.free(), len(p.values)-p.taken)
	if p.q.cfg.MaxWeight == 0 || k == 0 {
		return k
	}
	if q.next != nil && q.next != p.w {
		return 0
	}
	weight, n := q.weight, q.values.n
	for i := range k {
		weight += p.weights[p.taken+i]
		if weight > q.cfg.MaxWeight && n+i > 0 {
			return i
		}
	}
	return k
}

// accept takes over the next k values, which fit.
func (p *putting[T]) accept(k int, evicting bool) {
	q, from, to := p.q, p.taken, p.taken+k
	q.values.grow(k, q.cfg.Capacity)
	q.values.push(p.values[from:to])
	if q.cfg.Tagged {
		q.tags.grow(k, q.cfg.Capacity)
		q.tags.push(p.tags[from:to])
	}
	if p.q.cfg.MaxWeight > 0 {
		q.weights.grow(k, q.cfg.Capacity)
		q.weights.push(p.weights[from:to])
		for _, w := range p.weights[from:to] {
			q.weight += w
			if w > q.cfg.MaxWeight {
				q.count.oversize++
			}
		}
	}
	q.stamp(k, evicting)
	q.count.in += int64(k)
	q.count.maxDepth = max(q.count.maxDepth, q.values.n)
	p.taken = to
}

// stamp remembers when k items were accepted.
func (q *Queue[T]) stamp(k int, evicting bool) {
	if evicting && q.cfg.MaxWait == 0 && q.marks.n > 0 && q.count.sinceMark+k <= q.cfg.Capacity/marksPerCapacity {
		q.count.sinceMark += k
		q.marks.extend(k)
		return
	}
	q.count.sinceMark = 0
	q.marks.push(clock.Now(), k, q.cfg.Capacity)
}

// overflow applies the policy to the next value, which does not fit.
func (p *putting[T]) overflow() error {
	q := p.q
	switch {
	case q.cfg.OnFull == DropNewest:
		p.loseNext()
	case q.cfg.OnFull == DropOldest && p.tooHeavy():
		p.loseNext()
	case q.cfg.OnFull == DropOldest:
		p.evict()
	case q.cfg.OnFull == Reject || p.w == nil:
		q.count.refusals++
		return q.fullErr.Load()
	default:
		p.reserve()
		q.wakeTakers() // for what this call has put so far
		if !q.park(&q.putters, p.w, nil, p.done) {
			return ErrGaveUp
		}
	}
	return nil
}

// tooHeavy reports whether the next value exceeds the bound all by itself.
func (p *putting[T]) tooHeavy() bool {
	return p.q.cfg.MaxWeight > 0 && p.weights[p.taken] > p.q.cfg.MaxWeight
}

// loseNext drops the next value on arrival; where no weights are compared, all that do not fit.
func (p *putting[T]) loseNext() {
	q, k, why := p.q, 1, DropFull
	if p.q.cfg.MaxWeight == 0 {
		k = len(p.values) - p.taken
	}
	if p.tooHeavy() {
		why = DropTooHeavy
	}
	if q.cfg.Dropped != nil {
		p.drops = slices.Grow(p.drops, k)
		for i := p.taken; i < p.taken+k; i++ {
			p.drops = append(p.drops, drop[T]{p.values[i], q.tagOf(p.tags, i), why})
		}
	}
	q.count.in += int64(k)
	q.count.dropped[why] += int64(k)
	p.lost += k
	p.taken += k
}

// evict makes room for the next value by dropping the oldest, and takes it over.
func (p *putting[T]) evict() {
	q := p.q
	if p.q.cfg.MaxWeight == 0 {
		k := min(len(p.values)-p.taken, q.cfg.Capacity)
		p.drops = q.shed(k, DropFull, p.drops)
		p.accept(k, true)
		return
	}
	for p.fits() == 0 {
		p.drops = q.shed(1, DropFull, p.drops)
	}
	p.accept(1, true)
}

// reserve keeps others from taking the room that a heavy item waits for: without that, light ones could pass it for ever.
func (p *putting[T]) reserve() {
	if q := p.q; q.cfg.MaxWeight > 0 && (q.next == p.w || q.next == nil && q.free() > 0) {
		q.next, q.nextWeight = p.w, p.weights[p.taken]
	}
}

func (q *Queue[T]) unreserve(w *Waiter) {
	if w != nil && q.next == w {
		q.next = nil
	}
}

// shed drops the k oldest items and appends them to drops if somebody wants to know.
func (q *Queue[T]) shed(k int, why Reason, drops []drop[T]) []drop[T] {
	if q.cfg.Dropped != nil {
		drops = slices.Grow(drops, k)
		for i := range k {
			drops = append(drops, drop[T]{q.values.buf[q.values.at(i)], q.tagOf(q.tags.buf, q.tags.at(i)), why})
		}
	}
	q.remove(k)
	q.marks.forget(k)
	q.count.dropped[why] += int64(k)
	return drops
}

// remove forgets the k oldest items, except for their marks.
func (q *Queue[T]) remove(k int) {
	q.values.drop(k)
	if q.cfg.Tagged {
		q.tags.drop(k)
	}
	if q.cfg.MaxWeight > 0 {
		for i := range k {
			q.weight -= q.weights.buf[q.weights.at(i)]
		}
		q.weights.drop(k)
	}
}

// tagOf returns tags[i], nil in a plain queue.
func (q *Queue[T]) tagOf(tags []*Tag, i int) *Tag {
	if !q.cfg.Tagged {
		return nil
	}
	return tags[i]
}

// report calls the hook for what was dropped, outside the lock.
func (q *Queue[T]) report(drops []drop[T]) {
	for _, d := range drops {
		q.cfg.Dropped(d.value, d.tag, d.why)
	}
}
