package flow

import (
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// TakeWhile hands on values as long as keep is true, and ends at the first for which it is not. That one has been
// examined and settles as done; nothing behind it is: it asks for one value at a time, so that neither the source nor a
// function in front of it in the same goroutine sees one more. Then it stops its upstream, as [Flow.Take] does.
//
//	Shape:        T → T, order kept; fused: no goroutine, no queue.
//	Emits:        one value at a time. Directly behind an edge it takes what is there, up to a chunk: what waited
//	              in the edge is given back at the end anyway.
//	Backpressure: pulls when it is pulled.
//	Ends:         at the first value that keep refuses, or with upstream.
//	Errors:       keep can't fail. A panic in it stops the run. A nil keep is a build error.
//	Claims:       travel along; the value refused is done; what waits in the edges in front of it is given back, in
//	              a branch of a fan-out it is done.
//	Cost:         a call of keep, and a pull per item; a Buffer directly in front makes that a pull per chunk.
//	              No allocation per item. See BenchmarkTakeWhile.
func (f Flow[T]) TakeWhile(keep func(T) bool, opts ...StepOption) Flow[T] {
	n := stepNode("takewhile", f, opts)
	n.check(keep != nil, "function must not be nil")
	return newStep(f, n, func(at engine.Fused, in engine.Input[T]) engine.Input[T] {
		_, atEdge := in.Reader.(engine.TimedReader[T])
		return engine.Input[T]{Reader: &takeWhileStep[T]{Fused: at, in: in, keep: keep, single: !atEdge}, Stream: in.Stream}
	})
}

type takeWhileStep[T any] struct {
	engine.Fused
	in     engine.Input[T]
	keep   func(T) bool
	single bool // reads one at a time: what is read too much would be lost, or the work on it
}

// Pull implements engine.Reader.
func (s *takeWhileStep[T]) Pull(dst []T, tags []*engine.Tag) (int, error) {
	if s.single {
		dst, tags = dst[:1], engine.Cut(tags, 0, min(1, len(tags)))
	}
	n, err := s.in.Pull(dst, tags)
	if n == 0 {
		return 0, err
	}
	kept, failure := s.apply(dst[:n])
	if kept == n {
		return n, err
	}
	clear(dst[kept:n])
	rest := engine.Cut(tags, min(kept, len(tags)), min(n, len(tags)))
	if failure != nil {
		s.Lose(failure, n-kept, rest)
		return kept, failure
	}
	s.refuse(n-kept, rest)
	if err == nil {
		s.Enough(s.in)
		err = stage.ErrEnd
	}
	return kept, err
}

// apply returns how many values are kept.
func (s *takeWhileStep[T]) apply(in []T) (kept int, err error) {
	defer s.Guard(&err)
	began := s.Begin()
	keep := s.keep
	for i, v := range in {
		kept = i
		if !keep(v) {
			s.End(began, i+1, i)
			return i, nil
		}
	}
	s.End(began, len(in), len(in))
	return len(in), nil
}

// refuse settles the first of n items as done and gives back the others.
func (s *takeWhileStep[T]) refuse(n int, tags []*engine.Tag) {
	if tags != nil {
		tags[0].Release(stage.Outcome{})
		tags[0] = nil
	}
	s.Refuse(n-1, engine.Cut(tags, min(1, len(tags)), len(tags)))
}

// Leave implements engine.Reader.
func (s *takeWhileStep[T]) Leave() { s.in.Leave() }

// SkipWhile lets values go as long as skip is true, settled as done, and hands on all others: from the first on for which it is
// not, which is the last that skip is asked about.
//
//	Shape:        T → T, order kept; fused: no goroutine, no queue.
//	Backpressure: as for Filter.
//	Errors:       skip can't fail. A panic in it stops the run. A nil skip is a build error.
//	Claims:       travel along; an item let go is done.
//	Concurrency:  each run begins anew.
//	Cost:         a call of skip while it is true; no allocation per item.
func (f Flow[T]) SkipWhile(skip func(T) bool, opts ...StepOption) Flow[T] {
	n := stepNode("skipwhile", f, opts)
	n.check(skip != nil, "function must not be nil")
	return newStep(f, n, func(at engine.Fused, in engine.Input[T]) engine.Input[T] {
		skipping := true
		keep := func(v T) bool {
			if skipping {
				skipping = skip(v)
			}
			return !skipping
		}
		return engine.Input[T]{Reader: &filterStep[T]{Fused: at, in: in, keep: keep}, Stream: in.Stream}
	})
}
