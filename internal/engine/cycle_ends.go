package engine

import (
	"errors"

	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// admission is the tail that lets items into a loop.
type admission[T any] struct {
	Fused
	in   Input[T]
	link *Link[T]
	gate *Gate
	buf  chunkBuffer[T]
}

// Admit makes the worker of at carry everything from in through the gate to l, the edge in front of the loop's body.
func Admit[T any](at Fused, in Input[T], l *Link[T], g *Gate) {
	a := &admission[T]{Fused: at, in: in, link: l, gate: g, buf: chunkBuffer[T]{tagged: true}}
	g.in, g.branch, at.W.gate, g.w = l, in.Branch, g, at.W
	at.W.run.spots = append(at.W.run.spots, g)
	g.workers = append(g.workers, at.W)
	l.Feed(at.W)
	at.W.closes = append(at.W.closes, g.noMore)
	at.W.Body(a.run, a.leave)
}

func (a *admission[T]) run() error {
	for {
		free, err := a.gate.room(a.W)
		if err != nil {
			return err
		}
		room, err := a.link.Demand(a.W.Out, free, false)
		if err != nil {
			return err
		}
		values, tags := a.buf.room(room)
		n, err := a.in.Pull(values, plain(tags, a.in.Tagged))
		if n > 0 {
			a.Stage.Count(n, 0)
			if perr := a.enter(values[:n], tags[:n]); perr != nil {
				return perr
			}
			a.buf.used(a.W, n)
		}
		if err != nil {
			return err
		}
	}
}

// enter lets items in, as many at a time as the gate does.
func (a *admission[T]) enter(values []T, tags []*Tag) error {
	for len(values) > 0 {
		n, err := a.gate.admit(a.W, len(values))
		if err != nil {
			a.W.giveBack(err, len(values), tags)
			Clear(values, tags)
			return err
		}
		for i, t := range tags[:n] {
			tags[i] = a.gate.cover(t)
		}
		if err := put(a.W, a.link, values[:n], tags[:n]); err != nil {
			a.W.giveBack(err, len(values)-n, tags[n:])
			Clear(values, tags)
			return err
		}
		values, tags = values[n:], tags[n:]
	}
	return nil
}

func (a *admission[T]) leave() {
	a.in.Leave()
	a.buf.abandon(a.W)
}

// returning is the tail that makes items go round.
type returning[T any] struct {
	w     *Worker
	in    Input[T]
	link  *Link[T]
	gate  *Gate
	loop  string
	buf   chunkBuffer[T]
	found []*Tag
}

// Return makes w carry everything from in to again, the feedback edge of the loop with that name, and back, another worker, carry
// it from there to in front of the body. The gate ends the edge.
func Return[T any](w, back *Worker, loop *Stage, in Input[T], again, front *Link[T], g *Gate) {
	r := &returning[T]{w: w, in: in, link: again, gate: g, loop: loop.Name, buf: chunkBuffer[T]{tagged: true}}
	g.again = again
	again.AddProducer()
	again.from = append(again.from, w)
	again.OnLeft(w.outputLeft)
	w.outputs.Add(1)
	w.outs = append(w.outs, openEnd{again})
	w.Body(r.run, r.leave)

	g.workers = append(g.workers, back)
	head := ReadEdge(back, again)
	NewFused(back, loop)
	Pump(back, head, front, false)
}

// openEnd is an edge that does not end with a worker that feeds it.
type openEnd struct{ Edge }

// CloseProducer implements [output].
func (openEnd) CloseProducer() {}

func (r *returning[T]) run() error {
	for {
		room, err := r.link.Demand(r.w.Out, maxChunk, true)
		if err != nil {
			return r.ended(err)
		}
		values, tags := r.buf.room(room)
		n, err := r.in.Pull(values, plain(tags, r.in.Tagged))
		if n > 0 {
			for i, t := range tags[:n] {
				tags[i] = r.gate.round(t, &r.found)
			}
			if perr := put(r.w, r.link, values[:n], tags[:n]); perr != nil {
				return r.ended(perr)
			}
			r.buf.used(r.w, n)
		}
		if err != nil {
			return err
		}
	}
}

// ended says why the feedback edge takes no more. Once it has ended nothing is inside that could have come round, and what was made
// without an item is not wanted.
func (r *returning[T]) ended(err error) error {
	if err == queue.ErrClosed { //nolint:errorlint // it comes from the queue itself
		return ErrLeft
	}
	if full, ok := errors.AsType[*queue.FullError](err); ok && full.Edge == r.link.Config().Name {
		return &stage.Error{Stage: r.loop, Err: &LoopFullError{Loop: r.loop, Limit: full.Capacity, Inside: r.gate.Inside(), Err: full}}
	}
	return err
}

func (r *returning[T]) leave() {
	r.in.Leave()
	r.buf.abandon(r.w)
}

// exit is the step behind which items are no longer in the loop.
type exit[T any] struct {
	Fused
	in    Input[T]
	gate  *Gate
	found []*Tag
}

// Exit returns what leaves the loop.
func Exit[T any](at Fused, in Input[T], g *Gate) Input[T] {
	g.exit = at.W
	in.Branch = g.branch
	return Input[T]{Reader: &exit[T]{Fused: at, in: in, gate: g}, Stream: in.Stream}
}

// Pull implements [Reader].
func (e *exit[T]) Pull(dst []T, tags []*Tag) (int, error) {
	n, err := e.in.Pull(dst, tags)
	for i, t := range Cut(tags, 0, min(n, len(tags))) {
		tags[i] = e.gate.uncover(t, &e.found)
	}
	e.Stage.Count(0, n)
	return n, err
}

// Leave implements [Reader].
func (e *exit[T]) Leave() {
	e.gate.Leave()
	e.in.Leave()
}

// Enclose returns what comes in through a loop whose number of items is bounded otherwise. w reads it, and again is the feedback edge.
func Enclose[T any](w *Worker, in Input[T], again feedback, g *Gate) Input[T] {
	g.branch, g.again = in.Branch, again
	g.workers = append(g.workers, w)
	return Input[T]{Reader: &enclosed[T]{Reader: in.Reader, gate: g}, Stream: in.Stream}
}

// enclosed covers the tags of what passes.
type enclosed[T any] struct {
	Reader[T]
	gate *Gate
}

// Pull implements [Reader].
func (e *enclosed[T]) Pull(dst []T, tags []*Tag) (int, error) {
	n, err := e.Reader.Pull(dst, tags)
	if tags != nil {
		e.gate.inside.Add(int64(n))
		for i, t := range tags[:n] {
			tags[i] = e.gate.cover(t)
		}
	}
	return n, err
}

// Strip returns what comes through in as plain values, whose items are done with that.
func Strip[T any](w *Worker, in Input[T]) Input[T] {
	if !in.Tagged {
		return in
	}
	return Input[T]{Reader: &stripped[T]{w: w, in: in}}
}

type stripped[T any] struct {
	w   *Worker
	in  Input[T]
	buf Buffer[T]
}

// Pull implements [Reader].
func (s *stripped[T]) Pull(dst []T, _ []*Tag) (int, error) {
	_, tags := s.buf.Room(len(dst), true)
	n, err := s.in.Pull(dst, tags)
	release(tags[:n], stage.Outcome{})
	return n, err
}

// Leave implements [Reader].
func (s *stripped[T]) Leave() {
	s.buf.abandon(s.w)
	s.in.Leave()
}
