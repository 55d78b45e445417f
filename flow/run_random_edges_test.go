package flow_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// try returns a function that may fail, and the decision about it: none, where the fault is the only failure, Skip, Retry or
// DeadLetter.
func (w *world) try(o *op) (func(context.Context, datum) (datum, error), flow.ErrOption) {
	var calls atomic.Int64
	fn := func(ctx context.Context, d datum) (datum, error) {
		if err := dawdle(ctx, d); err != nil {
			return d, err
		}
		switch o.n % 4 {
		case 0:
			return d, w.hit()
		case 2:
			if calls.Add(1)%3 == 0 {
				return d, w.misbehave(int(calls.Load()))
			}
			return d, nil
		}
		if o.fails(d) {
			return d, w.misbehave(d.v)
		}
		return d, nil
	}
	switch o.n % 4 {
	case 1:
		return fn, flow.OnError(flow.Skip)
	case 2:
		return fn, flow.OnError(flow.Retry(100, flow.Exponential(time.Millisecond, time.Millisecond)))
	case 3:
		o.letters = &end{kind: "dead letters", got: newSeen[datum](), anyOrder: true}
		return fn, flow.OnError(flow.DeadLetter(stage.SinkFunc(func(ctx context.Context, ls []stage.DeadLetter) error {
			for _, l := range ls {
				_ = o.letters.got.each(ctx, l.Value.(datum))
			}
			return nil
		})))
	}
	return fn, flow.OnError(flow.Stop)
}

// fails reports whether the function of try fails for d for good.
func (o *op) fails(d datum) bool { return o.n%2 == 1 && d.v%7 == 0 }

// misbehave fails in one of three ways. A loop over All runs the chain in its own goroutine, which is the test's.
func (w *world) misbehave(i int) error {
	switch {
	case i%3 == 1:
		panic(errValue)
	case i%3 == 2 && w.s.fault != "leave":
		runtime.Goexit()
	}
	return errValue
}

// tried is what try makes of a sequence.
func (w *world) tried(in []datum, o *op) (out []datum) {
	var bad, refused []datum
	if o.refused != nil {
		refused = o.refused.values()
	}
	for _, d := range in {
		i := slices.IndexFunc(refused, func(r datum) bool { return alike(d, r) })
		if i >= 0 {
			refused = slices.Delete(refused, i, i+1)
		}
		if i >= 0 || o.fails(d) {
			bad = append(bad, d)
		} else {
			out = append(out, d)
		}
	}
	if o.letters != nil {
		w.compare(o.letters, bad)
	}
	return out
}

// laneOf is the key of ParallelByKey and Partition.
func laneOf(d datum) int { return d.v % 4 }

// edges are the operators with an edge of their own.
func edges() map[string]operator {
	return map[string]operator{
		"parallel": {func(w *world, f stream, o *op) stream {
			fn, opt := w.try(o)
			return f.Parallel(o.m%5+1, fn, opt, w.fuse(o), w.limit())
		}, (*world).tried},
		"unordered": {func(w *world, f stream, o *op) stream {
			fn, opt := w.try(o)
			o.at = w.point("unordered")
			return o.at.watch(f.Parallel(o.m%5+1, fn, opt, flow.Unordered, w.fuse(o), w.limit()))
		}, func(w *world, in []datum, o *op) []datum { return w.observe(o.at, w.tried(in, o), anyOrder) }},
		"bykey": {func(w *world, f stream, o *op) stream {
			fn, opt := w.try(o)
			o.at = w.point("bykey")
			return o.at.watch(f.ParallelByKey(o.m%5+1, func(d datum) int { w.must(); return laneOf(d) }, fn, opt))
		}, func(w *world, in []datum, o *op) []datum { return w.observe(o.at, w.tried(in, o), byKey) }},
		"expand": {(*world).expand, (*world).expanded},
		"buffer": {func(_ *world, f stream, o *op) stream { return f.Buffer(o.n, flow.Block) }, identity},
		"weighed": {func(w *world, f stream, o *op) stream {
			return f.Edge(flow.Edge[datum]{Capacity: o.n, MaxWeight: int64(o.m%5 + 1), Weight: w.weight})
		}, identity},
		"reject": {func(_ *world, f stream, o *op) stream { return f.Buffer(10*o.n, flow.Reject) }, identity},
		"drop":   {(*world).drop, func(w *world, in []datum, o *op) []datum { return w.observe(o.at, in, inOrder) }},
		"fairly": {(*world).fairly, func(w *world, in []datum, o *op) []datum { return w.observe(o.at, in, byKey) }},
		"shed":   {(*world).shed, func(w *world, in []datum, o *op) []datum { return w.observe(o.at, in, anyOrder) }},
		"batch": {func(_ *world, f stream, o *op) stream {
			return f.Batch(o.n, time.Duration(o.m%3)*time.Millisecond).FlatMap(func(ds []datum) []datum { return ds })
		}, identity},
		"batchweight": {func(w *world, f stream, o *op) stream {
			return f.BatchWeight(int64(o.n), w.weight, time.Duration(o.m%3)*time.Millisecond).FlatMap(func(ds []datum) []datum { return ds })
		}, identity},
		"via": {func(w *world, f stream, o *op) stream {
			return f.Via(stage.StageFunc(w.passOn))
		}, identity},
		"groupby": {(*world).groupBy, func(w *world, in []datum, o *op) []datum { return w.observe(o.at, in, byKey) }},
		"with":    {(*world).with, (*world).accompanied},
		"groups": {func(w *world, f stream, o *op) stream {
			return f.Via(stage.StageFunc(w.groups(o.n))).FlatMap(func(ds []datum) []datum { return ds })
		}, identity},
	}
}

// groupBy gives each key a stage that emits what it gets. There are fewer places than keys.
func (w *world) groupBy(f stream, o *op) stream {
	o.at = w.point("groupby")
	few := flow.Groups[datum]{Max: o.n%3 + 1, Lane: flow.Edge[datum]{Capacity: o.m%3 + 1}, Idle: time.Duration(o.n%2) * o.per()}
	return o.at.watch(f.GroupBy(few, func(d datum) int { w.must(); return laneOf(d) }, func(int) stage.Stage[datum, datum] {
		w.must()
		return stage.StageFunc(w.passOn)
	}))
}

// with runs a pipeline beside the chain.
func (w *world) with(f stream, o *op) stream {
	o.beside = newSeen[int]()
	return f.With(flow.FromSlice(ints(o.m)).ForEach(func(ctx context.Context, i int) error {
		if err := nap(ctx, w.s.slow); err != nil {
			return err
		}
		return o.beside.each(ctx, i)
	}))
}

func (w *world) accompanied(in []datum, o *op) []datum {
	if got := o.beside.values(); w.exact && len(got) != o.m && w.s.fault != "drain" || !slices.Equal(got, ints(len(got))) {
		w.wrong(fmt.Errorf("with: got %v beside, want %d", brief(got), o.m))
	}
	return in
}

func (w *world) weight(d datum) int64 { w.must(); return int64(d.v % 5) }

// expand emits copies of a value, and then may fail. Every other one emits in goroutines of its own.
func (w *world) expand(f stream, o *op) stream {
	fn, opt := w.try(o)
	o.at, o.refused = w.point("expand"), newSeen[datum]()
	return f.Expand(func(ctx context.Context, d datum, emit func(datum) error) error {
		for _, c := range o.copies(d) {
			err := o.emit(emit, c)
			if _, full := errors.AsType[*flow.FullError](err); full {
				_ = o.refused.each(ctx, d)
			}
			if err != nil {
				return err
			}
			_ = o.at.got.each(ctx, c)
		}
		_, err := fn(ctx, d)
		return err
	}, opt)
}

// emit emits d, here or in another goroutine, which user code of the edge may end.
func (o *op) emit(emit func(datum) error, d datum) error {
	if o.m%2 == 0 {
		return emit(d)
	}
	err := errGoexit
	var wg sync.WaitGroup
	wg.Go(func() { err = emit(d) })
	wg.Wait()
	return err
}

// expanded is what expand makes of a sequence. What was emitted by a call that failed stays, also where the call is repeated. A
// call fails as well when an edge behind it refuses something: then the reference goes on with what was emitted.
func (w *world) expanded(in []datum, o *op) (out []datum) {
	refusals := map[string]int{}
	for _, d := range o.refused.values() {
		refusals[d.String()]++
	}
	calls := 0
	for _, d := range in {
		out = append(out, o.copies(d)...)
		for calls++; o.n%4 == 2 && calls%3 == 0; calls++ {
			out = append(out, o.copies(d)...)
		}
		for range refusals[d.String()] {
			out = append(out, o.copies(d)...)
		}
	}
	w.tried(in, o) // for its dead letters
	if ends := o.n%4 == 0; ends || len(refusals) == 0 {
		return out
	}
	got := o.at.got.values()
	if _, bad := match(got, out, inOrder); bad != nil {
		w.wrong(fmt.Errorf("%s: %w", o.at.name, bad))
	}
	return got
}

// drop is an edge that loses items.
func (w *world) drop(f stream, o *op) stream {
	o.at = w.point("drop")
	o.at.most = o.n
	e := flow.Edge[datum]{Name: o.at.name, Capacity: o.n, Dropped: func(d datum, _ flow.DropReason) {
		_ = o.at.dropped.each(context.Background(), d)
		w.must()
	}}
	if !w.s.atFrom || w.fed() {
		e.SettleDropped = w.settlement(o.at)
	}
	switch o.m % 5 {
	case 0:
		e.OnFull = flow.DropNewest
	case 1:
		e.OnFull = flow.DropOldest
	case 2:
		e.MaxWait = time.Millisecond
	case 3:
		e.OnFull, e.MaxWeight, e.Weight = flow.DropNewest, 3, w.weight
	case 4:
		e.OnFull, e.MaxWait, e.MaxWeight, e.Weight = flow.DropOldest, 2*time.Millisecond, 3, w.weight
	}
	return o.at.watch(f.Edge(e))
}

// passOn is a custom stage that emits what it gets.
func (w *world) passOn(ctx context.Context, in *stage.In[datum], out *stage.Out[datum]) error {
	for it, err := range in.All(ctx) {
		if err != nil {
			return err
		}
		if err := w.hit(); err != nil {
			return err
		}
		if err := out.Emit(ctx, it.With(it.Value)); err != nil {
			return err
		}
	}
	return nil
}

// groups is a custom stage that keeps up to n items and emits them together.
func (w *world) groups(n int) func(context.Context, *stage.In[datum], *stage.Out[[]datum]) error {
	return func(ctx context.Context, in *stage.In[datum], out *stage.Out[[]datum]) error {
		var held []stage.Item[datum]
		emit := func() error {
			if err := w.hit(); err != nil || len(held) == 0 {
				return err
			}
			ds := make([]datum, len(held))
			for i, it := range held {
				ds[i] = it.Value
			}
			kept := held
			held = nil
			return out.Emit(ctx, stage.Combine(ds, kept...))
		}
		for it, err := range in.All(ctx) {
			if err != nil {
				return err
			}
			if held = append(held, in.Keep(it)); len(held) == n {
				if err := emit(); err != nil {
					return err
				}
			}
		}
		return emit()
	}
}
