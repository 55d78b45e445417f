package queue

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/internal/claim"
	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/histogram"
	"github.com/weir-go/weir/stage"
)

// cacheLine is the size of a cache line on most machines.
const cacheLine = 64

// Queue is a bounded queue. All methods are safe for concurrent use, each [Waiter] for one call at a time.
type Queue[T any] struct {
	cfg       Config[T]
	hints     bool // offers to the full queue are refused without the lock
	exchanges bool // an offer to the full queue takes the slot of the oldest item
	asks      bool // items have facts
	tagOnly   bool // and only those with a tag

	// full is a hint for producers whose items would be refused: true only while the queue is open and full.
	full    atomic.Bool
	fullErr atomic.Pointer[FullError]

	// refused counts items dropped, or offers rejected, on that hint. A cache line of its own keeps a storm of them away from
	// the hint and from those who take the lock.
	_       [cacheLine]byte
	refused atomic.Int64
	_       [cacheLine - 8]byte

	mu        sync.Mutex
	values    ring[T] // what waits, in the order of arrival
	tags      ring[*Tag]
	weights   ring[int64]
	deadlines ring[int64]
	marks     marks
	newest    *newest  // which end of the rings is served; nil: the head
	slab      *slab[T] // what waits, in an order that the rings can't have; nil: the rings
	doors     *doors   // where producers wait by lane; nil: in putters only
	exit      exit
	weight    int64

	producers, consumers int
	fair                 bool  // consumers take at most their share
	end                  error // what a consumer gets once nothing waits, what a producer gets at once; nil while open
	left                 bool  // the last consumer has left, or the run was stopped
	onLeft               []func()

	putters, takers line
	next            *Waiter // the producer whose heavy item room is kept for
	nextWeight      int64
	count           counters
	offered         offered[T]
}

// counters are the figures that grow. In counts what producers handed over, dropped items included.
type counters struct {
	in, out   int64
	takes     int64
	dropped   [Reasons]int64
	refusals  int64 // offers failed with a FullError
	oversize  int64
	held      int // what was given back at the end
	maxDepth  int
	sinceMark int // evicting puts since the clock was read
	sojourn   histogram.Recorder
	floor     floor
	service   service
	flow      flow
	little    little
	ranks     []RankCounts // of ByRank
	refreshed int64        // when fullErr was last replaced
}

// offered is where the item of an Offer lies while the lock is held: a variable of Offer would be allocated on every call.
type offered[T any] struct {
	value [1]T
	tag   [1]*Tag
	facts [1]facts
}

// New returns an open queue without producers and consumers.
func New[T any](cfg Config[T]) *Queue[T] {
	q := &Queue[T]{cfg: cfg, fair: cfg.Fair}
	q.asks, q.exit = cfg.asks(), newExit(&q.cfg)
	q.tagOnly = cfg.OfTag && cfg.MaxWeight == 0 && !cfg.Order.Kind.slotted()
	if q.exit.late {
		q.count.service.recent = new(recent)
	}
	switch {
	case cfg.Order.Kind == Newest:
		q.newest = newNewest(&cfg.Order)
	case cfg.Order.Kind.slotted():
		q.slab = newSlab(&q.cfg)
		if cfg.OnFull == Block {
			q.doors = newDoors(q.slab.order, cfg.Order.Lanes)
		}
	}
	q.hints = cfg.MaxWeight == 0 && q.slab == nil && (cfg.OnFull == DropNewest || cfg.OnFull == Reject)
	q.exchanges = cfg.MaxWeight == 0 && q.slab == nil && cfg.OnFull == DropOldest
	now := clock.Now()
	q.count.refreshed, q.count.flow.at, q.count.little = now, now, little{start: now, at: now}
	if cfg.Order.Kind == ByRank {
		q.count.ranks = make([]RankCounts, cfg.Order.Lanes)
	}
	q.fullErr.Store(&FullError{Edge: cfg.Name, Capacity: cfg.Capacity})
	return q
}

// Config returns what the queue was made with, and the capacity that it has now.
func (q *Queue[T]) Config() Config[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.cfg
}

// AddProducer announces a producer, which will call CloseProducer.
func (q *Queue[T]) AddProducer() {
	q.mu.Lock()
	q.producers++
	q.mu.Unlock()
}

// AddConsumer announces a consumer, which will call Leave.
func (q *Queue[T]) AddConsumer() {
	q.mu.Lock()
	q.consumers++
	q.mu.Unlock()
}

// ShareOut makes a consumer take at most its share of what waits, because the others may be idle.
func (q *Queue[T]) ShareOut() {
	q.mu.Lock()
	q.fair = true
	q.mu.Unlock()
}

// OnLeft registers a function that runs, outside the lock, when the last consumer has left.
func (q *Queue[T]) OnLeft(fn func()) {
	q.mu.Lock()
	q.onLeft = append(q.onLeft, fn)
	q.mu.Unlock()
}

// CloseProducer says that one producer is done. After the last one consumers get stage.ErrEnd behind what waits.
func (q *Queue[T]) CloseProducer() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.producers--; q.producers == 0 && q.end == nil {
		q.finish(stage.ErrEnd)
	}
	q.takers.fewer()
}

// Leave says that one consumer wants no more. When it was the last one, what waits is given back and producers are told.
func (q *Queue[T]) Leave(cause error) {
	q.mu.Lock()
	if q.consumers--; q.consumers > 0 || q.left {
		q.putters.fewer()
		q.mu.Unlock()
		return
	}
	told := q.onLeft
	q.giveBack(ErrLeft, cause)
	for _, fn := range told {
		fn()
	}
}

// Abort ends both sides at once with cause, and gives back what waits.
func (q *Queue[T]) Abort(cause error) {
	q.mu.Lock()
	if q.left {
		q.mu.Unlock()
		return
	}
	q.giveBack(cause, cause)
}

// giveBack is called with the lock and releases it.
func (q *Queue[T]) giveBack(end, cause error) {
	q.left = true
	q.finish(end)
	q.count.held = q.depth()
	tags := q.empty()
	q.mu.Unlock()
	outcome := claim.GivenBack(cause)
	if q.cfg.Left != nil {
		outcome = q.cfg.Left(cause)
	}
	for _, t := range tags {
		t.Release(outcome)
	}
}

// finish marks the queue as ended and wakes everybody.
func (q *Queue[T]) finish(end error) {
	q.end = end
	q.full.Store(false)
	q.takers.wakeAll()
	q.putters.wakeAll()
}

// park waits in l for a signal, without the lock. It reports false if the caller gave up. A signal
// may have come too late: the caller looks again whether there is something to take, or to wake another for.
func (q *Queue[T]) park(l *line, w *Waiter, timeout <-chan time.Time, done <-chan struct{}) bool {
	now := clock.Now()
	l.push(w, now)
	w.timed, w.done = timeout != nil, done
	q.mu.Unlock()
	w.Parked.Start(now)
	if w.Owner != nil {
		w.Owner.Parks()
	}
	woken := w.sleep(timeout, done)
	w.Parked.Stop(clock.Now())
	q.mu.Lock()
	if woken {
		return true
	}
	if w.queued {
		l.remove(w)
	} else {
		<-w.signal
	}
	return false
}

// empty forgets what waits, and returns the tags.
func (q *Queue[T]) empty() []*Tag {
	if q.slab != nil {
		return q.slab.drain()
	}
	tags := make([]*Tag, q.tags.n)
	q.tags.peek(head, tags)
	q.tags.drop(head, q.tags.n)
	q.values.drop(head, q.values.n)
	q.weights.drop(head, q.weights.n)
	q.deadlines.drop(head, q.deadlines.n)
	q.marks.drop(head, q.marks.n)
	return tags
}

// depth returns how many items wait.
func (q *Queue[T]) depth() int {
	if q.slab != nil {
		return q.slab.n
	}
	return q.values.n
}

// free returns how many items fit, by count.
func (q *Queue[T]) free() int {
	free := q.cfg.Capacity - q.depth()
	if q.doors != nil {
		free -= q.doors.due
	}
	return free
}

// wakePutters lets a waiting producer in if there is room.
func (q *Queue[T]) wakePutters() {
	if q.doors != nil {
		q.openDoors()
		return
	}
	switch {
	case q.putters.first == nil || q.free() == 0:
	case q.next == nil:
		if q.cfg.MaxWeight == 0 || q.weight <= q.cfg.MaxWeight { // an item without weight fits even where they are equal
			q.putters.wake()
		}
	case q.next.queued && (q.depth() == 0 || q.nextWeight <= q.cfg.MaxWeight-q.weight):
		q.putters.signal(q.next)
	}
}

// openDoors lets all producers in for which there is room.
func (q *Queue[T]) openDoors() {
	for w := q.doors.open(q.free()); w != nil; w = q.doors.open(q.free()) {
		q.putters.signal(w)
	}
	if q.doors.waiting == 0 && q.putters.first != nil && q.room() > 0 {
		q.putters.wake() // who has no item yet, and asks how many it should bring
	}
}

// wakeTakers lets a waiting consumer take what waits.
func (q *Queue[T]) wakeTakers() {
	if q.takers.first != nil && q.depth() > 0 {
		q.takers.wake()
	}
}

// hint updates the flag that refusals read without the lock.
func (q *Queue[T]) hint() {
	if full := q.hints && q.free() == 0 && q.end == nil; full != q.full.Load() {
		q.full.Store(full)
	}
}
