package flow

import (
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// Take hands on the first n values, and ends. It never reads one more: it limits the demand, and then stops its upstream,
// through edges, up to a source that is waiting. What waits in edges in front of it is given back.
//
//	Shape:  T → T, order kept; fused: no goroutine, no queue.
//	Ends:   after n values, or with upstream. n = 0 ends at once and reads nothing.
//	Errors: none of its own. n < 0 is a build error.
//	Claims: travel along; what waits in the edges in front of it is given back, in a branch of a fan-out it is done.
func (f Flow[T]) Take(n int, opts ...StepOption) Flow[T] {
	nd := stepNode("take", f, opts)
	nd.count = n
	nd.check(n >= 0, argument("n", ">= 0", n))
	return newStep(f, nd, func(at engine.Fused, in engine.Input[T]) engine.Input[T] {
		out := engine.Input[T]{Reader: &takeStep[T]{Fused: at, in: in, left: n}, Stream: in.Stream}
		out.Bounded = true
		return out
	})
}

type takeStep[T any] struct {
	engine.Fused
	in   engine.Input[T]
	left int
}

// Pull implements engine.Reader.
func (s *takeStep[T]) Pull(dst []T, tags []*engine.Tag) (int, error) {
	n, err := 0, error(nil)
	if k := min(len(dst), s.left); k > 0 {
		n, err = s.in.Pull(dst[:k], engine.Cut(tags, 0, min(k, len(tags))))
		s.Stage.Count(n, n)
		s.left -= n
	}
	if s.left == 0 && err == nil {
		s.Enough(s.in)
		err = stage.ErrEnd
	}
	return n, err
}

// Leave implements engine.Reader.
func (s *takeStep[T]) Leave() { s.in.Leave() }

// Skip lets the first n values go, settled as done, and hands on the others.
//
//	Shape:  T → T, order kept; fused: no goroutine, no queue.
//	Errors: none of its own. n < 0 is a build error.
func (f Flow[T]) Skip(n int, opts ...StepOption) Flow[T] {
	nd := stepNode("skip", f, opts)
	nd.count = n
	nd.check(n >= 0, argument("n", ">= 0", n))
	return newStep(f, nd, func(at engine.Fused, in engine.Input[T]) engine.Input[T] {
		return engine.Input[T]{Reader: &skipStep[T]{Fused: at, in: in, left: n}, Stream: in.Stream}
	})
}

type skipStep[T any] struct {
	engine.Fused
	in   engine.Input[T]
	left int
}

// Pull implements engine.Reader.
func (s *skipStep[T]) Pull(dst []T, tags []*engine.Tag) (int, error) {
	for {
		n, err := s.in.Pull(dst, tags)
		k := min(n, s.left)
		if k > 0 {
			s.left -= k
			for i := range engine.Cut(tags, 0, min(k, len(tags))) {
				tags[i].Release(stage.Outcome{})
			}
			copy(dst, dst[k:n])
			clear(dst[n-k : n])
			if tags != nil {
				copy(tags, tags[k:n])
				clear(tags[n-k : n])
			}
		}
		s.Stage.Count(n, n-k)
		if n > k || err != nil {
			return n - k, err
		}
	}
}

// Leave implements engine.Reader.
func (s *skipStep[T]) Leave() { s.in.Leave() }
