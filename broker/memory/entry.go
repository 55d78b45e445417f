package memory

import (
	"container/heap"
	"time"

	"github.com/weir-go/weir/broker"
)

// entry is a stored message. All entries of a stream are linked in the order of their sequence; those that wait for a moment
// or to be delivered again are in a heap besides.
type entry struct {
	message    broker.Delivery // without what belongs to one delivery
	size       int64
	prev, next *entry

	state    state
	attempts int
	token    uint64   // of the latest delivery
	by       *Fetcher // who got it
	due      time.Time
	pos      int // in its heap
}

type state int

const (
	fresh    state = iota // never delivered
	inFlight              // delivered and not settled
	delayed               // failed, waits for its delay
	again                 // to be delivered again
	gone                  // no longer stored
)

// chain is the list of entries, oldest first.
type chain struct {
	first, last *entry
	count       int64
	bytes       int64
}

func (c *chain) push(e *entry) {
	e.prev = c.last
	if c.last == nil {
		c.first = e
	} else {
		c.last.next = e
	}
	c.last = e
	c.count++
	c.bytes += e.size
}

func (c *chain) remove(e *entry) {
	if e.prev == nil {
		c.first = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		c.last = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
	c.count--
	c.bytes -= e.size
}

// agenda holds entries, the one that comes before all others first.
type agenda struct {
	entries []*entry
	before  func(a, b *entry) bool
}

func bySequence(a, b *entry) bool { return a.message.Sequence < b.message.Sequence }

func byDue(a, b *entry) bool { return a.due.Before(b.due) }

func (a *agenda) add(e *entry) { heap.Push((*sorted)(a), e) }

func (a *agenda) remove(e *entry) { heap.Remove((*sorted)(a), e.pos) }

func (a *agenda) moved(e *entry) { heap.Fix((*sorted)(a), e.pos) }

// first returns nil if there is none.
func (a *agenda) first() *entry {
	if len(a.entries) == 0 {
		return nil
	}
	return a.entries[0]
}

// sorted is an agenda as container/heap wants it.
type sorted agenda

func (s *sorted) Len() int { return len(s.entries) }

func (s *sorted) Less(i, j int) bool { return s.before(s.entries[i], s.entries[j]) }

func (s *sorted) Swap(i, j int) {
	s.entries[i], s.entries[j] = s.entries[j], s.entries[i]
	s.entries[i].pos, s.entries[j].pos = i, j
}

func (s *sorted) Push(x any) {
	e := x.(*entry)
	e.pos = len(s.entries)
	s.entries = append(s.entries, e)
}

func (s *sorted) Pop() any {
	last := len(s.entries) - 1
	e := s.entries[last]
	s.entries[last] = nil
	s.entries = s.entries[:last]
	return e
}
