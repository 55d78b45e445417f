package waitgraph

import "slices"

// Detector compares snapshots of the same tasks and edges, taken one after the other. The zero value is ready for use. It is not
// safe for concurrent use.
type Detector struct {
	tasks []Task
	edges []Edge
}

// Look takes one more snapshot, which it does not keep. It returns the knots of those that are stuck now and have stood at the
// same place since the last one, and whether anything has changed since then: if not, nothing will before a task waits anew, or an
// end of an edge changes.
func (d *Detector) Look(s *Snapshot) (knots []Knot, changed bool) {
	changed = !slices.EqualFunc(d.tasks, s.Tasks, alike) || !slices.EqualFunc(d.edges, s.Edges, sameEnds)
	still := func(i int) bool { return i < len(d.tasks) && alike(d.tasks[i], s.Tasks[i]) }
	if stuck := s.stuck(still); slices.Contains(stuck, true) {
		knots = s.knots(stuck)
	}
	d.keep(s)
	return knots, changed
}

// keep copies what the next Look compares with.
func (d *Detector) keep(s *Snapshot) {
	d.edges = append(d.edges[:0], s.Edges...)
	d.tasks = slices.Grow(d.tasks[:0], len(s.Tasks))[:len(s.Tasks)]
	for i, t := range s.Tasks {
		kept := &d.tasks[i]
		kept.Kind, kept.Epoch, kept.On = t.Kind, t.Epoch, append(kept.On[:0], t.On...)
	}
}

// alike reports whether a task has not moved.
func alike(a, b Task) bool {
	return a.Kind == b.Kind && a.Epoch == b.Epoch && slices.Equal(a.On, b.On)
}

// sameEnds reports whether those outside are the same.
func sameEnds(a, b Edge) bool {
	return a.Ended == b.Ended && a.Fed == b.Fed && a.Read == b.Read && len(a.Producers) == len(b.Producers) && len(a.Consumers) == len(b.Consumers)
}
