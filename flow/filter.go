package flow

import (
	"github.com/weir-go/weir/internal/claim"
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// Filter hands on the values for which keep is true. The others settle as done.
//
//	Shape:        T → T, order kept; fused: no goroutine, no queue.
//	Backpressure: a value let go gives its demand back: the filter pulls again until it has something to hand
//	              on.
//	Errors:       keep can't fail. A panic in it stops the run. A nil keep is a build error.
//	Cost:         a call of keep; no allocation per item.
func (f Flow[T]) Filter(keep func(T) bool, opts ...StepOption) Flow[T] {
	n := stepNode("filter", f, opts)
	n.check(keep != nil, "function must not be nil")
	return newStep(f, n, func(at engine.Fused, in engine.Input[T]) engine.Input[T] {
		return engine.Input[T]{Reader: &filterStep[T]{Fused: at, in: in, keep: keep}, Stream: in.Stream}
	})
}

type filterStep[T any] struct {
	engine.Fused
	in   engine.Input[T]
	keep func(T) bool
}

// Pull implements engine.Reader.
func (s *filterStep[T]) Pull(dst []T, tags []*engine.Tag) (int, error) {
	for {
		n, err := s.in.Pull(dst, tags)
		if n == 0 {
			return 0, err
		}
		done, kept, failure := s.apply(dst[:n], tags)
		clear(dst[kept:n])
		letGo(tags, kept, done)
		if failure != nil {
			s.Lose(failure, n-done, engine.Cut(tags, min(done, len(tags)), min(n, len(tags))))
			err = failure
		}
		if kept > 0 || err != nil {
			return kept, err
		}
	}
}

// apply moves what is kept to the front, tags included; the other tags are behind them.
func (s *filterStep[T]) apply(dst []T, tags []*engine.Tag) (done, kept int, err error) {
	defer s.Guard(&err)
	began := s.Begin()
	fn, k := s.keep, 0
	for i, v := range dst {
		done, kept = i, k // for a panic: counters that live in memory would make each turn wait for the last
		keep := fn(v)
		if keep && tags != nil {
			tags[i], tags[k] = tags[k], tags[i]
		}
		if keep {
			dst[k] = v
			k++
		}
	}
	s.End(began, len(dst), k)
	return len(dst), k, nil
}

// letGo settles as done what was not kept. Those tags have changed places with kept ones, so that they are together now: to settle
// them one by one costs twice as much.
func letGo(tags []*engine.Tag, from, to int) {
	if tags != nil {
		claim.ReleaseAll(tags[from:to], stage.Outcome{})
	}
}

// Leave implements engine.Reader.
func (s *filterStep[T]) Leave() { s.in.Leave() }

// FilterMap hands on what fn makes of each value, where it returns true. The other values settle as done.
//
//	Shape:        T → U, order kept; fused: no goroutine, no queue.
//	Backpressure: as for Filter.
//	Errors:       fn can't fail; see TryMap. A panic in it stops the run. A nil fn is a build error.
//	Cost:         a call of fn; no allocation per item.
func (f Flow[T]) FilterMap[U any](fn func(T) (U, bool), opts ...StepOption) Flow[U] {
	n := stepNode("filtermap", f, opts)
	n.check(fn != nil, "function must not be nil")
	return newStep(f, n, func(at engine.Fused, in engine.Input[T]) engine.Input[U] {
		return engine.Input[U]{Reader: &filterMapStep[T, U]{Fused: at, in: in, fn: fn}, Stream: in.Stream}
	})
}

type filterMapStep[T, U any] struct {
	engine.Fused
	in  engine.Input[T]
	fn  func(T) (U, bool)
	buf engine.Buffer[T]
}

// Pull implements engine.Reader.
func (s *filterMapStep[T, U]) Pull(dst []U, tags []*engine.Tag) (int, error) {
	for {
		values, _ := s.buf.Room(len(dst), false)
		n, err := s.in.Pull(values, tags)
		if n == 0 {
			return 0, err
		}
		done, kept, failure := s.apply(values[:n], dst, tags)
		clear(values[:n])
		letGo(tags, kept, done)
		if failure != nil {
			s.Lose(failure, n-done, engine.Cut(tags, min(done, len(tags)), min(n, len(tags))))
			err = failure
		}
		if kept > 0 || err != nil {
			return kept, err
		}
	}
}

func (s *filterMapStep[T, U]) apply(in []T, dst []U, tags []*engine.Tag) (done, kept int, err error) {
	defer s.Guard(&err)
	began := s.Begin()
	fn, k := s.fn, 0
	for i, v := range in {
		done, kept = i, k
		u, keep := fn(v)
		if keep && tags != nil {
			tags[i], tags[k] = tags[k], tags[i]
		}
		if keep {
			dst[k] = u
			k++
		}
	}
	s.End(began, len(in), k)
	return len(in), k, nil
}

// Leave implements engine.Reader.
func (s *filterMapStep[T, U]) Leave() { s.in.Leave() }
