package flow_test

import (
	"context"
	"slices"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// sinks are the ways in which a random graph ends, and those in which only a whole one can.
var (
	sinks = []string{"foreach", "workers", "to", "gather", "batch", "some", "chan", "items", "subscriber"}
	whole = []string{"hub", "join", "collect", "reduce"}
)

// mainSinks returns the sinks that go with a fault. The last two of all give no handle on the run.
func mainSinks(fault string) []string {
	all := slices.Concat(sinks, whole)
	if fault == "stop" || fault == "drain" {
		all = slices.DeleteFunc(all, func(kind string) bool { return !startable(kind) })
	}
	return all
}

func startable(kind string) bool { return kind != "collect" && kind != "reduce" }

// end is a sink of a random graph.
type end struct {
	kind     string
	got      *seen[datum]
	anyOrder bool
	partly   bool // it leaves, or drops
}

// newEnd returns an end with n workers, where it is of a kind that has some.
func newEnd(kind string, n int) *end {
	return &end{kind: kind, got: newSeen[datum](), anyOrder: kind == "workers" && n > 1}
}

// newEnd returns a main end.
func (w *world) newEnd(kind string, n int) *end {
	w.s.seen.note("sink " + kind)
	e := newEnd(kind, n)
	w.ends = append(w.ends, e)
	return e
}

// allEnds returns the main ends and the sides.
func (w *world) allEnds() []*end {
	all := slices.Clone(w.ends)
	uses(w.s.ops, func(o *op) bool {
		if o.side != nil {
			all = append(all, o.side)
		}
		return false
	})
	return all
}

// skips reports whether the sink lets d go.
func (e *end) skips(d datum) bool { return e.kind == "some" && d.v%6 == 0 }

// to makes the main sink.
func (w *world) to(f stream, kind string, n int) flow.Pipeline {
	e := w.newEnd(kind, n)
	switch kind {
	case "hub":
		return w.toHub(f, e, n)
	case "join":
		w.forks = true
		bs := f.Broadcast(2)
		return flow.Join(w.sink(bs[0], e, n), w.sink(bs[1], w.newEnd("foreach", n), n))
	}
	return w.sink(f, e, n)
}

// sink ends f in e.
func (w *world) sink(f stream, e *end, n int) flow.Pipeline {
	each := func(ctx context.Context, d datum) error {
		if err := w.hit(); err != nil {
			return err
		}
		if err := w.dwell(ctx); err != nil {
			return err
		}
		return e.got.each(ctx, d)
	}
	push := func(ctx context.Context, ds []datum) error {
		if err := w.hit(); err != nil {
			return err
		}
		return w.push(ctx, e, ds)
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
		fails := func(ctx context.Context, ds []datum) error { return w.push(ctx, e, ds) }
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
	case "subscriber":
		return w.toSubscriber(f, e, n)
	default:
		return f.ForEach(each)
	}
}

// push takes all of ds, or all but some.
func (w *world) push(ctx context.Context, e *end, ds []datum) error {
	if err := w.dwell(ctx); err != nil {
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
	w.helpers.Go(func() {
		for d := range ch {
			_ = e.got.each(context.Background(), d)
			time.Sleep(w.s.slow)
		}
	})
	return ch
}
