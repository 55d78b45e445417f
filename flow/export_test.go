package flow

import (
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// Trusting returns a pipeline that is built without a look for diamonds, loops and sources at their limit that stand still, so that a test can see whether they do.
func Trusting(p Pipeline) Pipeline {
	return Pipeline{p.leaves, &planned{trusting: true}, p.watch}
}

// Ring returns a pipeline of two stages called "first" and "second", each of which reads what the other one emits. The edges are
// called "there" and "back".
func Ring(capacity int, first, second stage.Stage[int, int]) Pipeline {
	n := newNode("ring", &settings{})
	n.kind = engine.Sink
	return newPipeline(&leaf{n, func(b *build) {
		edge := func(name string) *engine.Link[int] {
			e := implicit[int](name)
			e.Capacity = capacity
			return e.open(b, engine.Stream{})
		}
		there, back := edge("there"), edge("back")
		via := func(name string, in, out *engine.Link[int], user stage.Stage[int, int]) {
			engine.Custom(b.run.NewWorker(), b.run.NewStage(engine.Step, "via", name, n), in, out, user)
		}
		via("first", back, there, first)
		via("second", there, back, second)
	}})
}

// ModelKnots runs the model of a pipeline, whose diamonds are all that there is to it, until it stands still, and returns the circles
// in which its goroutines wait then: for each hop "to write" or "to read" and the edge. It is no reference for goroutines that
// wait for more than one other, but for the workers of an operator, which wait at the same edges.
func ModelKnots(p Pipeline, roomy bool) (knots [][]string) {
	moves := maxMoves
	for _, c := range newPlanner(p.leaves, true).newDiamonds().newModel(nil, &moves, roomy).components() {
		if c.stuck() {
			knots = append(knots, c.circles()...)
		}
	}
	return knots
}

// circles follows from each goroutine of a component that is stuck whom it waits for.
func (c *component) circles() (all [][]string) {
	seen := map[*modelWorker]int{} // in which round
	for round, w := range c.workers {
		for ; seen[w] == 0; w = w.waitsFor() {
			seen[w] = round + 1
		}
		if seen[w] != round+1 {
			continue // it leads to one that is known
		}
		var circle []string
		for at := w; len(circle) == 0 || at != w; at = at.waitsFor() {
			circle = append(circle, at.wait())
		}
		all = append(all, circle)
	}
	return all
}

func (w *modelWorker) waitsFor() *modelWorker {
	if w.full != nil {
		return w.full.to
	}
	return w.empty.from
}

func (w *modelWorker) wait() string {
	if w.full != nil {
		return "to write " + w.full.name
	}
	return "to read " + w.empty.name
}
