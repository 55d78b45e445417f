package flow

import (
	"slices"

	"github.com/weir-go/weir/internal/engine"
)

// PrimedLoop pairs each value with one that goes round: body gets the pairs, and hands on, again, one value for each, which the
// next item is paired with. So there are as many of them as there were initial ones, and no more items inside: they are
// connections, buffers, permits, or a state that the next item needs. See [Flow.Loop] for items that go round themselves.
//
//	Shape:        T → U; T is read through an edge, in the goroutine of the body; one goroutine behind again, and the
//	              feedback edge, which has room for the initial values. A Buffer or Edge written at the end of again is
//	              that edge.
//	Emits:        what leaves the body, in the order in which it does.
//	Backpressure: an item waits for a value that has come round. Nothing that goes round ever waits.
//	Ends:         with upstream, behind what is inside. The values that go round are dropped then. When nobody wants what
//	              leaves, the loop ends at once and gives back what is inside.
//	Errors:       none of its own. A loop that would end up without values is a build error (docs/deadlock.md): no initial
//	              ones, and anything on the way from in to again that may hand on more or fewer than one for each. So are a
//	              feedback edge without room for them, a nil body, and one whose results are not made of what it got.
//	Claims:       travel with the pairs; a value that goes round has none.
//	Ownership:    each run begins with the same initial values. What pointers among them point to is shared by runs.
//	Cost:         a goroutine and two edges; no allocation per item.
func (f Flow[T]) PrimedLoop[S, U any, P interface{ Pair[T, S] }](initial []S, body func(in Flow[P]) (out Flow[U], again Flow[S]), opts ...StepOption) Flow[U] {
	var s settings
	each(&s, opts, StepOption.step)
	up := f.node()
	l := &loop{entry: newNode("primedloop", &s, up.about()), primed: true}
	l.entry.loop = l
	l.form = loopForm{k: len(initial), edge: func(e *feedbackEdge) { e.capacity = max(len(initial), 1) }}
	if body == nil {
		l.entry.wrong("body must not be nil")
		l.entry.loop = nil
		return mistake[U](l.entry)
	}
	p := &primedLoop[T, S, P]{loop: l, up: up, initial: slices.Clone(initial)}
	out, again := body(Flow[P]{&fused[P]{node: l.entry, read: p.enter}})
	p.back = l.feedback(again.node())
	left := out.node()
	l.exit = l.part("loop.out", left.about())
	l.exit.sides = []*leaf{{node: l.back, build: p.turn}}
	return Flow[U]{&fused[U]{node: l.exit, read: func(b *build, w *engine.Worker) engine.Input[U] {
		in := left.reader(b, w)
		made, ok := b.fans[l.entry].(*madePrimed[S])
		if !ok {
			return in // what leaves is not made of what comes in: a finding
		}
		p.turn(b)
		return engine.Exit(engine.NewFused(w, made.stage), in, made.gate)
	}}}
}

// primedLoop is the blueprint of one.
type primedLoop[T, S any, P interface{ Pair[T, S] }] struct {
	*loop
	up      upstream[T]
	back    *edged[S]
	initial []S
}

// madePrimed is a primed loop in one build.
type madePrimed[S any] struct {
	stage *engine.Stage
	gate  *engine.Gate
	again *engine.Link[S]
}

// enter builds what is upstream, the feedback edge, and the join of the two.
func (p *primedLoop[T, S, P]) enter(b *build, w *engine.Worker) engine.Input[P] {
	name := b.name(p.entry)
	left := newPort(b, w, p.up, name+".in")
	spec := edgeSpec[S]{Edge: p.back.spec, name: b.name(p.back.node), node: p.back.node}
	again := spec.open(b, engine.Stream{})
	if b.live {
		for _, v := range p.initial {
			_ = again.Offer(v, nil) // there is room, or it is a finding
		}
	}
	join := &zipStep[T, S, P]{fn: func(a T, b S) P { return P(Pair[T, S]{a, b}) }}
	join.left, join.right = left, engine.NewPort(w, again)
	join.Fused = engine.NewFused(w, b.stage(p.entry))
	g := engine.NewGate(engine.Unlimited)
	b.fans[p.entry] = &madePrimed[S]{stage: join.Stage, gate: g, again: again}
	return engine.Enclose(w, engine.Paced(w, join, left.Stream), again, g)
}

// turn builds the way back.
func (p *primedLoop[T, S, P]) turn(b *build) {
	made, ok := b.fans[p.entry].(*madePrimed[S])
	if !ok {
		return
	}
	w := b.run.NewWorker()
	engine.Pump(w, engine.Strip(w, p.back.up.reader(b, w)), made.again, true)
}
