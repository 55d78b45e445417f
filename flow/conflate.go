package flow

import "github.com/weir-go/weir/internal/engine"

// Conflate merges what comes while its consumer is busy: whatever waits is one value, and the consumer gets it when it asks. It is
// the cousin of [DropOldest] that loses nothing: merge may add counters up, unite sets, or keep the newer value of each key.
//
// The consumer is what shares a goroutine with the steps behind it, up to the next edge. An operator that brings an edge of
// [DefaultCapacity] collects that many values which are not merged any more; a Buffer of capacity 1 written there
// makes it two.
//
//	Shape:        T → T, order kept; a goroutine and an edge of capacity 1 between what is upstream and the consumer;
//	              holds one value.
//	Emits:        a value at once where the consumer waits for one, otherwise what has been merged when it asks.
//	Backpressure: none: upstream never waits for downstream.
//	Ends:         with upstream, behind the value that waits, which is given back when the run stops.
//	Errors:       merge can't fail. A panic in it stops the run. A nil merge is a build error.
//	Ownership:    merge may change what waiting points to and return it. It is called by the goroutine of what is
//	              upstream.
//	Claims:       a merged value carries the claims of all that it was made of; its metadata is that of a group.
//	Cost:         one edge; no allocation per item. In the statistics of its edge a value that is taken back to be
//	              merged counts as out.
func (f Flow[T]) Conflate(merge func(waiting, next T) T, opts ...StepOption) Flow[T] {
	nd := stepNode("conflate", f, opts)
	nd.check(merge != nil, "function must not be nil")
	up := f.node()
	return Flow[T]{&fused[T]{node: nd, read: func(b *build, w *engine.Worker) engine.Input[T] {
		producer := b.run.NewWorker()
		in := up.reader(b, producer)
		slot := implicit[T](b.name(nd) + ".out")
		slot.Capacity = 1
		out := slot.open(b, in.Stream)
		return engine.ReadConflated(w, engine.NewConflater(producer, b.stage(nd), in, out, merge))
	}}}
}
