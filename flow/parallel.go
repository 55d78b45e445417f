package flow

import (
	"context"

	"github.com/weir-go/weir/internal/engine"
)

// Parallel calls fn for up to n values at the same time.
//
//	Shape:        T → U, one for one except for failures; n goroutines, an edge in front and one behind.
//	Emits:        in the order of the input; with Unordered, as results come. In order, results that are ready
//	              wait for earlier ones: up to 4 n chunks of at most 16 items, and an item that is retried holds
//	              back those behind it.
//	Backpressure: workers wait for downstream, upstream waits for the workers. A worker takes at most 16 items
//	              at a time and at most its share of what waits, and single items where fn is slow.
//	Errors:       as for TryMap. n < 1 and n > 65536 are build errors.
//	Concurrency:  fn is called by n goroutines at the same time.
//	Cost:         two edges and n goroutines; no allocation per item.
func (f Flow[T]) Parallel[U any](n int, fn func(context.Context, T) (U, error), opts ...ParallelOption) Flow[U] {
	var s settings
	each(&s, opts, ParallelOption.parallel)
	up := f.node()
	nd := newNode("parallel", &s, up.about())
	nd.check(fn != nil, "function must not be nil")
	nd.check(n >= 1 && n <= maxWorkers, argument("n", "1 to 65536", n))
	nd.workers, nd.tickets = n, engine.Tickets(clampWorkers(n), !s.unordered)
	h := nd.handling(&s)
	return Flow[U]{&pushed[U]{node: nd, write: func(b *build, e edgeSpec[U]) *engine.Link[U] {
		in := front(b, up, nd)
		out := e.open(b, s.behind(b, nd, in.Stream))
		b.decided(nd, h, in.Stream)
		st := b.stage(nd)
		ws := make([]*engine.Worker, clampWorkers(n))
		for i := range ws {
			ws[i] = b.run.NewWorker()
		}
		engine.Parallel(ws, in, out, !s.unordered, func(w *engine.Worker) *engine.Call[T, U] {
			return engine.NewCall(w, st, fn, h)
		})
		return out
	}}}
}

// maxWorkers is more than any program wants of one operator, and few enough to fit into memory.
const maxWorkers = 1 << 16

// clampWorkers keeps the build of a graph that is refused anyway from making absurdly many workers.
func clampWorkers(n int) int { return max(min(n, maxWorkers), 1) }
