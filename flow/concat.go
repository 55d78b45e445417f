package flow

import (
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// Concat hands on what f gives to its end, then what the first of more gives, and so on.
//
// All of them start with the run. What belongs to the same goroutine, up to the last edge in front of Concat, is not
// pulled before its turn, so that a source without an edge behind it is not read; goroutines in front of an edge work at
// once, until their edges are full. Messages that wait there for their turn are held.
//
//	Shape:        several T → T, one after the other, the order of each kept; fused: no goroutine, no queue.
//	Backpressure: a flow whose turn it is not waits like one whose reader is slow.
//	Ends:         when the last flow has ended. A drain ends them all: a source that has not begun gives nothing.
//	Errors:       none of its own. An error of any flow stops the run, also before its turn. A flow that is in it
//	              twice is consumed twice, a build error.
//	Claims:       travel along. What it holds when it leaves early is given back, also where it is of a branch of a
//	              fan-out: the flows may be of different kinds.
//	Cost:         a call per chunk; no allocation per item.
//
// Branches of one fan-out that block can't be concatenated, a build error: the first does not end before the second has taken its
// items, and that one waits for its turn.
func (f Flow[T]) Concat(more ...Flow[T]) Flow[T] {
	ups := make([]upstream[T], 0, 1+len(more))
	nodes := make([]*node, 0, 1+len(more))
	for _, part := range append([]Flow[T]{f}, more...) {
		up := part.node()
		ups, nodes = append(ups, up), append(nodes, up.about())
	}
	n := newNode("concat", &settings{}, nodes...)
	return Flow[T]{&fused[T]{node: n, read: func(b *build, w *engine.Worker) engine.Input[T] {
		s := &concatStep[T]{ins: make([]engine.Input[T], len(ups))}
		engine.Join(w, len(ups), func(i int) { s.ins[i] = ups[i].reader(b, w) }, func() {
			s.Fused = engine.NewFused(w, b.stage(n))
		})
		stream := s.ins[0].Stream
		for _, in := range s.ins[1:] {
			stream = stream.Or(in.Stream)
		}
		return engine.Input[T]{Reader: s, Stream: stream}
	}}}
}

type concatStep[T any] struct {
	engine.Fused
	ins []engine.Input[T] // the first of them has its turn
}

// Pull implements engine.Reader.
func (s *concatStep[T]) Pull(dst []T, tags []*engine.Tag) (int, error) {
	for {
		in := s.ins[0]
		n, err := s.pull(in, dst, tags)
		if err != stage.ErrEnd || len(s.ins) == 1 {
			return n, err
		}
		s.Enough(in)
		s.ins = s.ins[1:]
		if n > 0 {
			return n, nil
		}
	}
}

// pull pulls from one flow, which may be plain where another is not.
func (s *concatStep[T]) pull(in engine.Input[T], dst []T, tags []*engine.Tag) (int, error) {
	if !in.Tagged {
		tags = nil
	}
	n, err := in.Pull(dst, tags)
	s.Stage.Count(n, n)
	return n, err
}

// Leave implements engine.Reader.
func (s *concatStep[T]) Leave() {
	for _, in := range s.ins {
		in.Leave()
	}
}
