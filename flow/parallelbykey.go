package flow

import (
	"context"
	"strconv"

	"github.com/weir-go/weir/internal/engine"
)

// ParallelByKey calls fn for up to n values at the same time, one after the other for values with the same key.
//
//	Shape:        T → U, one for one except for failures; n + 1 goroutines: one that spreads the values over n lanes by
//	              a hash of their keys, and one for each lane, with an edge in front; an edge behind all.
//	Emits:        results as they come. Those of one key come in the order of the input, those of different keys in
//	              none.
//	Backpressure: an item that is slow, or is retried, holds back its lane only, until the edge of the lane is full; then
//	              the next value for it holds back all values behind it. Lanes wait for downstream.
//	Errors:       as for TryMap. key can't fail: a panic in it stops the run. n < 1, n > 65536 and a nil key are build
//	              errors.
//	Claims:       travel along; a failed item as OnError says.
//	Concurrency:  fn is called by n goroutines at the same time, key by one.
//	Cost:         n + 1 edges; a call of key, a hash and a copy; no allocation per item.
func (f Flow[T]) ParallelByKey[U any, K comparable](n int, key func(T) K, fn func(context.Context, T) (U, error), opts ...CallOption) Flow[U] {
	s := callSettings(opts)
	up := f.node()
	nd := newNode("parallelbykey", s, up.about())
	nd.check(key != nil, "key must not be nil")
	nd.check(fn != nil, "function must not be nil")
	nd.check(n >= 1 && n <= maxWorkers, argument("n", "1 to 65536", n))
	n = clampWorkers(n)
	nd.workers, nd.tickets = n, engine.Tickets(n, false)
	h := nd.handling(s)
	return Flow[U]{&pushed[U]{node: nd, write: func(b *build, e edgeSpec[U]) *engine.Link[U] {
		w := b.run.NewWorker()
		in := up.reader(b, w)
		out := e.open(b, s.behind(b, nd, in.Stream))
		b.decided(nd, h, in.Stream)
		st := b.stage(nd)
		router := engine.NewLaneRouter(w, st, in, n, byKey(n, key))
		for i := range n {
			spec := implicit[T](b.name(nd) + ".lane." + strconv.Itoa(i+1))
			lane := spec.open(b, router.Stream())
			router.Attach(i, lane)
			w := b.run.NewWorker()
			head := engine.ReadEdge(w, lane)
			engine.Pump(w, engine.Try(engine.NewCall(w, st, fn, h), head), out, n == 1)
		}
		return out
	}}}
}
