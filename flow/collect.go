package flow

import (
	"context"
	"iter"

	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// Collect runs f and returns its values, at most limit of them. With an error come the values so far.
//
//	Ends:   with upstream.
//	Errors: those of the run; more than limit values are ErrTooMany. limit < 0 is an error, and so is a source with claims
//	        without a Take behind it: its messages would be settled before anything is done with the result.
//	Claims: an item settles as done when its value is in the result.
func (f Flow[T]) Collect(ctx context.Context, limit int) ([]T, error) {
	var values []T
	s, n, h := sinkSettings("collect", f.node().about(), nil)
	n.check(limit >= 0, argument("limit", ">= 0", limit))
	err := f.into(s, n, h, func(items []T) error {
		room := limit - len(values)
		values = append(values, items[:min(room, len(items))]...)
		if len(items) > room {
			return ErrTooMany
		}
		return nil
	}).Run(ctx)
	return values, err
}

// Reduce runs f and returns what fn makes of its values, one after the other, beginning with init. With an error comes the
// result so far.
//
//	Ends:   with upstream.
//	Errors: those of the run. fn can't fail; a panic in it stops the run. A nil fn is an error, and so is a source with
//	        claims without a Take behind it, as for Collect.
//	Claims: an item settles as done when the chunk that it came with is in the result.
func (f Flow[T]) Reduce[U any](ctx context.Context, init U, fn func(U, T) U) (U, error) {
	acc := init
	s, n, h := sinkSettings("reduce", f.node().about(), nil)
	n.check(fn != nil, "function must not be nil")
	err := f.into(s, n, h, func(items []T) error {
		for _, v := range items {
			acc = fn(acc, v)
		}
		return nil
	}).Run(ctx)
	return acc, err
}

// into is a pipeline that ends in a function over chunks.
func (f Flow[T]) into(s *settings, n *node, h engine.Handling, push func([]T) error) Pipeline {
	up := f.node()
	sink := stage.SinkFunc(func(_ context.Context, items []T) error { return push(items) })
	return leafOf(n, func(b *build) {
		inputs[T]{up: up, n: n, h: h, workers: s.workers}.each(b, func(w *engine.Worker, st *engine.Stage, in engine.Input[T]) {
			if in.Claims && !in.Bounded {
				b.fail(n, "it would settle messages before their result is safe; put a Take in front, or use To or ForEach")
			}
			engine.Drain(w, in, engine.NewOutlet(w, st, sink, h))
		})
	})
}

// All runs f and ranges over its values.
//
// The loop pulls with its own demand, one value at a time, so that leaving it with break or return loses nothing: what was
// not asked for is still in the source, or given back.
//
//	Ends:   with upstream, or with the loop; the loop goes on when the run has ended.
//	Errors: the last pair may be an error: of the blueprint, of a stage, or ctx's cause. A panic in the body
//	        stops the run and goes on.
//	Claims: each turn of the loop that ends settles its item as done, break included; a panic in it fails it.
func (f Flow[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		up := f.node()
		_, n, _ := sinkSettings("all", up.about(), nil)
		var loop *engine.Loop[T]
		p := leafOf(n, func(b *build) {
			w := b.run.NewWorker()
			loop = engine.NewLoop(w, up.reader(b, w))
			engine.NewFused(w, b.stage(n))
		})
		b, err := p.assemble(ctx, true)
		if err != nil {
			yield(zero, err)
			return
		}
		b.run.Start(ctx, loop.Worker())
		if loop.Range(func(v T) bool { return yield(v, nil) }) {
			if err := b.run.Wait(); err != nil {
				yield(zero, err)
			}
		}
	}
}
