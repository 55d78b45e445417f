package flow

import (
	"math"
	"strings"
	"time"

	"github.com/weir-go/weir/internal/claim"
	"github.com/weir-go/weir/internal/codel"
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// DefaultCapacity is the capacity of the edges that operators bring along. They block.
const DefaultCapacity = 64

// maxCapacity keeps sums of capacities from overflowing.
const maxCapacity = math.MaxInt32

// Edge is an edge in full: a bounded queue between two goroutines, the only place where items wait. Only Capacity is required.
//
// It never holds more than Capacity items, nor more than MaxWeight. Order is kept for each producer, unless a Discipline says
// otherwise. Each item that it takes
// over is delivered, dropped with a reason, or given back when the run stops: at every instant In = Out + Dropped + Depth.
type Edge[T any] struct {
	Name     string // as for [Name]
	Capacity int    // at least 1
	OnFull   Policy // Block by default

	// MaxWait drops items that have waited longer in this edge, when a consumer comes for them. 0 is no limit.
	MaxWait time.Duration

	// MaxWeight bounds the sum of the items' weights; Weight gives that of one, at least 0. An item heavier than MaxWeight
	// passes alone: a Block edge admits it when it is empty; the other policies refuse it as DropTooHeavy, or with Reject
	// as full, unless the edge is empty. 0 is no bound by weight.
	MaxWeight int64
	Weight    func(T) int64

	// Discipline is the order in which items are served, and who pays when the edge is full: [FairBy], [FairByKey],
	// [ByCriticality], [AdaptiveLIFO] or [ShedLargest]. nil is first in, first out.
	Discipline Discipline[T]

	// Target is how many may wait before the edge reports a standing queue, in [EdgeStats]; Capacity is how many may wait at all. 0 is
	// half of those who take from it, which are served within half a service time.
	Target int

	// Deadline gives the deadline of an item, where it is not in its metadata; the zero time is none. An item that can't be finished
	// by its deadline, as the service times of 95 of 100 of the last ones were, is dropped as DropDeadline instead of being started; but
	// where nothing has ended for as long as it has left, one is tried, because the times may have changed.
	// An edge that may drop, because its policy does, because of MaxWait or CoDel, or because it has a SettleDropped, looks at the
	// metadata for it, without this field. KeepLate turns that off.
	Deadline func(T) time.Time
	KeepLate bool

	// CoDel drops, as DropShed, what has waited too long while there is a standing queue: under FairBy in each subqueue by itself.
	// It does not go together with ByCriticality and AdaptiveLIFO. The zero value drops nothing.
	CoDel CoDel

	// Dropped is called for each item dropped, after the edge's lock is released, in the goroutine of the producer (full, too
	// heavy) or the consumer (expired, deadline, shed); perhaps in several at the same time. It must be quick. A panic in it stops the run.
	Dropped func(v T, why DropReason)

	// SettleDropped says how the message of a dropped item ends. Behind a source with claims it is required where the
	// edge can drop, here or at the source.
	SettleDropped Settlement
}

// canDrop reports whether the edge drops items, whatever these are.
func (e *Edge[T]) canDrop() bool {
	return e.OnFull == DropNewest || e.OnFull == DropOldest || e.MaxWait > 0 || e.Deadline != nil || e.CoDel != CoDel{}
}

// mayExpire reports whether it drops items that have a deadline in their metadata.
func (e *Edge[T]) mayExpire() bool { return !e.KeepLate && (e.canDrop() || e.SettleDropped != nil) }

// sheds reports whether it says what becomes of a dropped item. One that blocks drops only to end a deadlock, where that is asked for.
func (e *Edge[T]) sheds() bool { return e.Dropped != nil || e.SettleDropped != nil }

// validate records what is wrong.
func (e *Edge[T]) validate(n *node) {
	n.check(!strings.HasSuffix(n.name, ".in") && !strings.HasSuffix(n.name, ".out"),
		"an edge's name must not end in .in or .out: edges that operators bring have such names")
	n.check(e.Capacity >= 1 && e.Capacity <= maxCapacity, argument("capacity", "1 to 2147483647", e.Capacity))
	n.check(e.OnFull.Valid(), argument("policy", "Block, DropNewest, DropOldest or Reject", e.OnFull))
	n.check(e.MaxWait >= 0, argument("MaxWait", ">= 0", e.MaxWait))
	n.check(e.MaxWeight >= 0, argument("MaxWeight", ">= 0", e.MaxWeight))
	if e.SettleDropped != nil {
		text := checkSettlement(e.SettleDropped)
		n.check(text == "", "SettleDropped: "+text)
	}
	n.check((e.MaxWeight > 0) == (e.Weight != nil), "MaxWeight and Weight go together")
	e.validateControls(n)
}

// config returns the queue's configuration. failed is told why one of the user's functions has not returned.
func (e *Edge[T]) config(name string, s engine.Stream, failed func(error)) queue.Config[T] {
	cfg := queue.Config[T]{
		Name: name, Capacity: e.Capacity, OnFull: e.OnFull, MaxWait: e.MaxWait,
		MaxWeight: e.MaxWeight, Weight: e.Weight, Tagged: s.Tagged,
		Target: e.Target, CoDel: codel.Config(e.CoDel), Deadline: e.deadlines(s), OfTag: e.Deadline == nil,
		Failed: func(p any) error {
			err := notReturned(name, p)
			failed(err)
			return err
		},
	}
	if e.Discipline != nil {
		e.Discipline.order().configure(&cfg, failed)
	}
	if e.sheds() || e.canDrop() && s.Tagged {
		outcome := claim.GivenBack(ErrDropped)
		switch {
		case e.SettleDropped != nil:
			outcome = e.SettleDropped.outcome()
		case s.Dropped != nil:
			outcome = *s.Dropped
		}
		hook := e.Dropped
		cfg.Dropped = func(v T, t *queue.Tag, why queue.Reason) {
			defer t.Release(outcome) // the hook may end the goroutine
			if hook != nil {
				callHook(name, hook, v, why, failed)
			}
		}
	}
	return cfg
}

func callHook[T any](name string, hook func(T, DropReason), v T, why DropReason, failed func(error)) {
	returned := false
	defer func() { unlessReturned(returned, recover(), name, failed) }()
	hook(v, why)
	returned = true
}

// unlessReturned tells failed why user code of the edge has not returned, if it has not.
func unlessReturned(returned bool, p any, name string, failed func(error)) {
	if !returned {
		failed(notReturned(name, p))
	}
}

// notReturned is why user code of the edge has not returned: it panicked with p, or ended its goroutine.
func notReturned(name string, p any) error {
	if p == nil {
		return &stage.Error{Stage: name, Err: stage.ErrGoexit}
	}
	return engine.Panicked(name, p)
}

// edgeSpec is an edge with its name in a build.
type edgeSpec[T any] struct {
	Edge[T]
	name string
	node *node // nil: an operator brought it
}

// implicit is the edge that an operator brings.
func implicit[T any](name string) edgeSpec[T] {
	return edgeSpec[T]{Capacity: DefaultCapacity, name: name}
}

// open adds the edge to the run, for the stream s.
func (e *edgeSpec[T]) open(b *build, s engine.Stream) *engine.Link[T] {
	if e.canDrop() && s.Claims && e.SettleDropped == nil && s.Dropped == nil {
		b.fail(e.node, "it can drop messages: say with SettleDropped how a dropped one ends (Ack, Term or Nak), here or at the source")
	}
	if e.canDrop() {
		b.loses(e.node, e.name, "it", &s)
	}
	cfg := e.config(e.name, s, b.run.Stop)
	if s.Branch {
		cfg.Left = engine.LeftEarly
	}
	var at engine.Origin
	if e.node != nil {
		at = e.node
	}
	l := engine.NewLink(b.run, queue.New(cfg), at, s)
	l.Sheds = e.sheds()
	return l
}

// Buffer puts an edge of the given capacity behind f, with a policy for when it is full.
//
//	Shape:        T → T, order kept; the stages before and behind it run in goroutines of their own.
//	Backpressure: Block waits for room, and the wait reaches the source; the other policies never wait.
//	Ends:         what waits is delivered at the end, and given back when the run stops.
//	Errors:       a capacity < 1 or > 2147483647 and an unknown policy are build errors. Reject stops the run
//	              with a *FullError.
//	Claims:       travel along; that of a dropped item settles as SettleDropped says.
//	Cost:         one goroutine; no allocation per item.
func (f Flow[T]) Buffer(capacity int, onFull Policy, opts ...BufferOption) Flow[T] {
	var s settings
	each(&s, opts, BufferOption.buffer)
	return newEdge("buffer", f, Edge[T]{Capacity: capacity, OnFull: onFull, SettleDropped: s.dropped}, &s)
}

// Edge puts the edge e behind f: [Flow.Buffer] for everything that its two arguments do not say.
//
// An operator that needs an edge in front of it or behind it uses the one that is written at that place.
//
//	Shape:        T → T, order kept, or as the Discipline says; the stages before and behind it run in goroutines of
//	              their own.
//	Backpressure: as for Buffer. A bound by weight makes the demand an estimate: an item in the producer's hand
//	              may have to wait.
//	Ends:         as for Buffer.
//	Errors:       fields out of range, and fields that mean nothing together, such as MaxWeight without Weight, are
//	              build errors. A negative weight, and a panic in Weight, Deadline, Dropped or a function of the
//	              Discipline, stop the run, and so does Reject.
//	Claims:       travel along; that of a dropped item settles as SettleDropped says.
//	Cost:         as for Buffer; Weight and Deadline cost a call per item, a Discipline other than AdaptiveLIFO a
//	              place and links for each; MaxWait and CoDel next to nothing (rows P8 of the benchmarks).
func (f Flow[T]) Edge(e Edge[T]) Flow[T] {
	s := settings{name: e.Name, named: e.Name != ""}
	return newEdge("edge", f, e, &s)
}

func newEdge[T any](op string, f Flow[T], e Edge[T], s *settings) Flow[T] {
	up := f.node()
	n := newNode(op, s, up.about())
	n.edge = true
	n.count, n.loses, n.yields = e.Capacity, e.canDrop(), e.OnFull != Block
	n.places, n.within = e.Capacity, e.MaxWait
	n.lags = (e.OnFull == DropNewest || e.OnFull == DropOldest) && e.MaxWait == 0 && e.Deadline == nil
	e.validate(n)
	return Flow[T]{&edged[T]{node: n, up: up, spec: e}}
}
