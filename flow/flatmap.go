package flow

import (
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// FlatMap hands on the elements of fn of each value. A value with no elements settles as done; one with several settles when all
// of them have.
//
//	Shape:        T → U, order kept; fused: no goroutine, no queue; holds one slice that fn has returned, and the
//	              values of a chunk for which it is still to be called.
//	Backpressure: calls fn again when the last slice is used up.
//	Errors:       fn can't fail. A panic in it stops the run. A nil fn is a build error.
//	Ownership:    the slice is the operator's until the next call of fn; it is not changed.
//	Cost:         a call of fn and a copy of the elements.
func (f Flow[T]) FlatMap[U any](fn func(T) []U, opts ...StepOption) Flow[U] {
	n := stepNode("flatmap", f, opts)
	n.check(fn != nil, "function must not be nil")
	n.slices, n.flattens = flattening[T, U](n.ups[0])
	return newStep(f, n, func(at engine.Fused, in engine.Input[T]) engine.Input[U] {
		return engine.Input[U]{Reader: &flatMapStep[T, U]{Fused: at, in: in, fn: fn}, Stream: in.Stream}
	})
}

type flatMapStep[T, U any] struct {
	engine.Fused
	in  engine.Input[T]
	fn  func(T) []U
	buf engine.Buffer[T]

	values []T // pulled, fn not yet called
	tags   []*engine.Tag
	out    []U         // elements not yet handed on
	tag    *engine.Tag // theirs, a share for each
	end    error       // behind values
}

// Pull implements engine.Reader.
func (s *flatMapStep[T, U]) Pull(dst []U, tags []*engine.Tag) (int, error) {
	for {
		n, err := s.apply(dst, tags)
		switch {
		case err != nil:
			s.Lose(err, 1, engine.Cut(s.tags, 0, min(1, len(s.tags))))
			s.values, s.tags = s.values[1:], engine.Cut(s.tags, min(1, len(s.tags)), len(s.tags))
			return n, err
		case n > 0:
			return n, nil
		case s.end != nil:
			return 0, s.end
		}
		s.fetch(len(dst))
	}
}

// apply hands elements on until dst is full or the values are used up. After an error values[0] is the one that fn failed for.
func (s *flatMapStep[T, U]) apply(dst []U, tags []*engine.Tag) (n int, err error) {
	called, made := 0, 0
	began := s.Begin()
	defer func() { s.End(began, called, made) }()
	defer s.Guard(&err)
	for {
		n += s.deliver(dst[n:], engine.Cut(tags, min(n, len(tags)), len(tags)))
		if n == len(dst) || len(s.values) == 0 {
			return n, nil
		}
		s.out = s.fn(s.values[0])
		called++
		made += len(s.out)
		s.shift()
	}
}

// deliver hands on what is left of the last slice.
func (s *flatMapStep[T, U]) deliver(dst []U, tags []*engine.Tag) int {
	n := copy(dst, s.out)
	if s.tag != nil {
		for i := range n {
			tags[i] = s.tag
		}
	}
	if s.out = s.out[n:]; len(s.out) == 0 {
		s.out, s.tag = nil, nil
	}
	return n
}

// fetch pulls values.
func (s *flatMapStep[T, U]) fetch(demand int) {
	values, tags := s.buf.Room(demand, s.in.Tagged)
	n, err := s.in.Pull(values, tags)
	s.values, s.tags, s.end = values[:n], engine.Cut(tags, 0, min(n, len(tags))), err
}

// shift goes on to the next value; out holds the elements of the last one, which get its shares.
func (s *flatMapStep[T, U]) shift() {
	clear(s.values[:1])
	s.values = s.values[1:]
	if s.tags == nil {
		return
	}
	tag := s.tags[0]
	s.tags[0] = nil
	s.tags = s.tags[1:]
	if len(s.out) == 0 {
		tag.Release(stage.Outcome{})
		return
	}
	tag.Share(len(s.out) - 1)
	s.tag = tag
}

// Leave implements engine.Reader.
func (s *flatMapStep[T, U]) Leave() {
	for range s.out {
		share := [1]*engine.Tag{s.tag}
		s.GiveBack(1, share[:])
	}
	s.out, s.tag = nil, nil
	s.GiveBack(len(s.values), s.tags)
	s.values, s.tags = nil, nil
	s.buf.Abandon(&s.Fused)
	s.in.Leave()
}
