package queue

import (
	"time"

	"github.com/weir-go/weir/internal/clock"
)

// Waiter is the handle of one producer or consumer: the place where it parks, and what the queue remembers of it. It serves one
// call at a time. The zero value is ready for use.
type Waiter struct {
	// Ticket numbers the successful Takes of all consumers of a queue from 0, in the order in which they took.
	Ticket int64
	// Entered and Returned are the clock at the start and the end of the last Take, Waited the part of it spent waiting.
	Entered, Returned, Waited int64
	// Took is how many values the last Put took over, also where a hook or a weight function did not return.
	Took int

	// Parked is how long it was parked: for room as a producer, for items as a consumer.
	Parked clock.Stopwatch
	// Owner is told when it parks; nil: nobody is.
	Owner Owner

	signal     chan struct{}
	queued     bool // in a line; this and what follows is guarded by the queue's lock
	prev, next *Waiter
	epoch      uint64          // how often it was parked
	since      int64           // when it was, the last time
	done       <-chan struct{} // that ends the wait
	timed      bool            // a timeout does

	taken int     // items of the last Take
	facts []facts // of the values of the running Put
	pass  pass    // where it waits by lane
}

// Owner is whoever waits by a [Waiter].
type Owner interface {
	// Parks is called when the waiter has got in line, or those who could end its wait have become fewer. It must not block, and
	// may be called under the lock.
	Parks()
	// Holds returns how many items the waiter's goroutine has gathered. It is called while that is parked, under the lock.
	Holds() int
}

// NewWaiter returns a handle for one goroutine.
func NewWaiter() *Waiter { return new(Waiter) }

// sleep waits for a signal, at most until timeout or done, which may be nil. It reports whether the signal came.
func (w *Waiter) sleep(timeout <-chan time.Time, done <-chan struct{}) bool {
	if timeout == nil && done == nil {
		<-w.signal
		return true
	}
	select {
	case <-w.signal:
		return true
	case <-timeout:
		return false
	case <-done:
		return false
	}
}

// line is a first-come, first-served list of waiters that measures for how long it was not empty.
type line struct {
	first, last *Waiter
	since       int64
	total       int64
}

func (l *line) push(w *Waiter, now int64) {
	if w.signal == nil {
		w.signal = make(chan struct{}, 1)
	}
	w.epoch++
	w.since = now
	if l.first == nil {
		l.since = now
		l.first = w
	} else {
		l.last.next = w
		w.prev = l.last
	}
	l.last = w
	w.queued = true
}

func (l *line) remove(w *Waiter) {
	if w.prev == nil {
		l.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.queued = nil, nil, false
	if l.first == nil {
		l.total += clock.Now() - l.since
	}
}

// wake signals the first waiter, if there is one.
func (l *line) wake() {
	if l.first != nil {
		l.signal(l.first)
	}
}

// signal takes w out of the line and wakes it.
func (l *line) signal(w *Waiter) {
	l.remove(w)
	w.signal <- struct{}{}
}

func (l *line) wakeAll() {
	for l.first != nil {
		l.wake()
	}
}

// waited returns for how long the line was not empty, up to now.
func (l *line) waited(now int64) time.Duration {
	if l.first != nil {
		return time.Duration(l.total + now - l.since)
	}
	return time.Duration(l.total)
}

// fewer tells whoever waits that there is one less to wait for: a wait that somebody could end may have become one that nobody can.
func (l *line) fewer() {
	if l.first != nil && l.first.Owner != nil {
		l.first.Owner.Parks()
	}
}
