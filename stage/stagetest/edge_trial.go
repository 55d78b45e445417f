package stagetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

const kitEdge = "kit-edge"

// edgeTrial is one run of a check of an edge.
type edgeTrial[T comparable] struct {
	*edgeKit[T]
	*findings
	t *testing.T
}

// crossing is an edge in use: items are offered to it, and readers take them. It keeps account of both.
type crossing[T comparable] struct {
	*edgeTrial[T]
	in    entrance[T]
	edge  flow.Edge[T]
	deaf  bool // nobody is told of drops
	run   *flow.Run
	stop  func()        // the run, and whoever waits for room
	begin chan struct{} // closed: the readers begin
	ctx   context.Context

	mu      sync.Mutex
	number  map[T]int // of an item
	answers map[T]error
	taken   map[T]int // how often
	dropped map[T][]flow.DropReason
	history history
}

// cross opens an edge, whose drops it notes, and starts the readers.
func (r *edgeTrial[T]) cross(readers int, pause func()) *crossing[T] {
	return r.crossDeaf(readers, pause, false)
}

// crossDeaf is cross, perhaps without a function that is told of drops: an edge may take a shorter way then. Readers wait until
// they may begin, and call pause behind each chunk.
func (r *edgeTrial[T]) crossDeaf(readers int, pause func(), deaf bool) *crossing[T] {
	x := &crossing[T]{
		edgeTrial: r, edge: r.open(r.t), begin: make(chan struct{}), deaf: deaf,
		number: make(map[T]int), answers: make(map[T]error), taken: make(map[T]int), dropped: make(map[T][]flow.DropReason),
	}
	if x.edge.Name == "" {
		x.edge.Name = kitEdge
	}
	if theirs := x.edge.Dropped; !deaf {
		x.edge.Dropped = func(v T, why flow.DropReason) {
			x.mu.Lock()
			x.dropped[v] = append(x.dropped[v], why)
			x.mu.Unlock()
			if theirs != nil {
				theirs(v, why)
			}
		}
	}
	in, f := r.enter(x.edge)
	x.in = in
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	x.ctx, x.stop = ctx, cancel
	sinks := make([]flow.Pipeline, readers)
	for i, branch := range f.Balance(readers) {
		sinks[i] = branch.To(x.reader(pause))
	}
	run, err := flow.Join(sinks...).Start(ctx)
	if err != nil {
		r.t.Fatalf("the pipeline of the check can't be built: %v", err)
	}
	x.run = run
	r.t.Cleanup(func() {
		cancel()
		_ = run.Wait()
	})
	return x
}

// reader returns a sink that notes what it takes. It asks for more as soon as a push has returned.
func (x *crossing[T]) reader(pause func()) stage.Sink[T] {
	asked := int64(0)
	return stage.SinkFunc(func(ctx context.Context, items []T) error {
		x.note(asked, items)
		select {
		case <-x.begin:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		pause()
		asked = x.history.now()
		return nil
	})
}

func (x *crossing[T]) note(asked int64, items []T) {
	got := x.history.now()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, v := range items {
		x.taken[v]++
		n, ok := x.number[v]
		if !ok {
			n = -1
		}
		x.history.takes = append(x.history.takes, event{n, asked, got})
	}
}

// offer hands item number n to the edge, with Put or with Offer, and notes the answer.
func (x *crossing[T]) offer(n int, v T, put bool) error {
	x.mu.Lock()
	x.number[v] = n
	x.mu.Unlock()
	began := x.history.now()
	_, err := x.hand(v, put)
	ended := x.history.now()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.answers[v] = err
	if err == nil {
		x.history.puts = append(x.history.puts, event{n, began, ended})
	}
	return err
}

func (x *crossing[T]) hand(v T, put bool) (flow.Receipt, error) {
	if put {
		return x.in.Put(x.ctx, v)
	}
	return x.in.Offer(x.ctx, v)
}

// finish closes the edge and waits until everything in it is through.
func (x *crossing[T]) finish() {
	x.in.Close()
	limit := ending(x.Bubble)
	if !within(limit, x.run.Done()) {
		x.addf("the readers have not reached the end %v after the edge was closed", limit)
		x.stop()
	}
	if err := x.run.Wait(); err != nil && !x.any() {
		x.addf("the readers' pipeline has ended with %v", err)
	}
}

// stats returns the figures of the edge.
func (x *crossing[T]) stats() flow.EdgeStats {
	for _, e := range x.run.Stats().Edges {
		if e.Name == x.edge.Name {
			return e
		}
	}
	x.t.Fatalf("the run has no edge %q", x.edge.Name)
	return flow.EdgeStats{}
}

// bounded runs fn in a goroutine and reports when it does not return.
func (x *crossing[T]) bounded(what string, fn func()) bool {
	o := call(func() (int, error) {
		fn()
		return 0, nil
	})
	if s := o.unexpected(); s != "" {
		x.addf("%s %s", what, s)
		return false
	}
	return true
}

// nap waits for a random time up to d.
func nap(d time.Duration) {
	if n := rand.N(d + 1); n > d/4 {
		time.Sleep(n)
	}
}

// refused reports whether err is the answer of an edge that does not take an item.
func refused(err error) bool {
	_, full := errors.AsType[*flow.FullError](err)
	return full
}
