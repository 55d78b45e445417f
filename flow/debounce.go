package flow

import (
	"time"

	"github.com/weir-go/weir/internal/engine"
)

// Debounce hands a value on when no other has come for a time of quiet. A value that comes earlier takes the place of the one that
// waits. A burst becomes its last value; a stream that is never quiet becomes nothing until its end, for which [Flow.Sample]
// is better.
//
//	Shape:        T → T, order kept; an edge in front, no goroutine of its own; holds one value.
//	Emits:        the last value, quiet after it was taken from the edge, or at the end of the input, a drain
//	              included. It never emits without demand.
//	Backpressure: it takes whatever comes while there is demand. While downstream is busy it pulls nothing, so that
//	              its edge fills; what has come meanwhile is taken then, and the quiet begins.
//	Ends:         emits the value that waits when upstream ends; gives it back when the run stops.
//	Errors:       none of its own. quiet <= 0 is a build error.
//	Claims:       a value that is replaced is done; one that is handed on carries its own claim alone.
//	Cost:         one edge, and a timer that is set for each chunk; no allocation per item.
func (f Flow[T]) Debounce(quiet time.Duration, opts ...StepOption) Flow[T] {
	nd := stepNode("debounce", f, opts)
	nd.check(quiet > 0, argument("quiet", "> 0", quiet))
	up := f.node()
	return Flow[T]{&fused[T]{node: nd, read: func(b *build, w *engine.Worker) engine.Input[T] {
		s := &debounceStep[T]{latest: newLatest(b, w, up, nd), quiet: quiet}
		return engine.Input[T]{Reader: s, Stream: s.in.Stream}
	}}}
}

type debounceStep[T any] struct {
	latest[T]
	quiet time.Duration
}

// Pull implements engine.Reader.
func (s *debounceStep[T]) Pull(dst []T, tags []*engine.Tag) (int, error) {
	for s.end == nil {
		limit := engine.NoLimit
		if s.holds {
			limit = s.quiet
		}
		if s.take(limit) {
			return s.emit(dst, tags), nil
		}
	}
	return s.rest(dst, tags)
}
