package flow

import (
	"context"
	"time"

	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// ForEachBatch calls fn for up to n values at a time: for writing rows, or publishing messages, many at once. It is [Flow.To]
// with [Gather], for a function instead of a sink.
//
//	Shape:        T → ; an edge in front, in a goroutine of its own, or several with Workers.
//	Emits:        a call when n values are there, when maxWait has passed since it took the first of them, or at the
//	              end of the input, a drain included. maxWait 0 is no limit in time. Never without a value.
//	Backpressure: gathers when the last call has returned.
//	Ends:         with upstream, behind a call for the rest; gives the rest back when the run stops.
//	Errors:       as OnError says; by default an error, a panic or a Goexit stops the run. A *stage.BatchError is
//	              handled item by item. Any other error means the whole call: Retry repeats it whole; Skip, DeadLetter
//	              and Redeliver first halve it. n < 1, n > 2147483647, maxWait < 0, a nil fn and Gather are build
//	              errors.
//	Ownership:    the slice is valid until fn returns, and fn must not change it: a retry passes it again.
//	Claims:       an item settles as done when fn has taken it.
//	Concurrency:  with Workers, fn is called by several goroutines at the same time.
//	Cost:         one edge; no allocation per item.
func (f Flow[T]) ForEachBatch(n int, maxWait time.Duration, fn func(context.Context, []T) error, opts ...SinkOption) Pipeline {
	batches := sinkOption(func(s *settings) {
		if fn == nil {
			s.errs = append(s.errs, "function must not be nil")
		}
		if s.gather != nil {
			s.errs = append(s.errs, "Gather needs To: ForEachBatch gathers up to n items itself")
		}
		if n < 1 || n > maxCapacity {
			s.errs = append(s.errs, argument("n", "1 to 2147483647", n))
		}
		if maxWait < 0 {
			s.errs = append(s.errs, argument("maxWait", ">= 0", maxWait))
		}
		s.gather = &gathering{min(max(n, 1), maxCapacity), max(maxWait, 0)}
	})
	all := append(append(make([]SinkOption, 0, len(opts)+1), opts...), batches)
	sink := stage.SinkFunc(fn)
	return newSink("foreachbatch", f, all, sink, true, func(w *engine.Worker, st *engine.Stage, h engine.Handling) *engine.Outlet[T] {
		return engine.NewOutlet(w, st, sink, h)
	})
}
