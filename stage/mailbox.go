package stage

import (
	"errors"
	"fmt"
	"sync"
)

// mailbox is the Subscriber of a [Subscribed]: a bounded place for values, and the account of what was asked for. At every
// instant asked = delivered + demand, and held + demand <= window.
type mailbox[T any] struct {
	news   chan struct{} // something has come, or it is the end
	window int

	mu     sync.Mutex
	held   []T // held[first:] wait
	first  int
	demand int   // asked for, not yet delivered
	end    error // what comes behind what waits; nil while open
}

func newMailbox[T any](window int) *mailbox[T] {
	return &mailbox[T]{news: make(chan struct{}, 1), window: window}
}

// grant returns how many values to ask for, 0 until that is worth a request: they count as asked for.
func (m *mailbox[T]) grant() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.window - (len(m.held) - m.first) - m.demand
	if m.end != nil || n < (m.window+1)/2 {
		return 0
	}
	m.demand += n
	return n
}

// Deliver implements [Subscriber].
func (m *mailbox[T]) Deliver(vs ...T) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.end != nil || len(vs) == 0 {
		return 0
	}
	n := min(len(vs), m.demand)
	m.makeRoom(n)
	m.held = append(m.held, vs[:n]...)
	if m.demand -= n; n < len(vs) {
		m.end = fmt.Errorf("stage: the publisher breaks rule U1: it delivered %d values for a demand of %d", len(vs), n)
	}
	m.ring()
	return n
}

// makeRoom moves what waits to the front where n values more would make the slice grow.
func (m *mailbox[T]) makeRoom(n int) {
	if m.first == 0 || len(m.held)+n <= cap(m.held) {
		return
	}
	k := copy(m.held, m.held[m.first:])
	clear(m.held[k:])
	m.held, m.first = m.held[:k], 0
}

// Complete implements [Subscriber].
func (m *mailbox[T]) Complete() { m.finish(ErrEnd) }

// Fail implements [Subscriber].
func (m *mailbox[T]) Fail(err error) {
	if err == ErrEnd {
		err = endAsError(err)
	}
	if err == nil {
		err = errors.New("stage: the publisher failed without an error")
	}
	m.finish(err)
}

// endAsError returns ErrEnd as an error like any other, for places that can't be a clean end.
func endAsError(err error) error { return fmt.Errorf("stage: the publisher failed: %w", err) }

// finish sets the end. The first one counts.
func (m *mailbox[T]) finish(end error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.end == nil {
		m.end = end
		m.ring()
	}
}

func (m *mailbox[T]) ring() {
	select {
	case m.news <- struct{}{}:
	default:
	}
}

// take moves what waits to dst. The end comes alone.
func (m *mailbox[T]) take(dst []T) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := copy(dst, m.held[m.first:])
	if n == 0 {
		return 0, m.end
	}
	clear(m.held[m.first : m.first+n])
	if m.first += n; m.first == len(m.held) {
		m.held, m.first = m.held[:0], 0
	}
	return n, nil
}

// forget drops what waits.
func (m *mailbox[T]) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held, m.first = nil, 0
}
