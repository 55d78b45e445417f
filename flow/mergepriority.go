package flow

import (
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// patience is how many values of higher inputs a value of a lower one lets pass, before it has its turn.
const patience = 64

// MergePriority is a flow of what all of highestFirst give. When several have a value, the first of them has its turn; but behind
// 64 values from inputs above it, one value of an input that waits comes through, so that none starves.
//
//	Shape:        several T → T; the order of each input is kept; a goroutine and an edge for each input.
//	Emits:        what is there, as it comes. It takes at most 16 values at a time, and looks at all inputs again before it
//	              takes more; the preference counts for what waits in its edges, not for what it has handed on.
//	Backpressure: waits for downstream; an input waits when its edge is full.
//	Ends:         when all inputs have ended.
//	Errors:       none of its own. An error of any input stops the run. No input at all is a build error.
//	Claims:       travel along.
//	Cost:         one edge for each input; a look at each input above the one that has something.
//
// Write no large Buffer behind it: what waits there is in the order in which it came.
func MergePriority[T any](highestFirst ...Flow[T]) Flow[T] {
	nd, ups := joinedNode("mergepriority", &settings{}, highestFirst...)
	nd.check(len(highestFirst) > 0, "there must be at least one flow")
	return Flow[T]{&fused[T]{node: nd, read: func(b *build, w *engine.Worker) engine.Input[T] {
		step := &priorityStep[T]{bell: engine.NewBell(w), ins: make([]preferred[T], len(ups))}
		for i, up := range ups {
			step.ins[i].Port = engine.NewPort(w, ringing(b, up, inputName(b, nd, i), step.bell))
		}
		s := step.ins[0].Stream
		for _, in := range step.ins[1:] {
			s = s.Or(in.Stream)
		}
		w.SmallChunks()
		step.Fused = engine.NewFused(w, b.stage(nd))
		return engine.Paced(w, step, s)
	}}}
}

// ringing builds everything up to up, and the edge behind it, whose producer rings: the edge that the user wrote, or a small one.
func ringing[T any](b *build, up upstream[T], name string, bell *engine.Bell) *engine.Link[T] {
	spec := implicit[T](name)
	if e, ok := up.(*edged[T]); ok {
		up, spec = e.up, edgeSpec[T]{Edge: e.spec, name: b.name(e.node), node: e.node}
	}
	w := b.run.NewWorker()
	in := up.reader(b, w)
	l := spec.open(b, in.Stream)
	engine.PumpAndRing(w, in, l, bell)
	return l
}

type priorityStep[T any] struct {
	engine.Fused
	ins  []preferred[T] // highest first
	bell *engine.Bell
}

// preferred is one input of a MergePriority.
type preferred[T any] struct {
	*engine.Port[T]
	passed int // values of higher inputs since it had its turn
	ended  bool
}

// Pull implements engine.Reader.
func (s *priorityStep[T]) Pull(dst []T, tags []*engine.Tag) (int, error) {
	for {
		n, err := s.overdue(dst[:1], tags)
		if n == 0 && err == nil {
			n, err = s.first(dst, tags)
		}
		if n > 0 || err != nil {
			s.Stage.Count(n, n)
			return n, err
		}
		if err := s.bell.Wait(); err != nil {
			return 0, err
		}
	}
}

// overdue takes a value of an input that has let enough pass, the lowest first: for it, those of the others count.
func (s *priorityStep[T]) overdue(dst []T, tags []*engine.Tag) (int, error) {
	for i := len(s.ins) - 1; i > 0; i-- {
		if s.ins[i].passed < patience {
			continue
		}
		s.ins[i].passed = 0 // nothing waits there, or it has its turn
		if n, err := s.take(i, dst, tags); n > 0 || err != nil {
			return n, err
		}
	}
	return 0, nil
}

// first takes what the highest input has of those that have something. It returns stage.ErrEnd when all have ended.
func (s *priorityStep[T]) first(dst []T, tags []*engine.Tag) (int, error) {
	open := false
	for i := range s.ins {
		room := len(dst)
		for _, low := range s.ins[i+1:] {
			if !low.ended {
				room = min(room, patience-low.passed)
			}
		}
		if n, err := s.take(i, dst[:room], engine.Cut(tags, 0, min(room, len(tags)))); n > 0 || err != nil {
			return n, err
		}
		open = open || !s.ins[i].ended
	}
	if !open {
		return 0, stage.ErrEnd
	}
	return 0, nil
}

// take takes what input i has.
func (s *priorityStep[T]) take(i int, dst []T, tags []*engine.Tag) (int, error) {
	in := &s.ins[i]
	if in.ended {
		return 0, nil
	}
	n, err := in.Poll(dst, tags)
	if err == stage.ErrEnd {
		in.ended, err = true, nil
	}
	if n > 0 {
		in.passed = 0
		for j := i + 1; j < len(s.ins); j++ {
			s.ins[j].passed += n
		}
	}
	return n, err
}

// Leave implements engine.Reader.
func (s *priorityStep[T]) Leave() {
	for _, in := range s.ins {
		in.Leave()
	}
}
