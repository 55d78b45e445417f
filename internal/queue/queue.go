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

	// full is a hint for producers whose items would be refused: true only while the queue is open and full.
	full    atomic.Bool
	fullErr atomic.Pointer[FullError]

	// refused counts items dropped, or offers rejected, on that hint. A cache line of its own keeps a storm of them away from
	// the hint and from those who take the lock.
	_       [cacheLine]byte
	refused atomic.Int64
	_       [cacheLine - 8]byte

	mu      sync.Mutex
	values  ring[T]
	tags    ring[*Tag]
	weights ring[int64]
	marks   marks
	weight  int64

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
	refreshed int64 // when fullErr was last replaced
}

// offered is where the item of an Offer lies while the lock is held: a variable of Offer would be allocated on every call.
type offered[T any] struct {
	value  [1]T
	tag    [1]*Tag
	weight [1]int64
}

// New returns an open queue without producers and consumers.
func New[T any](cfg Config[T]) *Queue[T] {
	q := &Queue[T]{cfg: cfg, fair: cfg.Fair}
	q.hints = cfg.MaxWeight == 0 && (cfg.OnFull == DropNewest || cfg.OnFull == Reject)
	q.exchanges = cfg.MaxWeight == 0 && cfg.OnFull == DropOldest
	q.count.refreshed = clock.Now()
	q.fullErr.Store(&FullError{Edge: cfg.Name, Capacity: cfg.Capacity})
	return q
}

// Config returns what the queue was made with.
func (q *Queue[T]) Config() Config[T] { return q.cfg }

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
}

// Leave says that one consumer wants no more. When it was the last one, what waits is given back and producers are told.
func (q *Queue[T]) Leave(cause error) {
	q.mu.Lock()
	if q.consumers--; q.consumers > 0 || q.left {
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
	tags := make([]*Tag, q.tags.n)
	q.tags.pop(tags)
	q.count.held = q.values.n
	q.values.drop(q.values.n)
	q.weights.drop(q.weights.n)
	q.marks.drop(q.marks.n)
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
	l.push(w)
	q.mu.Unlock()
	w.Parked.Start(clock.Now())
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

// free returns how many items fit, by count.
func (q *Queue[T]) free() int { return q.cfg.Capacity - q.values.n }

// wakePutters lets a waiting producer in if there is room.
func (q *Queue[T]) wakePutters() {
	switch {
	case q.putters.first == nil || q.free() == 0:
	case q.next == nil:
		if q.cfg.MaxWeight == 0 || q.weight <= q.cfg.MaxWeight { // an item without weight fits even where they are equal
			q.putters.wake()
		}
	case q.next.queued && (q.values.n == 0 || q.nextWeight <= q.cfg.MaxWeight-q.weight):
		q.putters.signal(q.next)
	}
}

// wakeTakers lets a waiting consumer take what waits.
func (q *Queue[T]) wakeTakers() {
	if q.takers.first != nil && q.values.n > 0 {
		q.takers.wake()
	}
}

// hint updates the flag that refusals read without the lock.
func (q *Queue[T]) hint() {
	if full := q.hints && q.free() == 0 && q.end == nil; full != q.full.Load() {
		q.full.Store(full)
	}
}
