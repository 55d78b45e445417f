package flow

import (
	"cmp"
	"fmt"

	"github.com/weir-go/weir/internal/engine"
)

// LoopForm says what bounds a [Flow.Loop], so that it can't stand still: [Gated] or [Lossy].
type LoopForm interface{ form() loopForm }

// loopForm is what a form comes to.
type loopForm struct {
	call string // as it was written
	k    int    // how many items may be inside for another one to be let in
	errs []string

	back bool // the form says what the feedback edge is like
	edge func(e *feedbackEdge)
}

// feedbackEdge is what a form may say about the edge on which items go round.
type feedbackEdge struct {
	settings
	capacity int
	onFull   Policy
}

// Gate is the form of a gated loop, which [Gated] makes.
type Gate struct {
	k, limit int
	counts   bool
	drop     []SettleOption
}

// Gated bounds a loop by a gate: new items are let in while fewer than k are inside; k is at least 1. An item is inside until all
// that was made of it has left the loop, or has ended in it. Its feedback edge has k places, so that those that go round
// always find room, as long as the body makes at most one item of one that goes round.
func Gated(k int) Gate { return Gate{k: k} }

// Children is for a body that may make many items of one: a crawler. Each of those that go round counts, and none is let in while there are
// k or more. Their number is not bounded by the gate, which can't make room by waiting, so there must be a limit for how
// many wait to go round, and something that happens then: a *[LoopFullError] stops the run, or, with [SettleDropped],
// those that find no room are dropped.
func (g Gate) Children(limit int, onFull ...SettleOption) Gate {
	g.limit, g.counts, g.drop = limit, true, onFull
	return g
}

// form implements [LoopForm].
func (g Gate) form() loopForm {
	f := loopForm{call: fmt.Sprintf("Gated(%d)", g.k), k: g.k, back: g.counts, edge: func(e *feedbackEdge) {
		e.capacity, e.onFull = min(max(g.k, 1), maxCapacity), Block
		if !g.counts {
			return
		}
		e.capacity, e.onFull = min(max(g.limit, 1), maxCapacity), Reject
		for _, o := range g.drop {
			e.onFull = DropNewest
			o.on(&e.settings)
		}
	}}
	if g.k < 1 || g.k > maxCapacity {
		f.errs = append(f.errs, argument("Gated: k", "1 to 2147483647", g.k)+": nothing would bound what goes round; "+legalForms)
		f.k = 1
	}
	if g.counts && (g.limit < 1 || g.limit > maxCapacity) {
		f.errs = append(f.errs, argument("Children: limit", "1 to 2147483647", g.limit))
	}
	return f
}

// Lossy bounds a loop by a feedback edge that drops: of capacity places, with the policy [DropNewest] or [DropOldest]. New items
// are let in whenever there is room in front of the body. Behind a source with claims [SettleDropped] must say how a
// dropped one ends, here or at the source.
func Lossy(capacity int, onFull Policy, opts ...BufferOption) LoopForm {
	return lossy{capacity, onFull, opts}
}

type lossy struct {
	capacity int
	onFull   Policy
	opts     []BufferOption
}

// form implements [LoopForm].
func (l lossy) form() loopForm {
	f := loopForm{call: "Lossy", k: engine.Unlimited, back: true, edge: func(e *feedbackEdge) {
		each(&e.settings, l.opts, BufferOption.buffer)
		e.capacity, e.onFull = l.capacity, l.onFull
	}}
	if l.onFull != DropNewest && l.onFull != DropOldest {
		f.errs = append(f.errs, argument("Lossy: policy", "DropNewest or DropOldest", l.onFull))
	}
	return f
}

// LoopFullError stops a run in which an item of a loop could not go round, because as many wait for that as the loop's limit says.
type LoopFullError = engine.LoopFullError

// Loop hands what comes back from the end of the body to its start: body gets a flow of what comes from upstream and of what goes
// round, and returns what leaves the loop and what goes round again. Both are made of what it got. A Split, a Partition or a
// Broadcast in it makes two of one; a Filter, or a decision that skips, lets items end inside.
//
//	Shape:        T → U; two goroutines in front of the body, and one behind again; an edge in front of the body and the
//	              feedback edge behind again. A Buffer or Edge written at the end of again is the feedback edge; without
//	              one the form brings it.
//	Emits:        what leaves the body, as it comes. Order is kept among new items, and among those that go round.
//	Backpressure: new items wait at the gate while the loop is full. The body waits for downstream, and what goes round
//	              for the body; never for new items.
//	Ends:         when upstream has ended and nothing is inside any more: that is the end of what the body gets. So a drain
//	              finishes what is inside, which may take as long as items go round. When nobody wants what leaves, the loop
//	              ends at once and gives back what is inside.
//	Errors:       none of its own, but *[LoopFullError] at the limit of [Gate.Children]. A loop that could stand still, or
//	              never end, is a build error (docs/deadlock.md): no form, a body that may make many items of one without
//	              Children, a feedback edge that is too small, a Batch without a limit in time, items from elsewhere that go
//	              round, and one in which all go round for ever. So are a nil body, and one whose results are not made of
//	              what it got.
//	Claims:       travel round with the item, and settle once all that was made of it has left the pipeline. What is dropped
//	              on the way settles as its edge says.
//	Cost:         three goroutines and two edges; inside items have tags, also those of a plain stream; no allocation per
//	              item.
func (f Flow[T]) Loop[U any](form LoopForm, body func(in Flow[T]) (out Flow[U], again Flow[T]), opts ...StepOption) Flow[U] {
	var s settings
	each(&s, opts, StepOption.step)
	up := f.node()
	l := &loop{entry: newNode("loop", &s, up.about())}
	l.entry.loop = l
	if form == nil {
		l.formless = true
		form = Gated(1)
	}
	l.form = form.form()
	l.entry.errs = append(l.entry.errs, l.form.errs...)
	in := Flow[T]{&pushed[T]{node: l.entry, write: func(b *build, e edgeSpec[T]) *engine.Link[T] {
		return enterLoop(b, l, up, e)
	}}}
	if body == nil {
		l.entry.wrong("body must not be nil")
		l.entry.loop = nil
		return mistake[U](l.entry)
	}
	out, again := body(in)
	back := l.feedback(again.node())
	left := out.node()
	l.exit = l.part("loop.out", left.about())
	l.exit.sides = []*leaf{{node: l.back, build: func(b *build) { returnIn(b, l, back) }}}
	return Flow[U]{&fused[U]{node: l.exit, read: func(b *build, w *engine.Worker) engine.Input[U] {
		in := left.reader(b, w)
		made, ok := b.fans[l.entry].(madeLoop)
		if !ok {
			return in // what leaves is not made of what comes in: a finding
		}
		l.exit.sides[0].build(b)
		return engine.Exit(engine.NewFused(w, made.stage()), in, made.gate())
	}}}
}

// mistake is a flow behind a node that can't be built.
func mistake[U any](n *node) Flow[U] {
	return Flow[U]{&fused[U]{node: n, read: func(*build, *engine.Worker) engine.Input[U] { return engine.Input[U]{} }}}
}

// loop is what a blueprint knows of a loop.
type loop struct {
	entry, exit, back *node // where items come in and go out, and what puts them into the feedback edge
	edge              *node // the feedback edge
	form              loopForm
	formless          bool
	primed            bool
}

// part returns another node of the loop. It has the loop's name.
func (l *loop) part(op string, up *node) *node {
	n := newNode(op, &settings{}, up)
	n.of = l.entry
	return n
}

// feedback returns again with the feedback edge at its end: the one that the user wrote, unless the form says what it is like.
func (l *loop) feedback[T any](again upstream[T]) *edged[T] {
	e, own := again.(*edged[T])
	if !own || l.form.back {
		var say feedbackEdge
		l.form.edge(&say)
		n := newEdge("buffer", Flow[T]{again}, Edge[T]{Capacity: say.capacity, OnFull: say.onFull, SettleDropped: say.dropped}, &say.settings)
		e = n.up.(*edged[T])
		e.of = l.entry
	}
	l.edge = e.node
	l.back = l.part("loop.again", e.node)
	return e
}

// madeLoop is a loop in one build.
type madeLoop interface {
	stage() *engine.Stage
	gate() *engine.Gate
}

type enteredLoop[T any] struct {
	at   *engine.Stage
	g    *engine.Gate
	link *engine.Link[T]
}

func (m *enteredLoop[T]) stage() *engine.Stage { return m.at }
func (m *enteredLoop[T]) gate() *engine.Gate   { return m.g }

// enterLoop builds what is upstream, and the way in. e is the edge in front of the body.
func enterLoop[T any](b *build, l *loop, up upstream[T], e edgeSpec[T]) *engine.Link[T] {
	w := b.run.NewWorker()
	in := up.reader(b, w)
	at := engine.NewFused(w, b.stage(l.entry))
	s := in.Stream
	s.Tagged = true
	s.Effect = cmp.Or(s.Effect, l.effect(b)) // what comes round has been there
	link := e.open(b, s)
	g := engine.NewGate(l.form.k)
	engine.Admit(at, in, link, g)
	b.fans[l.entry] = &enteredLoop[T]{at: at.Stage, g: g, link: link}
	return link
}

// returnIn builds the feedback edge and the way back.
func returnIn[T any](b *build, l *loop, e *edged[T]) {
	made, ok := b.fans[l.entry].(*enteredLoop[T])
	if !ok {
		return
	}
	w := b.run.NewWorker()
	in := e.up.reader(b, w)
	s := in.Stream
	s.Tagged = true
	spec := edgeSpec[T]{Edge: e.spec, name: b.name(e.node), node: e.node}
	again := spec.open(b, s)
	engine.Return(w, b.run.NewWorker(), made.at, in, again, made.link, made.g)
	if !b.trusting {
		b.looped(l, made.g)
	}
}
