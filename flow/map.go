package flow

import "github.com/weir-go/weir/internal/engine"

// Map hands on fn of each value.
//
//	Shape:  T → U, one for one, order kept; fused: no goroutine, no queue.
//	Errors: fn can't fail; see TryMap. A panic in fn stops the run. A nil fn is a build error.
//	Cost:   a call of fn; no allocation per item.
func (f Flow[T]) Map[U any](fn func(T) U, opts ...StepOption) Flow[U] {
	n := stepNode("map", f, opts)
	n.check(fn != nil, "function must not be nil")
	return newStep(f, n, func(at engine.Fused, in engine.Input[T]) engine.Input[U] {
		return engine.Input[U]{Reader: &mapStep[T, U]{Fused: at, in: in, fn: fn}, Stream: in.Stream}
	})
}

type mapStep[T, U any] struct {
	engine.Fused
	in  engine.Input[T]
	fn  func(T) U
	buf engine.Buffer[T]
}

// Pull implements engine.Reader.
func (s *mapStep[T, U]) Pull(dst []U, tags []*engine.Tag) (int, error) {
	values, _ := s.buf.Room(len(dst), false)
	n, err := s.in.Pull(values, tags)
	if n == 0 {
		return 0, err
	}
	done, failure := s.apply(values[:n], dst)
	clear(values[:n])
	if failure != nil {
		s.Lose(failure, n-done, engine.Cut(tags, min(done, len(tags)), min(n, len(tags))))
		err = failure
	}
	return done, err
}

func (s *mapStep[T, U]) apply(in []T, dst []U) (done int, err error) {
	defer s.Guard(&err)
	began := s.Begin()
	fn, dst := s.fn, dst[:len(in)]
	for i := range in {
		done = i // for a panic: a counter that lives in memory would make each turn wait for the last
		dst[i] = fn(in[i])
	}
	s.End(began, len(in), len(in))
	return len(in), nil
}

// Leave implements engine.Reader.
func (s *mapStep[T, U]) Leave() { s.in.Leave() }

// Tap calls fn for each value and hands the value on.
//
//	Shape:  T → T, one for one, order kept; fused: no goroutine, no queue.
//	Errors: fn can't fail. A panic in fn stops the run. A nil fn is a build error.
//	Cost:   a call of fn; no allocation per item.
func (f Flow[T]) Tap(fn func(T), opts ...StepOption) Flow[T] {
	n := stepNode("tap", f, opts)
	n.check(fn != nil, "function must not be nil")
	return newStep(f, n, func(at engine.Fused, in engine.Input[T]) engine.Input[T] {
		return engine.Input[T]{Reader: &tapStep[T]{Fused: at, in: in, fn: fn}, Stream: in.Stream}
	})
}

type tapStep[T any] struct {
	engine.Fused
	in engine.Input[T]
	fn func(T)
}

// Pull implements engine.Reader.
func (s *tapStep[T]) Pull(dst []T, tags []*engine.Tag) (int, error) {
	n, err := s.in.Pull(dst, tags)
	if n == 0 {
		return 0, err
	}
	done, failure := s.apply(dst[:n])
	if failure != nil {
		clear(dst[done:n])
		s.Lose(failure, n-done, engine.Cut(tags, min(done, len(tags)), min(n, len(tags))))
		err = failure
	}
	return done, err
}

func (s *tapStep[T]) apply(in []T) (done int, err error) {
	defer s.Guard(&err)
	began := s.Begin()
	fn := s.fn
	for i, v := range in {
		done = i
		fn(v)
	}
	s.End(began, len(in), len(in))
	return len(in), nil
}

// Leave implements engine.Reader.
func (s *tapStep[T]) Leave() { s.in.Leave() }
