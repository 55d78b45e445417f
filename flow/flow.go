package flow

import (
	"context"
	"errors"
	"iter"

	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// Flow is a blueprint of a stream of T: it says what shall happen, and nothing happens before a pipeline made of it runs. It is
// immutable; operators return new ones. One Flow may be part of several pipelines, and run many times, also at the same
// time, as far as its sources and sinks can.
//
// The zero Flow has no source; using it is a build error.
type Flow[T any] struct{ up upstream[T] }

// node returns the blueprint, that of a mistake for the zero Flow.
func (f Flow[T]) node() upstream[T] {
	if f.up != nil {
		return f.up
	}
	n := newNode("flow", &settings{})
	n.wrong("the zero Flow has no source")
	return &fused[T]{node: n, read: func(*build, *engine.Worker) engine.Input[T] { return engine.Input[T]{} }}
}

// source returns the node of a source. open makes what is read in one run, fresh says that it belongs to that run.
func source[T any](op string, opts []SourceOption, fresh bool, open func(ctx context.Context, live bool) (stage.Source[T], error)) (*fused[T], *settings) {
	var s settings
	each(&s, opts, SourceOption.source)
	n := newNode(op, &s)
	n.kind = engine.Source
	f := &fused[T]{node: n}
	f.read = func(b *build, w *engine.Worker) engine.Input[T] {
		src, err := open(b.ctx, b.live)
		if err != nil {
			b.fail(n, err.Error())
			b.errs = append(b.errs, err)
			src = stage.Slice[T](nil)
		}
		if fresh {
			b.opened = append(b.opened, src)
		}
		in := engine.ReadSource(w, b.stage(n), src)
		in.Again = in.Claims
		if s.dropped != nil {
			o := s.dropped.outcome()
			in.Dropped = &o
		}
		return in
	}
	return f, &s
}

// From is a flow of what src gives. Its metadata is used where src is also a stage.ItemSource.
//
//	Ends:   with the source. A source that is an io.Closer is closed once when the run has ended.
//	Errors: an error of the source stops the run. A nil source is a build error, and so is a second run: a
//	        source has state, and an empty second run would be silent. Open makes a source for each run.
func From[T any](src stage.Source[T], opts ...SourceOption) Flow[T] {
	f, _ := source("from", opts, false, func(context.Context, bool) (stage.Source[T], error) { return src, nil })
	f.check(src != nil, "source must not be nil")
	f.serveOnce()
	f.validate(src)
	f.limited(src)
	return Flow[T]{f}
}

// FromItems is [From] for a source that knows metadata, or wants to be told how its items end.
//
//	Ends:   as for From.
//	Errors: as for From.
//	Claims: an item settles when all that was made of it has left the pipeline, with the worst of the outcomes.
func FromItems[T any](src stage.ItemSource[T], opts ...SourceOption) Flow[T] {
	f, s := source[T]("from", opts, false, nil)
	f.check(src != nil, "source must not be nil")
	f.serveOnce()
	f.validate(src)
	f.limited(src)
	f.read = func(b *build, w *engine.Worker) engine.Input[T] {
		in := engine.ReadItems(w, b.stage(f.node), src)
		in.Again = true
		if s.dropped != nil {
			o := s.dropped.outcome()
			in.Dropped = &o
		}
		return in
	}
	return Flow[T]{f}
}

// Open is a flow of what the source gives that open returns, a fresh one for each run. open is called before anything runs. Its
// metadata is used where the source is also a stage.ItemSource.
//
//	Ends:   with the source. One that is an io.Closer is closed once when its run has ended.
//	Errors: an error of open is one of Start; one of the source stops the run. A nil open is a build error.
func Open[T any](open func(ctx context.Context) (stage.Source[T], error), opts ...SourceOption) Flow[T] {
	f, _ := source("open", opts, true, func(ctx context.Context, live bool) (stage.Source[T], error) {
		if !live || open == nil {
			return stage.Slice[T](nil), nil
		}
		src, err := guarded(ctx, open)
		if src == nil && err == nil {
			err = errors.New("open returned no source and no error")
		}
		return src, err
	})
	f.check(open != nil, "open must not be nil")
	read := f.read
	f.read = func(b *build, w *engine.Worker) engine.Input[T] {
		in := read(b, w)
		in.Again = in.Again || !b.live // what it opens is known when it runs
		return in
	}
	return Flow[T]{f}
}

// guarded calls open; a panic in it is an error, and what was opened before is closed.
func guarded[T any](ctx context.Context, open func(context.Context) (stage.Source[T], error)) (src stage.Source[T], err error) {
	defer func() {
		if p := recover(); p != nil {
			src, err = nil, &stage.PanicError{Value: p}
		}
	}()
	return open(ctx)
}

// FromSlice is a flow of the values of vs, which must not change while it runs.
//
//	Ends:   after the last value.
//	Errors: none.
func FromSlice[T any](vs []T, opts ...SourceOption) Flow[T] {
	f, _ := source("from", opts, true, func(context.Context, bool) (stage.Source[T], error) { return stage.Slice(vs), nil })
	f.counted, f.count = true, len(vs)
	return Flow[T]{f}
}

// FromSeq is a flow of what seq yields. Values are taken one by one, because the next may be long in coming; so a source that
// has many at once is faster as a [From] or [FromSlice].
//
//	Ends:   when seq returns. A run that ends earlier stops the sequence.
//	Errors: seq can't fail; see FromSeq2. A panic in it stops the run. A nil seq is a build error.
func FromSeq[T any](seq iter.Seq[T], opts ...SourceOption) Flow[T] {
	f, _ := source("from", opts, true, func(context.Context, bool) (stage.Source[T], error) {
		if seq == nil {
			return stage.Slice[T](nil), nil
		}
		return stage.Seq(seq), nil
	})
	f.check(seq != nil, "sequence must not be nil")
	return Flow[T]{f}
}

// FromSeq2 is [FromSeq] for a sequence that may fail. It has the shape that [Flow.All] returns.
//
//	Ends:   as for FromSeq.
//	Errors: an error of the sequence stops the run, and so does a panic in it. A nil seq is a build error.
func FromSeq2[T any](seq iter.Seq2[T, error], opts ...SourceOption) Flow[T] {
	f, _ := source("from", opts, true, func(context.Context, bool) (stage.Source[T], error) {
		if seq == nil {
			return stage.Slice[T](nil), nil
		}
		return stage.Seq2(seq), nil
	})
	f.check(seq != nil, "sequence must not be nil")
	return Flow[T]{f}
}

// FromChan is a flow of what is sent on ch.
//
//	Ends:   when ch is closed. What was not asked for when a run ends earlier is still in ch.
//	Errors: none of its own. A nil ch is a build error.
func FromChan[T any](ch <-chan T, opts ...SourceOption) Flow[T] {
	f, _ := source("from", opts, true, func(context.Context, bool) (stage.Source[T], error) { return stage.Chan(ch), nil })
	f.check(ch != nil, "channel must not be nil")
	return Flow[T]{f}
}

// FromFunc is a flow of what fn returns, one value a call. The next call is made when there is demand for its value.
//
//	Ends:   when fn returns stage.ErrEnd.
//	Errors: any other error of fn stops the run, and so does a panic in it. A nil fn is a build error.
func FromFunc[T any](fn func(ctx context.Context) (T, error), opts ...SourceOption) Flow[T] {
	f, _ := source("from", opts, true, func(context.Context, bool) (stage.Source[T], error) {
		if fn == nil {
			return stage.Slice[T](nil), nil
		}
		return stage.Func(fn), nil
	})
	f.check(fn != nil, "function must not be nil")
	return Flow[T]{f}
}

// Apply inserts a combination of operators of one's own into the chain: f.Apply(fn) is fn(f).
//
//	Shape:  that of the operators in fn; Apply adds none. fn is called at once, when the blueprint is made.
//	Errors: those of the operators in fn. A nil fn is a build error.
func (f Flow[T]) Apply[U any](fn func(Flow[T]) Flow[U]) Flow[U] {
	if fn == nil {
		n := newNode("apply", &settings{}, f.node().about())
		n.wrong("function must not be nil")
		return Flow[U]{&fused[U]{node: n, read: func(*build, *engine.Worker) engine.Input[U] { return engine.Input[U]{} }}}
	}
	return fn(f)
}
