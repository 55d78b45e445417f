package stage

import "context"

// Slice returns a source of the values of vs.
//
//	Emits:       as many values as are asked for, in order.
//	Ends:        after the last value.
//	Errors:      none of its own.
//	Ownership:   vs is not copied and must not change until the source has ended.
//	Concurrency: one caller at a time; each source reads vs from the start.
//	Cost:        copying the values: 0.2 ns an int, no allocation (BenchmarkSlice).
func Slice[T any](vs []T) Source[T] { return &sliceSource[T]{rest: vs} }

type sliceSource[T any] struct{ rest []T }

func (s *sliceSource[T]) Pull(ctx context.Context, dst []T) (int, error) {
	var final error
	if len(s.rest) == 0 {
		final = ErrEnd
	}
	if ok, err := proceed(ctx, final, len(dst)); !ok {
		return 0, err
	}
	n := copy(dst, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}
