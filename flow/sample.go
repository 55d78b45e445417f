package flow

import (
	"time"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/engine"
)

// Sample hands on, at each tick, the latest value that has come since the one before, if any has.
//
//	Shape:        T → T, order kept; an edge in front, no goroutine of its own; holds one value.
//	Emits:        the latest value at the next tick, or at the end of the input, a drain included. Ticks are every
//	              after the first demand, twice every, and so on. It never emits without demand.
//	Backpressure: it takes whatever comes while there is demand. While downstream is busy it pulls nothing, so that
//	              its edge fills, and ticks pass; what has come meanwhile is taken then, for the next tick.
//	Ends:         emits the value that waits when upstream ends; gives it back when the run stops.
//	Errors:       none of its own. every <= 0 is a build error.
//	Claims:       a value that is replaced is done; one that is handed on carries its own claim alone.
//	Cost:         one edge, and a timer that is set for each chunk, none while nothing comes; no allocation per item.
func (f Flow[T]) Sample(every time.Duration, opts ...StepOption) Flow[T] {
	nd := stepNode("sample", f, opts)
	nd.check(every > 0, argument("every", "> 0", every))
	up := f.node()
	return Flow[T]{&fused[T]{node: nd, read: func(b *build, w *engine.Worker) engine.Input[T] {
		s := &sampleStep[T]{latest: newLatest(b, w, up, nd), every: int64(max(every, 1))}
		return engine.Input[T]{Reader: s, Stream: s.in.Stream}
	}}}
}

type sampleStep[T any] struct {
	latest[T]
	every   int64
	started bool
	first   int64 // when the ticks began
}

// Pull implements engine.Reader.
func (s *sampleStep[T]) Pull(dst []T, tags []*engine.Tag) (int, error) {
	if !s.started {
		s.started, s.first = true, clock.Now()
	}
	var tick int64
	for s.end == nil {
		if !s.holds {
			s.take(engine.NoLimit)
			now := s.W.In.Returned
			tick = now + s.every - (now-s.first)%s.every
			continue
		}
		left := tick - s.W.In.Returned
		if left <= 0 || s.take(time.Duration(left)) {
			return s.emit(dst, tags), nil
		}
	}
	return s.rest(dst, tags)
}
