package flow

import (
	"github.com/weir-go/weir/internal/claim"
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// Pair is what [Flow.Zip] makes of two values.
type Pair[A, B any] struct {
	First  A
	Second B
}

// Zip pairs the values of two flows: the first with the first, the second with the second, and so on.
//
//	Shape:        T and U → Pair[T, U], order kept; an edge in front of each input, no goroutine of its own; holds at
//	              most 64 values of each.
//	Emits:        the pairs that are complete. It takes some values from the left, f, and then exactly as many from the
//	              right.
//	Backpressure: waits for downstream, and for one side while the other one waits: the faster side goes on until its
//	              edge is full.
//	Ends:         with the shorter side, and stops the other one. The end of the right is noticed when there is a value
//	              of the left to pair. Values without a partner are given back.
//	Errors:       none of its own. Sides that come from one fan-out must give equally many values, and have room for what
//	              one of them holds back: otherwise one would wait for ever for a value that is stuck behind those
//	              of the other, a build error as far as it can be seen (docs/deadlock.md).
//	Claims:       a pair carries the claims of both; its metadata is that of a pair: the earlier deadline counts.
func (f Flow[T]) Zip[U any, P interface{ Pair[T, U] }](other Flow[U], opts ...StepOption) Flow[P] {
	return newZip("zip", f, other, opts, func(a T, b U) P { return P(Pair[T, U]{a, b}) })
}

// ZipWith is [Flow.Zip] with a function that makes one value of the two.
//
//	Shape:        T and U → V; otherwise as for Zip.
//	Backpressure: as for Zip.
//	Ends:         as for Zip.
//	Errors:       fn can't fail. A panic in it stops the run. A nil fn is a build error; otherwise as for Zip.
//	Claims:       as for Zip.
func (f Flow[T]) ZipWith[U, V any](other Flow[U], fn func(T, U) V, opts ...StepOption) Flow[V] {
	return newZip("zipwith", f, other, opts, fn)
}

func newZip[T, U, V any](op string, f Flow[T], other Flow[U], opts []StepOption, fn func(T, U) V) Flow[V] {
	var s settings
	each(&s, opts, StepOption.step)
	left, right := f.node(), other.node()
	nd := newNode(op, &s, left.about(), right.about())
	nd.check(fn != nil, "function must not be nil")
	return Flow[V]{&fused[V]{node: nd, read: func(b *build, w *engine.Worker) engine.Input[V] {
		z := &zipStep[T, U, V]{fn: fn}
		z.left = newPort(b, w, left, inputName(b, nd, 0))
		z.right = newPort(b, w, right, inputName(b, nd, 1))
		z.Fused = engine.NewFused(w, b.stage(nd))
		s := z.left.Or(z.right.Stream)
		s.Bounded = z.left.Bounded || z.right.Bounded
		return engine.Paced(w, z, s)
	}}}
}

type zipStep[T, U, V any] struct {
	engine.Fused
	left  *engine.Port[T]
	right *engine.Port[U]
	fn    func(T, U) V
}

// Pull implements engine.Reader. The right never has more at hand than the left.
func (s *zipStep[T, U, V]) Pull(dst []V, tags []*engine.Tag) (int, error) {
	err := s.left.Fill(len(dst))
	if err == nil {
		err = s.right.Fill(len(s.left.Values))
	}
	if err != nil {
		return 0, err
	}
	n := min(len(dst), len(s.right.Values))
	done, err := s.pair(dst[:n], tags)
	if err != nil {
		lost := []*engine.Tag{tagAt(s.left.Tags, 0), tagAt(s.right.Tags, 0)}
		s.left.Drop(1)
		s.right.Drop(1)
		s.Lose(err, 1, lost)
	}
	return done, err
}

// pair makes a value for each place in dst. It forgets the values that it has paired, also where fn does not return.
func (s *zipStep[T, U, V]) pair(dst []V, tags []*engine.Tag) (done int, err error) {
	defer s.Guard(&err)
	defer func() {
		s.left.Drop(done)
		s.right.Drop(done)
		s.Stage.Count(2*done, done)
	}()
	began := s.Begin()
	left, right := s.left.Values[:len(dst)], s.right.Values[:len(dst)]
	for i := range dst {
		dst[i] = s.fn(left[i], right[i])
		if tags != nil {
			tags[i] = pairTag(tagAt(s.left.Tags, i), tagAt(s.right.Tags, i))
		}
		done = i + 1
	}
	s.End(began, 0, 0)
	return done, nil
}

// tagAt returns tags[i], nil for a plain stream.
func tagAt(tags []*engine.Tag, i int) *engine.Tag {
	if tags == nil {
		return nil
	}
	return tags[i]
}

// pairTag returns a tag that takes over the shares of both.
func pairTag(a, b *engine.Tag) *engine.Tag {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return claim.Derive(stage.MergePair(a.Meta, b.Meta), a, b)
}

// Leave implements engine.Reader.
func (s *zipStep[T, U, V]) Leave() {
	s.left.Leave()
	s.right.Leave()
}
