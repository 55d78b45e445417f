package queue

import (
	"fmt"
	"time"
)

// Kind is an order of service.
type Kind uint8

// The orders. Each is kept within a lane; FIFO, Newest and Largest have one lane.
const (
	FIFO    Kind = iota // first in, first out
	Newest              // the newest first while a queue stands, FIFO otherwise
	Fair                // lanes in turn
	ByRank              // the lane with the highest number first
	Largest             // FIFO; the dearest item pays for one more
)

// String returns the name of the order.
func (k Kind) String() string {
	names := [...]string{"fifo", "newest first", "fair", "by criticality", "shed largest"}
	if int(k) >= len(names) {
		return fmt.Sprintf("kind(%d)", uint8(k))
	}
	return names[k]
}

// slotted reports whether each item has a slot, because it may leave from anywhere. The others leave at an end.
func (k Kind) slotted() bool { return k != FIFO && k != Newest }

// Order says in which order items are served, and who pays when there is no room. The zero value is FIFO.
type Order struct {
	Kind     Kind
	Lanes    int           // of Fair and ByRank
	Reserved int           // of ByRank: places for lanes from From on
	From     int           // of ByRank
	Target   time.Duration // of Newest: a queue in which all wait longer
	Interval time.Duration // of Newest: for so long, stands
	Age      time.Duration // of Largest: who has waited longer does not pay
}

// order is an order at work, over the slots of items. It is told of each item that comes and goes, and asked who is next.
type order interface {
	// add takes note of the item in slot i, which has just come.
	add(i int32)
	// next returns the slot of the item that is served next at the moment now. There is one.
	next(now int64) int32
	// remove forgets the item in slot i: served, or dropped.
	remove(i int32, served bool)
	// behind returns how many wait behind the next item, in slot i: in its lane, where lanes are served in turn.
	behind(i int32) int
	// victim returns the slot of the item that pays for an arriving one, none where that pays itself.
	victim(f *facts, now int64) int32
	// admits reports whether an arriving item may take one of free places, of which there is at least one.
	admits(f *facts, free int) bool
	// spare returns how many of free places are open to any item: for a producer that can't know what it will bring.
	spare(free int) int
}

// newOrder returns the order at work over s.
func newOrder(o *Order, onFull Policy, s *slots) order {
	switch o.Kind {
	case Fair:
		return newFair(o, onFull, s)
	case ByRank:
		return newRanks(o, onFull, s)
	case Largest:
		return newLargest(o, onFull, s)
	case FIFO, Newest:
	}
	return nil
}

// single is the part of an order that has one lane, and lets everybody in.
type single struct{ *slots }

func (single) admits(*facts, int) bool { return true }
func (single) spare(free int) int      { return free }
func (s single) behind(int32) int      { return s.n - 1 }
