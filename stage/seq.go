package stage

import (
	"context"
	"iter"
)

// Seq returns a source of the values that seq yields.
//
//	Emits:       one value a call: a second one could keep the first waiting.
//	Ends:        when seq returns.
//	Errors:      a panic in seq passes through Pull and is final.
//	Ownership:   Close stops seq, whose yield then returns false; without an end or Close its goroutine is left
//	             over.
//	Concurrency: one caller at a time. An iterator can't be interrupted: a context that is done counts between
//	             two values.
//	Cost:        one switch to the iterator a value; no goroutine runs before the first Pull.
func Seq[T any](seq iter.Seq[T]) Source[T] {
	return Seq2(func(yield func(T, error) bool) {
		for v := range seq {
			if !yield(v, nil) {
				return
			}
		}
	})
}

// Seq2 returns a source of the values that seq yields, up to the first pair with an error: that error ends the stream, the
// value beside it is not used, and seq is stopped. In all else it is like [Seq].
func Seq2[T any](seq iter.Seq2[T, error]) Source[T] { return &seqSource[T]{seq: seq} }

type seqSource[T any] struct {
	seq  iter.Seq2[T, error]
	next func() (T, error, bool) // nil before the first Pull
	stop func()
	err  error
}

func (s *seqSource[T]) Pull(ctx context.Context, dst []T) (int, error) {
	if ok, err := proceed(ctx, s.err, len(dst)); !ok {
		return 0, err
	}
	if s.next == nil {
		s.next, s.stop = iter.Pull2(s.seq)
	}
	s.err = errPanicked
	v, err, ok := s.next()
	switch {
	case !ok:
		s.err = ErrEnd
		return 0, ErrEnd
	case err != nil:
		s.stop()
		s.err = err
		return 0, err
	}
	s.err = nil
	dst[0] = v
	return 1, nil
}

// Close stops the iterator. Further calls do nothing.
func (s *seqSource[T]) Close() error {
	if s.err == nil {
		s.err = errClosed
	}
	if s.stop != nil {
		s.stop()
	}
	return nil
}
