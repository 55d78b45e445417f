package queue

import (
	"fmt"
	"slices"

	"github.com/weir-go/weir/internal/clock"
)

// marksPerCapacity bounds how many items that evict others share a clock reading: one in so many of the capacity, which keeps
// the error of a sojourn time below 2 % while they come evenly. Reading the clock each time would cost more than the eviction.
const marksPerCapacity = 64

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
		return 0, fmt.Errorf("flow: edge %q: %w, got %d", q.cfg.Name, ErrWeight, weight)
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
		w := p.weights[p.taken+i]
		if w > q.cfg.MaxWeight-weight && n+i > 0 { // not the sum, which may be too large for a number
			return i
		}
		weight += w
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

// report calls the hook for what was dropped, outside the lock, also behind an item for which the hook ends its goroutine.
func (q *Queue[T]) report(drops []drop[T]) {
	if len(drops) == 0 {
		return
	}
	i := 0
	defer func() {
		if i < len(drops) {
			q.report(drops[i:])
		}
	}()
	for i < len(drops) {
		i++
		q.cfg.Dropped(drops[i-1].value, drops[i-1].tag, drops[i-1].why)
	}
}
