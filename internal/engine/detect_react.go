package engine

import (
	"slices"

	"github.com/weir-go/weir/internal/claim"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/internal/waitgraph"
)

// Grow doubles the smallest full edge, but gives it at most most places more. It returns its new capacity, and by how much that
// is more: 0 where there is no such edge.
func (d *Deadlock) Grow(most int) (capacity, more int) {
	if d.smallest == nil {
		return 0, 0
	}
	capacity = d.smallest.Info().Capacity
	more = min(capacity, most)
	if more < 1 || !d.smallest.grow(more) {
		return capacity, 0
	}
	return capacity + more, more
}

// Shed drops an item of the first full edge, in the order of the hops, that says what becomes of dropped ones. It returns the name
// of the edge, "" where there is none.
func (d *Deadlock) Shed() string {
	for i := range d.Hops {
		if h := &d.Hops[i]; h.For == waitgraph.Room && h.edge.shed() {
			return h.Edge
		}
	}
	return ""
}

// Spins reports whether the items would go round for ever if the workers could go on: they lie on a circle of edges that has no
// way out.
func (d *Deadlock) Spins() bool {
	circle := reach(d.run, d.first.feeds())
	if !circle[d.first.id] {
		return false
	}
	for id, in := range circle {
		if in && !reach(d.run, d.run.Workers[id].feeds())[d.first.id] {
			return false
		}
	}
	return true
}

// feeds returns the edges that the worker feeds.
func (w *Worker) feeds() (edges []Edge) {
	for _, out := range w.outs {
		if e, ok := out.(Edge); ok {
			edges = append(edges, e)
		}
	}
	return edges
}

// reach returns for each worker whether what is in one of the edges may come to it.
func reach(r *Run, edges []Edge) []bool {
	reached := make([]bool, len(r.Workers))
	for ; len(edges) > 0; edges = edges[1:] {
		for _, w := range edges[0].consumers() {
			if !reached[w.id] {
				reached[w.id] = true
				edges = append(slices.Clip(edges), w.feeds()...)
			}
		}
	}
	return reached
}

// grow implements [Edge].
func (l *Link[T]) grow(n int) bool {
	l.Grow(n)
	return true
}

// shed implements [Edge].
func (l *Link[T]) shed() bool {
	if !l.Sheds {
		return false
	}
	o := claim.GivenBack(queue.ErrDropped)
	if l.Dropped != nil {
		o = *l.Dropped
	}
	return l.Shed(o)
}

// grow implements [Edge]. Lanes stay as they are: each group has one, and the next one gets its own.
func (r *grouping[K, T, U]) grow(int) bool { return false }

// shed implements [Edge].
func (r *grouping[K, T, U]) shed() bool { return false }
