package flow

import (
	"github.com/weir-go/weir/internal/claim"
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// Stamp sets each item's metadata to what fn makes of the value and the metadata that is there (the zero Meta for a plain
// item). Behind it the stream carries metadata, which every derived item inherits.
//
//	Shape:  T → T, one for one, order kept; fused: no goroutine, no queue.
//	Errors: fn can't fail. A panic in it stops the run. A nil fn is a build error.
//	Cost:   a call of fn; the metadata is pooled.
func (f Flow[T]) Stamp(fn func(v T, m stage.Meta) stage.Meta, opts ...StepOption) Flow[T] {
	n := stepNode("stamp", f, opts)
	n.check(fn != nil, "function must not be nil")
	return newStep(f, n, func(at engine.Fused, in engine.Input[T]) engine.Input[T] {
		out := engine.Input[T]{Reader: &stampStep[T]{Fused: at, in: in, fn: fn}, Stream: in.Stream}
		out.Tagged = true
		return out
	})
}

type stampStep[T any] struct {
	engine.Fused
	in engine.Input[T]
	fn func(T, stage.Meta) stage.Meta
}

// Pull implements engine.Reader.
func (s *stampStep[T]) Pull(dst []T, tags []*engine.Tag) (int, error) {
	above := tags
	if !s.in.Tagged {
		above = nil
		clear(tags)
	}
	n, err := s.in.Pull(dst, above)
	if n == 0 {
		return 0, err
	}
	done, failure := s.apply(dst[:n], tags)
	if failure != nil {
		clear(dst[done:n])
		s.Lose(failure, n-done, tags[done:n])
		err = failure
	}
	return done, err
}

func (s *stampStep[T]) apply(values []T, tags []*engine.Tag) (done int, err error) {
	defer s.Guard(&err)
	began := s.Begin()
	for done < len(values) {
		var old stage.Meta
		t := tags[done]
		if t != nil {
			old = t.Meta
		}
		meta := s.fn(values[done], old)
		switch {
		case t == nil:
			tags[done] = claim.New(meta)
		case t.Sole():
			t.Meta = meta
		default: // others have the same tag: this item gets one of its own, behind which the claim stays
			tags[done] = claim.Derive(meta, t)
		}
		done++
	}
	s.End(began, len(values), done)
	return done, nil
}

// Leave implements engine.Reader.
func (s *stampStep[T]) Leave() { s.in.Leave() }
