package flow

import (
	"fmt"
	"sync/atomic"
)

// MergeHub is a flow of what any number of producers put in, which come and go while it runs. There is one edge for all of them,
// so what waits is bounded however many they are, and their number is bounded as well. Its methods are safe for
// concurrent use.
type MergeHub[T any] struct {
	in      *Inlet[T]
	members int
	count   atomic.Int64
}

// NewMergeHub returns a hub with at most members producers, who share the edge e. What is wrong with it is a build error of the
// pipeline, and until then the hub answers with ErrClosed.
func NewMergeHub[T any](members int, e Edge[T]) *MergeHub[T] {
	h := &MergeHub[T]{in: NewInlet(e), members: members}
	if h.in.node.check(members >= 1, argument("members", ">= 1", members)); members < 1 {
		h.in.closed.Store(true)
	}
	return h
}

// Attach adds a producer: an inlet into the hub's edge. Its Close frees the place and ends nothing but this inlet: a Put that waits
// in it then is still accepted. Its items keep their order; between producers there is none, and those that wait for room are
// served first come, first served. Its own Flow is a build error. The error is [ErrHubFull] where
// there are as many producers as may be, and [ErrClosed] when the hub is closed or draining.
func (h *MergeHub[T]) Attach() (*Inlet[T], error) {
	if h.in.closed.Load() {
		return nil, ErrClosed
	}
	if h.count.Add(1) > int64(h.members) {
		h.count.Add(-1)
		return nil, fmt.Errorf("%w: it has %d producers", ErrHubFull, h.members)
	}
	member := &Inlet[T]{edge: h.in.edge, queue: h.in.queue, hub: h.in, node: newNode("inlet", &settings{})}
	member.node.wrong("it is a producer of a MergeHub: use the Flow of the hub")
	member.waiters.New = h.in.waiters.New
	member.end = func() { h.count.Add(-1) }
	return member, nil
}

// Flow returns what the producers put in as a flow. Its edge is the hub's.
//
//	Ends:   when the hub is closed, by Close or a drain, and what it has accepted is processed. Without a producer it waits.
//	Errors: none of its own. A second run is a build error, and so are less than 1 member and what is wrong with the edge.
func (h *MergeHub[T]) Flow() Flow[T] { return h.in.Flow() }

// Close ends the hub's stream: what it has accepted is processed, and nothing more is taken from any producer. Further calls do
// nothing.
func (h *MergeHub[T]) Close() { h.in.Close() }
