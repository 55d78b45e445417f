package flow

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// ErrHubFull is what a hub answers that has no place for one member more.
var ErrHubFull = errors.New("flow: the hub is full")

// BroadcastHub gives every item of one running pipeline to any number of others, which come and go while it runs. Its members,
// and what waits for them, are bounded. A hub serves one run of the pipeline that feeds it with [Flow.ToHub]. Its methods are
// safe for concurrent use.
type BroadcastHub[T any] struct {
	members, capacity int
	hub               *engine.Hub[T]
	used              atomic.Bool

	mu     sync.Mutex
	count  int                      // of members
	held   int                      // their capacities
	claims bool                     // somebody wants to know how items end
	effect string                   // of the pipeline that feeds it, see NonIdempotent; "": none, or not known yet
	losing map[*hubMember[T]]string // members with an edge that can drop, and its name
	unsaid int                      // members that drop and do not say what that means for a claim
}

// NewBroadcastHub returns a hub with at most members members, the capacities of whose edges add up to at most capacity.
func NewBroadcastHub[T any](members, capacity int) *BroadcastHub[T] {
	return &BroadcastHub[T]{members: members, capacity: capacity, hub: engine.NewHub[T]()}
}

// ToHub gives every item to each member that the hub has at that time. Without any it waits for the first.
//
//	Shape:        T → for each member; order kept; in the goroutine of what is upstream.
//	Backpressure: pulls what fits into the edge of every member that blocks: the slowest of these sets the pace, and one
//	              that hangs, or has not begun to run, stops all. Those that drop never do.
//	Ends:         with upstream, and so do all members, behind what waits for them. A drain without members ends at once.
//	Errors:       an error of this run is one of all members. One of a member is not one of this run. A nil hub, one made
//	              for less than 1 member or a capacity of less than 1, and a second run are build errors. So is a member
//	              with an edge that can drop, where a stage in front is NonIdempotent; one that comes later is refused.
//	Claims:       an item settles when it has left every member that got it.
func (f Flow[T]) ToHub(h *BroadcastHub[T], opts ...StepOption) Pipeline {
	var s settings
	each(&s, opts, StepOption.step)
	up := f.node()
	n := newNode("tohub", &s, up.about())
	n.kind = engine.Sink
	n.check(h != nil, "hub must not be nil")
	if h != nil {
		n.check(h.members >= 1 && h.members <= maxCapacity, argument("members", "1 to 2147483647", h.members))
		n.check(h.capacity >= 1 && h.capacity <= maxCapacity, argument("capacity", "1 to 2147483647", h.capacity))
		n.once, n.hub = &h.used, h
	}
	return leafOf(n, func(b *build) {
		w := b.run.NewWorker()
		in := up.reader(b, w)
		if in.Claims && b.live {
			if h.claimed() > 0 {
				b.fail(n, "a member can drop messages: "+unsaidDrop)
			}
		}
		if in.Effect != "" && b.live {
			if edge, found := h.affected(in.Effect); found {
				b.fail(n, effectLost("the edge "+edge+" of a member", in.Effect))
			}
		}
		engine.FeedHub(w, b.stage(n), in, h.hub)
	})
}

const unsaidDrop = "say with SettleDropped of its edge how a dropped one ends (Ack, Term or Nak)"

// claimed notes that items have claims, and returns how many members do not say how a dropped one ends.
func (h *BroadcastHub[T]) claimed() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.claims = true
	return h.unsaid
}

// affected notes that items have gone through a stage that is NonIdempotent, and returns an edge of a member's that can drop, if there
// is any.
func (h *BroadcastHub[T]) affected(effect string) (edge string, found bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.effect = effect
	for _, edge := range h.losing {
		return edge, true
	}
	return "", false
}

// loses notes that a member has an edge that can drop, until it leaves.
func (h *BroadcastHub[T]) loses(m *hubMember[T], edge string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.losing == nil {
		h.losing = map[*hubMember[T]]string{}
	}
	h.losing[m] = edge
}

// Attach adds a member, and returns what it gets as a flow, from now on: what passed before it is not seen. The flow has the
// edge e, with a policy of its own, and serves one run. The member's place is free again when that run has ended, or no longer
// wants anything, or when leave is called, which may be done at any time and more than once. A Drain of the run processes
// what waits first.
//
//	Ends:   with the stream of the hub, behind what waits; at once when leave is called.
//	Errors: [ErrHubFull] where there are as many members as may be, or where the capacity of e is more than is left;
//	        [ErrClosed] when the stream of the hub is over or draining; what is wrong with e, whose policy can't be Reject.
//	        An error of the run that feeds the hub is one of the member's run.
//	Claims: what a member holds is done when it leaves. When its run fails or is stopped it is given back, and where the
//	        edge has SettleDropped, what waits there ends as that says.
func (h *BroadcastHub[T]) Attach(e Edge[T]) (f Flow[T], leave func(), err error) {
	s := settings{name: e.Name, named: e.Name != ""}
	n := newNode("member", &s)
	n.edge, n.hub = true, h
	n.serveOnce()
	e.validate(n)
	n.check(e.OnFull != Reject, "the policy of a member can't be Reject")
	if len(n.errs) > 0 {
		return f, nil, fmt.Errorf("flow: hub: %s", strings.Join(n.errs, "; "))
	}
	m := &hubMember[T]{hub: h, node: n, edge: e}
	if err := h.admit(&m.edge); err != nil {
		return f, nil, err
	}
	m.queue = m.newQueue()
	if m.edge.canDrop() {
		h.loses(m, cmp.Or(m.edge.Name, "member"))
	}
	if !h.hub.Attach(m.queue, m.fail) {
		m.leave()
		return f, nil, ErrClosed
	}
	return Flow[T]{&edged[T]{node: n, spec: e, up: m}}, m.leave, nil
}

// admit takes a place.
func (h *BroadcastHub[T]) admit(e *Edge[T]) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.count >= h.members:
		return fmt.Errorf("%w: it has %d members", ErrHubFull, h.count)
	case e.Capacity > h.capacity-h.held:
		return fmt.Errorf("%w: its members hold %d of %d, and %d more are asked for", ErrHubFull, h.held, h.capacity, e.Capacity)
	case h.effect != "" && e.canDrop():
		return errors.New("flow: hub: " + effectLost("the edge", h.effect))
	case h.claims && e.unsaid():
		return errors.New("flow: hub: the edge can drop messages: " + unsaidDrop)
	}
	h.account(e, 1)
	return nil
}

// account adds, or takes away, a member. It is called with the lock.
func (h *BroadcastHub[T]) account(e *Edge[T], sign int) {
	h.count += sign
	h.held += sign * e.Capacity
	if e.unsaid() {
		h.unsaid += sign
	}
}

// unsaid reports whether the edge drops items and does not say how their messages end.
func (e *Edge[T]) unsaid() bool { return e.canDrop() && e.SettleDropped == nil }

// hubMember is the place of a member: what stands upstream of its edge.
type hubMember[T any] struct {
	hub    *BroadcastHub[T]
	node   *node
	edge   Edge[T]
	queue  *queue.Queue[T]
	gone   atomic.Bool
	failed atomic.Pointer[func(error)] // the member's run's, for what is wrong with its edge
}

func (m *hubMember[T]) newQueue() *queue.Queue[T] {
	name := m.edge.Name
	if name == "" {
		name = "member"
	}
	cfg := m.edge.config(name, engine.Stream{Tagged: true}, m.fail)
	cfg.Left = func(cause error) stage.Outcome {
		if cause != queue.ErrLeft && m.edge.SettleDropped != nil {
			return m.edge.SettleDropped.outcome()
		}
		return engine.LeftEarly(cause)
	}
	return queue.New(cfg)
}

// fail stops the member's run.
func (m *hubMember[T]) fail(err error) {
	if stop := m.failed.Load(); stop != nil {
		(*stop)(err)
	}
}

// leave frees the place. What waits is done, unless the run has ended it otherwise.
func (m *hubMember[T]) leave() {
	if !m.gone.CompareAndSwap(false, true) {
		return
	}
	m.queue.Abort(queue.ErrLeft)
	m.hub.hub.Detach(m.queue)
	m.hub.mu.Lock()
	defer m.hub.mu.Unlock()
	delete(m.hub.losing, m)
	m.hub.account(&m.edge, -1)
}

// Close implements io.Closer: the run has ended.
func (m *hubMember[T]) Close() error {
	m.leave()
	return nil
}

func (m *hubMember[T]) about() *node { return m.node }

// reader is never called: the edge asks for the link.
func (m *hubMember[T]) reader(b *build, w *engine.Worker) engine.Input[T] {
	return engine.ReadEdge(w, m.link(b, edgeSpec[T]{}))
}

func (m *hubMember[T]) link(b *build, _ edgeSpec[T]) *engine.Link[T] {
	m.hub.mu.Lock()
	s := engine.Stream{Tagged: true, Claims: m.hub.claims, Branch: true, Effect: m.hub.effect}
	m.hub.mu.Unlock()
	s.Loses = func(edge string) { m.hub.loses(m, edge) }
	if !b.live {
		return engine.NewLink(b.run, m.newQueue(), m.node, s)
	}
	stop := b.run.Stop
	m.failed.Store(&stop)
	b.run.OnDrain(func() { m.hub.hub.Detach(m.queue) })
	b.run.Register(engine.SourcePart, b.name(m.node), m)
	m.queue.OnLeft(m.leave)
	return engine.NewLink(b.run, m.queue, m.node, s)
}
