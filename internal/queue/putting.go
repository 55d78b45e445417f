package queue

import (
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
	q      *Queue[T]
	w      *Waiter // nil: do not wait
	values []T
	tags   []*Tag
	facts  []facts
	done   <-chan struct{}
	now    int64 // when the clock was last read for items in slots; 0: not yet

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
	if q.doors != nil && p.w != nil {
		q.doors.end(p.w)
	}
	q.hint()
	q.wakeTakers()
	q.wakePutters() // there may be room left, above all if this caller was signalled and gave up
	return err
}

// fits returns how many of the next values have room.
func (p *putting[T]) fits() int {
	q, k := p.q, min(p.q.free(), len(p.values)-p.taken)
	switch {
	case q.doors != nil && p.w != nil && p.w.pass.kept:
		return 1
	case k <= 0:
		return 0
	case q.slab != nil && !q.slab.order.admits(&p.facts[p.taken], q.free()):
		return 0
	case q.slab != nil:
		k = 1
	}
	if p.q.cfg.MaxWeight == 0 {
		return k
	}
	if q.next != nil && q.next != p.w {
		return 0
	}
	weight, n := q.weight, q.depth()
	for i := range k {
		w := p.facts[p.taken+i].weight
		if w > q.cfg.MaxWeight-weight && n+i > 0 { // not the sum, which may be too large for a number
			return i
		}
		weight += w
	}
	return k
}

// accept takes over the next values, which fit: k where there are rings.
func (p *putting[T]) accept(k int, evicting bool) {
	q, from := p.q, p.taken
	if q.slab != nil {
		p.place()
	} else {
		p.append(k, evicting)
	}
	q.count.in += int64(p.taken - from)
	q.count.maxDepth = max(q.count.maxDepth, q.depth())
}

// append puts the next k values into the rings.
func (p *putting[T]) append(k int, evicting bool) {
	q, from, to := p.q, p.taken, p.taken+k
	q.values.grow(k, q.cfg.Capacity)
	q.values.push(p.values[from:to])
	if q.cfg.Tagged {
		q.tags.grow(k, q.cfg.Capacity)
		q.tags.push(p.tags[from:to])
	}
	if q.asks {
		p.record(from, to)
	}
	q.stamp(k, evicting)
	p.taken = to
}

// record keeps the facts of values that go into the rings.
func (p *putting[T]) record(from, to int) {
	q, of := p.q, p.facts[from:to]
	if q.cfg.MaxWeight > 0 {
		q.weights.grow(len(of), q.cfg.Capacity)
		for i := range of {
			q.weights.add(of[i].weight)
			q.weigh(&of[i])
		}
	}
	if q.exit.late {
		q.deadlines.grow(len(of), q.cfg.Capacity)
		for i := range of {
			q.deadlines.add(of[i].deadline)
		}
	}
}

// weigh adds the weight of an item that was accepted.
func (q *Queue[T]) weigh(f *facts) {
	q.weight += f.weight
	if f.weight > q.cfg.MaxWeight {
		q.count.oversize++
	}
}

// place puts the next value into a slot, and those behind it for which there is room as well.
func (p *putting[T]) place() {
	q, now := p.q, p.clock()
	q.count.little.pass(now, q.slab.n)
	for more := true; more; more = p.taken < len(p.values) && p.fits() > 0 {
		f := &p.facts[p.taken]
		if q.doors != nil && p.w != nil {
			q.doors.end(p.w)
		}
		if q.count.ranks != nil {
			q.count.ranks[f.lane].Offered++
		}
		if q.cfg.MaxWeight > 0 {
			q.weigh(f)
		}
		q.slab.put(p.values[p.taken], q.tagOf(p.tags, p.taken), f, now, q.cfg.Capacity)
		p.taken++
	}
}

// clock returns the moment at which the call has got the lock.
func (p *putting[T]) clock() int64 {
	if p.now == 0 {
		p.now = clock.Now()
	}
	return p.now
}

// stamp remembers when k items were accepted.
func (q *Queue[T]) stamp(k int, evicting bool) {
	if evicting && q.cfg.MaxWait == 0 && q.marks.n > 0 && q.count.sinceMark+k <= q.cfg.Capacity/marksPerCapacity {
		q.count.sinceMark += k
		q.marks.extend(k)
		return
	}
	q.count.sinceMark = 0
	now := clock.Now()
	q.count.little.pass(now, q.values.n-k)
	q.marks.push(now, k, q.cfg.Capacity)
}

// overflow applies the policy to the next value, which does not fit.
func (p *putting[T]) overflow() error {
	q := p.q
	switch {
	case q.slab != nil && (q.cfg.OnFull == DropNewest || q.cfg.OnFull == DropOldest):
		p.displace()
	case q.cfg.OnFull == DropNewest:
		p.loseNext()
	case q.cfg.OnFull == DropOldest && p.tooHeavy():
		p.loseNext()
	case q.cfg.OnFull == DropOldest:
		p.evict()
	case q.cfg.OnFull == Reject || p.w == nil:
		p.refused(p.taken)
		q.count.refusals++
		return q.fullErr.Load()
	default:
		p.reserve()
		q.wakeTakers() // for what this call has put so far
		if !p.wait() {
			return ErrGaveUp
		}
	}
	return nil
}

// wait waits for a signal: in line, or behind the door of the next value's lane. It reports false if the caller gave up.
func (p *putting[T]) wait() bool {
	q := p.q
	if q.doors != nil {
		q.doors.join(p.w, &p.facts[p.taken])
		defer q.doors.leave(p.w)
	}
	p.now = 0
	return q.park(&q.putters, p.w, nil, p.done)
}

// displace lets the item pay that the order says: one that waits, or the next value itself.
func (p *putting[T]) displace() {
	q, i := p.q, none
	if !p.tooHeavy() {
		i = q.slab.order.victim(&p.facts[p.taken], p.clock())
	}
	if i == none {
		p.loseNext()
		return
	}
	if q.count.ranks != nil {
		q.count.ranks[q.slab.of[i].lane].Refused++
	}
	p.drops = q.dropSlot(i, DropFull, p.drops)
}

// refused counts the i-th value as one that came and was refused, where ranks are counted.
func (p *putting[T]) refused(i int) {
	if ranks := p.q.count.ranks; ranks != nil {
		ranks[p.facts[i].lane].Offered++
		ranks[p.facts[i].lane].Refused++
	}
}

// tooHeavy reports whether the next value exceeds the bound all by itself.
func (p *putting[T]) tooHeavy() bool {
	return p.q.cfg.MaxWeight > 0 && p.facts[p.taken].weight > p.q.cfg.MaxWeight
}

// loseNext drops the next value on arrival; where no weights are compared, all that do not fit.
func (p *putting[T]) loseNext() {
	q, k, why := p.q, 1, DropFull
	if p.q.cfg.MaxWeight == 0 && q.slab == nil {
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
	p.refused(p.taken)
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
		p.drops = q.shed(head, k, DropFull, p.drops)
		p.accept(k, true)
		return
	}
	for p.fits() == 0 {
		p.drops = q.shed(head, 1, DropFull, p.drops)
	}
	p.accept(1, true)
}

// reserve keeps others from taking the room that a heavy item waits for: without that, light ones could pass it for ever.
func (p *putting[T]) reserve() {
	if q := p.q; q.cfg.MaxWeight > 0 && (q.next == p.w || q.next == nil && q.free() > 0) {
		q.next, q.nextWeight = p.w, p.facts[p.taken].weight
	}
}

func (q *Queue[T]) unreserve(w *Waiter) {
	if w != nil && q.next == w {
		q.next = nil
	}
}

// shed drops the first k items at e, the oldest in slots, and appends them to drops if somebody wants to know.
func (q *Queue[T]) shed(e end, k int, why Reason, drops []drop[T]) []drop[T] {
	if q.slab != nil {
		for range k {
			drops = q.dropSlot(q.slab.age.first, why, drops)
		}
		return drops
	}
	if q.cfg.Dropped != nil {
		drops = slices.Grow(drops, k)
		for i := range k {
			drops = append(drops, drop[T]{q.values.buf[q.values.slot(e, i)], q.tagOf(q.tags.buf, q.tags.slot(e, i)), why})
		}
	}
	q.remove(e, k)
	for left := k; left > 0; {
		at, n := q.marks.take(e, left)
		q.count.little.left(at, n)
		left -= n
	}
	q.count.dropped[why] += int64(k)
	return drops
}

// remove forgets the first k items at e, except for their marks.
func (q *Queue[T]) remove(e end, k int) {
	q.values.drop(e, k)
	if q.cfg.Tagged {
		q.tags.drop(e, k)
	}
	if q.cfg.MaxWeight > 0 {
		for i := range k {
			q.weight -= q.weights.buf[q.weights.slot(e, i)]
		}
		q.weights.drop(e, k)
	}
	if q.exit.late {
		q.deadlines.drop(e, k)
	}
}

// dropSlot drops the item in slot i and appends it to drops if somebody wants to know.
func (q *Queue[T]) dropSlot(i int32, why Reason, drops []drop[T]) []drop[T] {
	if q.cfg.Dropped != nil {
		drops = append(drops, drop[T]{q.slab.values[i], q.slab.tags[i], why})
	}
	q.weight -= q.slab.of[i].weight
	q.count.little.left(q.slab.of[i].at, 1)
	q.slab.remove(i, false)
	q.count.dropped[why]++
	return drops
}

// oldestTag returns the tag of the item that has waited longest. There is one.
func (q *Queue[T]) oldestTag() *Tag {
	if q.slab != nil {
		return q.slab.tags[q.slab.age.first]
	}
	return q.tagOf(q.tags.buf, q.tags.at(0))
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
