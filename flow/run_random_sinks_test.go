package flow_test

import (
	"context"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// sinks are the ways in which a random graph ends.
var sinks = []string{"foreach", "workers", "to", "gather", "batch", "some", "chan", "items"}

// end is a sink of a random graph.
type end struct {
	kind     string
	got      *seen[datum]
	anyOrder bool
}

// skips reports whether the sink lets d go.
func (e *end) skips(d datum) bool { return e.kind == "some" && d.v%6 == 0 }

// to makes the main sink.
func (w *world) to(f stream, kind string, n int) flow.Pipeline {
	e := &end{kind: kind, got: newSeen[datum](), anyOrder: kind == "workers" && n > 1}
	w.end = e
	return w.sink(f, e, n)
}

// sink ends f in e.
func (w *world) sink(f stream, e *end, n int) flow.Pipeline {
	each := func(ctx context.Context, d datum) error {
		if err := w.hit(); err != nil {
			return err
		}
		if err := nap(ctx, w.s.slow); err != nil {
			return err
		}
		return e.got.each(ctx, d)
	}
	push := func(ctx context.Context, ds []datum) error {
		if err := w.hit(); err != nil {
			return err
		}
		return e.push(ctx, ds, w.s.slow)
	}
	wait := time.Duration(n%3) * time.Millisecond
	switch e.kind {
	case "workers":
		return f.ForEach(each, flow.Workers(n))
	case "to":
		return f.To(stage.SinkFunc(push))
	case "gather":
		return f.To(stage.SinkFunc(push), flow.Gather(n, wait))
	case "batch":
		return f.ForEachBatch(n, wait, push)
	case "some": // without a fault of its own, which would be skipped
		fails := func(ctx context.Context, ds []datum) error { return e.push(ctx, ds, w.s.slow) }
		return f.To(stage.SinkFunc(fails), flow.OnError(flow.Skip))
	case "items":
		return f.ToItems(stage.ItemSinkFunc(func(ctx context.Context, its []stage.Item[datum]) error {
			ds := make([]datum, len(its))
			for i, it := range its {
				ds[i] = it.Value
			}
			return push(ctx, ds)
		}))
	case "chan":
		return f.ToChan(w.receiver(e, n-1))
	default:
		return f.ForEach(each)
	}
}

// push takes all of ds, or all but some.
func (e *end) push(ctx context.Context, ds []datum, slow time.Duration) error {
	if err := nap(ctx, slow); err != nil {
		return err
	}
	var bad stage.BatchError
	for i, d := range ds {
		if e.skips(d) {
			bad.Add(i, errValue)
		} else if err := e.got.each(ctx, d); err != nil {
			return err
		}
	}
	return bad.OrNil()
}

// receiver returns a channel from which e receives.
func (w *world) receiver(e *end, capacity int) chan<- datum {
	ch := make(chan datum, capacity)
	w.receivers.Go(func() {
		for d := range ch {
			_ = e.got.each(context.Background(), d)
			time.Sleep(w.s.slow)
		}
	})
	return ch
}
