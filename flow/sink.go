package flow

import (
	"cmp"
	"context"
	"fmt"

	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// To pushes every item into sink, with its metadata where the sink is also a stage.ItemSink.
//
//	Shape:        T → ; in the goroutine of what is upstream, unless Workers, Gather or a stage.PushSizer bring an
//	              edge and goroutines.
//	Emits:        what is there, up to 256 items at a time and single items where the sink is slow; with Gather
//	              up to n. A sink that is a stage.PushSizer gets what is there, up to that size, however slow it
//	              is, and Gather goes before its wish.
//	Backpressure: pulls when the last push has returned.
//	Ends:         with upstream. A sink that is an io.Closer is closed once when the run has ended, and serves
//	              one run.
//	Errors:       as OnError says; by default an error stops the run. A *stage.BatchError is handled item by
//	              item. Any other error means the whole push: Retry repeats it whole; Skip, DeadLetter and
//	              Redeliver first halve it, so that only items that fail alone are affected. A nil sink, Workers
//	              outside of 1 to 65536, a Gather of n < 1 or maxWait < 0 and a panic in PushSize are build errors.
//	Claims:       an item settles as done when the sink has taken it.
func (f Flow[T]) To(sink stage.Sink[T], opts ...SinkOption) Pipeline {
	return newSink("to", f, opts, sink, sink != nil, func(w *engine.Worker, st *engine.Stage, h engine.Handling) *engine.Outlet[T] {
		return engine.NewOutlet(w, st, sink, h)
	})
}

// ToItems is [Flow.To] for a sink that takes items with their metadata.
//
//	Shape, Emits, Backpressure, Ends, Errors, Claims: as for To.
func (f Flow[T]) ToItems(sink stage.ItemSink[T], opts ...SinkOption) Pipeline {
	return newSink("to", f, opts, sink, sink != nil, func(w *engine.Worker, st *engine.Stage, h engine.Handling) *engine.Outlet[T] {
		return engine.NewItemOutlet(w, st, sink, h)
	})
}

// sinkSettings gathers the options of a sink and records what is wrong with them.
func sinkSettings(op string, up *node, opts []SinkOption) (*settings, *node, engine.Handling) {
	s := &settings{workers: 1}
	each(s, opts, SinkOption.sink)
	n := newNode(op, s, up)
	n.kind = engine.Sink
	n.check(s.workers >= 1 && s.workers <= maxWorkers, argument("Workers", "1 to 65536", s.workers))
	if g := s.gather; g != nil {
		n.check(g.n >= 1 && g.n <= maxCapacity, argument("Gather: n", "1 to 2147483647", g.n))
		n.check(g.maxWait >= 0, argument("Gather: maxWait", ">= 0", g.maxWait))
		n.gathering = g.n
		if g.maxWait == 0 {
			n.fills = g.n
		}
	}
	n.workers = s.workers
	return s, n, n.handling(s)
}

func newSink[T any](op string, f Flow[T], opts []SinkOption, sink any, present bool,
	outlet func(*engine.Worker, *engine.Stage, engine.Handling) *engine.Outlet[T],
) Pipeline {
	up := f.node()
	s, n, h := sinkSettings(op, up.about(), opts)
	n.check(present, "sink must not be nil")
	n.serveOnceIfCloser(sink)
	n.validate(sink)
	return leafOf(n, func(b *build) {
		g, capacity := s.gathers(b, n, sink)
		in := inputs[T]{up: up, n: n, h: h, workers: clampWorkers(s.workers), edge: capacity}
		last := engine.NewFinish(sink, in.workers)
		in.each(b, func(w *engine.Worker, st *engine.Stage, in engine.Input[T]) {
			out := outlet(w, st, h)
			out.FinishWith(last)
			if g != nil {
				engine.DrainGroups(w, engine.NewGatherer(out.Fused, in, int64(max(g.n, 1)), nil, g.maxWait), out)
			} else {
				engine.Drain(w, in, out)
			}
		})
	})
}

// gathers returns how the sink gets its items: as Gather says, or else as the sink wishes, nil for as they come; and the capacity of
// the edge that this takes.
func (s *settings) gathers(b *build, n *node, sink any) (g *gathering, capacity int) {
	if s.gather != nil {
		return s.gather, DefaultCapacity
	}
	workers := clampWorkers(s.workers)
	size := min(pushSize(b, n, sink), maxCapacity/workers)
	if size < 1 {
		return nil, 0
	}
	return &gathering{size, engine.NoWait}, max(DefaultCapacity, size*workers) // each worker leaves the others their share
}

// pushSize asks the sink for its wish.
func pushSize(b *build, n *node, sink any) (size int) {
	s, ok := sink.(stage.PushSizer)
	if !ok {
		return 0
	}
	defer func() {
		if p := recover(); p != nil {
			b.fail(n, fmt.Sprintf("PushSize panics: %v", p))
		}
	}()
	return s.PushSize()
}

// inputs is what the workers of a sink read.
type inputs[T any] struct {
	up      upstream[T]
	n       *node
	h       engine.Handling
	workers int
	edge    int // the capacity of the edge in front; 0: a single worker is part of the chain above
}

// each makes the workers, with what each of them reads.
func (i inputs[T]) each(b *build, do func(*engine.Worker, *engine.Stage, engine.Input[T])) {
	if i.workers == 1 && i.edge == 0 {
		w := b.run.NewWorker()
		in := i.up.reader(b, w)
		b.decided(i.n, i.h, in.Stream)
		do(w, b.stage(i.n), in)
		return
	}
	l := frontOf(b, i.up, i.n, cmp.Or(i.edge, DefaultCapacity))
	b.decided(i.n, i.h, l.Stream)
	st := b.stage(i.n)
	for range i.workers {
		w := b.run.NewWorker()
		if i.workers > 1 {
			do(w, st, engine.ShareEdge(w, l))
		} else {
			do(w, st, engine.ReadEdge(w, l))
		}
	}
}

// ForEach calls fn for every value.
//
//	Shape:        T → ; in the goroutine of what is upstream, unless Workers brings an edge and goroutines.
//	Backpressure: pulls when the last call has returned.
//	Ends:         with upstream.
//	Errors:       as for TryMap. A nil fn is a build error, and so is Gather, which needs a sink.
//	Claims:       an item settles as done when fn has returned nil.
func (f Flow[T]) ForEach(fn func(context.Context, T) error, opts ...SinkOption) Pipeline {
	up := f.node()
	s, n, h := sinkSettings("foreach", up.about(), opts)
	n.check(fn != nil, "function must not be nil")
	n.check(s.gather == nil, "Gather needs To: ForEach gets one value at a time")
	call := func(ctx context.Context, v T) (struct{}, error) { return struct{}{}, fn(ctx, v) }
	return leafOf(n, func(b *build) {
		in := inputs[T]{up: up, n: n, h: h, workers: clampWorkers(s.workers)}
		in.each(b, func(w *engine.Worker, st *engine.Stage, in engine.Input[T]) {
			engine.Consume(w, engine.Try(engine.NewCall(w, st, call, h), in))
		})
	})
}

func leafOf(n *node, build func(*build)) Pipeline {
	return newPipeline(&leaf{node: n, build: build})
}
