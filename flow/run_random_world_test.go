package flow_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// datum is what flows through a random graph: a value, the messages that it was made of, and the input of a Merge that it came
// through.
type datum struct {
	v    int
	ids  []int
	mark int
}

func (d datum) String() string { return fmt.Sprint(d.v, d.ids) }

type stream = flow.Flow[datum]

var errGoexit = stage.ErrGoexit

// idSpan is how many numbers a source has for its messages.
const idSpan = 1000

// world is one run of a scenario: what its user code has seen, and what is wrong.
type world struct {
	s          *scenario
	table      map[string]operator
	brokers    []*broker // nil: a plain source
	first      *point    // behind the first source
	lastSource *point
	end        *end
	receivers  sync.WaitGroup
	count      int // of points, for names

	calls  atomic.Int64
	struck atomic.Bool

	leavers, lenient, exact bool

	mu  sync.Mutex
	bad []error
}

func (w *world) wrong(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.bad = append(w.bad, err)
	}
}

// hit is called by all user code, and does the fault when it is its turn.
func (w *world) hit() error {
	if w.calls.Add(1) != w.s.failAt || !slices.Contains([]string{"error", "panic", "goexit"}, w.s.fault) {
		return nil
	}
	w.struck.Store(true)
	switch w.s.fault {
	case "panic":
		panic(errFault)
	case "goexit":
		runtime.Goexit()
	}
	return errFault
}

// must is hit for functions that can't fail.
func (w *world) must() {
	if err := w.hit(); err != nil {
		panic(err)
	}
}

// point is a place where the values are noted that pass: a source, or the exit of an operator whose result depends on who was
// faster. The reference goes on with what was noted.
type point struct {
	name    string
	got     *seen[datum]
	dropped *seen[datum] // by the edge there
	most    int          // an edge's capacity
}

func (w *world) point(name string) *point {
	w.count++
	return &point{name: fmt.Sprint(name, w.count), got: newSeen[datum](), dropped: newSeen[datum]()}
}

// watch notes what passes p.
func (p *point) watch(f stream) stream {
	return f.Tap(func(d datum) { _ = p.got.each(context.Background(), d) })
}

// source returns a new source of the scenario's kind.
func (w *world) source(plain bool) stream {
	k := len(w.brokers)
	p := w.point("source")
	if w.lastSource = p; k == 0 {
		w.first = p
	}
	var f flow.Flow[int]
	if plain {
		w.brokers = append(w.brokers, nil)
		f = flow.FromSlice(ints(w.s.items))
	} else {
		b := newBroker(w.s.items)
		b.most, b.stays = w.s.most, w.s.fault == "drain"
		w.brokers = append(w.brokers, b)
		var opts []flow.SourceOption
		if w.s.atFrom {
			opts = append(opts, flow.SettleDropped(flow.Ack))
		}
		f = flow.FromItems(stage.ItemSourceFunc(func(ctx context.Context, dst []stage.Item[int]) (int, error) {
			if err := nap(ctx, w.s.pause); err != nil {
				return 0, err
			}
			if err := w.hit(); err != nil {
				return 0, err
			}
			return b.PullItems(ctx, dst)
		}), opts...)
	}
	return p.watch(f.Map(func(i int) datum {
		if plain {
			return datum{v: i}
		}
		return datum{v: i, ids: []int{k*idSpan + i}}
	}))
}

// settledOnce is L1: every message that was handed out is settled, once.
func (w *world) settledOnce() error {
	var errs []error
	for _, b := range w.brokers {
		if b != nil {
			errs = append(errs, b.problem())
		}
	}
	return errors.Join(errs...)
}

// outcome returns how message id ended.
func (w *world) outcome(id int) (stage.Outcome, bool) {
	b := w.brokers[id/idSpan]
	b.mu.Lock()
	defer b.mu.Unlock()
	os := b.settled[id%idSpan]
	if len(os) == 0 {
		return stage.Outcome{}, false
	}
	return os[0], true
}

// allDone checks that a run without a fault has let no message down.
func (w *world) allDone() {
	for k, b := range w.brokers {
		if b == nil {
			continue
		}
		var left []int
		for i := range b.next {
			o, _ := w.outcome(k*idSpan + i)
			late := w.s.fault == "drain" && o.Kind == stage.Failed // given back behind the drain
			if o.Kind != stage.Done && !errors.Is(o.Err, flow.ErrDropped) && !late {
				left = append(left, i)
			}
		}
		if len(left) > 0 {
			w.wrong(fmt.Errorf("source %d: messages %v are not done", k, brief(left)))
		}
	}
}

// edges is L2: no edge ever held more than its capacity, and none loses count, at any moment.
func (w *world) edges(r *flow.Run, over bool) error {
	var errs []error
	for _, e := range r.Stats().Edges {
		if e.MaxDepth > e.Capacity || e.In != e.Out+int64(e.Depth)+e.Dropped.Total() {
			errs = append(errs, fmt.Errorf("L2: edge %s: depth up to %d of %d, in %d, out %d, held %d, dropped %d",
				e.Name, e.MaxDepth, e.Capacity, e.In, e.Out, e.Depth, e.Dropped.Total()))
		}
		if over {
			errs = append(errs, w.hooks(w.s.ops, e))
		}
	}
	return errors.Join(errs...)
}

// hooks compares what an edge says it has dropped with what its hook was told.
func (w *world) hooks(ops []*op, e flow.EdgeStats) (err error) {
	uses(ops, func(o *op) bool {
		if p := o.at; p != nil && p.name == e.Name && int64(len(p.dropped.values())) != e.Dropped.Total() {
			err = fmt.Errorf("edge %s dropped %d, its hook was told of %d", e.Name, e.Dropped.Total(), len(p.dropped.values()))
		}
		return false
	})
	return err
}
