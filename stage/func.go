package stage

import (
	"context"
	"errors"
)

// Func returns a source that calls fn for each value.
//
//	Emits:       one value a call.
//	Ends:        when fn returns ErrEnd. The value beside an error is not used.
//	Errors:      any other error of fn is final, and so is a panic, which passes through Pull. An error that fn
//	             returns once the context is done is not final: Pull returns the cause, joined with fn's error
//	             where that says something else, and a later Pull calls fn again. To lose nothing, fn returns an
//	             error only when it has taken no value.
//	Concurrency: fn has one caller at a time. It must return soon once its context is done.
//	Cost:        one call of fn a value; no allocation.
func Func[T any](fn func(ctx context.Context) (T, error)) Source[T] { return &funcSource[T]{fn: fn} }

type funcSource[T any] struct {
	fn  func(context.Context) (T, error)
	err error
}

func (s *funcSource[T]) Pull(ctx context.Context, dst []T) (int, error) {
	if ok, err := proceed(ctx, s.err, len(dst)); !ok {
		return 0, err
	}
	s.err = errPanicked
	v, err := s.fn(ctx)
	s.err = nil
	switch {
	case err == nil:
		dst[0] = v
		return 1, nil
	case err != ErrEnd && ctx.Err() != nil:
		return 0, interrupted(ctx, err)
	default:
		s.err = err
		return 0, err
	}
}

// interrupted returns the cause of a context that is done, together with err where that is more than the cause again.
func interrupted(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if errors.Is(err, cause) || errors.Is(err, ctx.Err()) {
		return cause
	}
	return errors.Join(cause, err)
}
