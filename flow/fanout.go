package flow

import (
	"github.com/weir-go/weir/internal/engine"
)

// Broadcast gives every item to each of n flows, which must all be consumed in the same pipeline. Each branch has an edge of
// its own, so one may drop while another blocks: a Buffer or Edge written at the start of a branch is that edge.
//
//	Shape:        T → n times T, order kept; one goroutine, an edge for each branch.
//	Backpressure: pulls what fits into every blocking branch: the slowest of these sets the pace.
//	Ends:         with upstream. A branch that leaves early, behind a Take for example, is done with what it
//	              holds and all that would follow, and the others go on; when the last one leaves, the source is
//	              stopped.
//	Errors:       none of its own. An error in any branch stops the whole run. n < 1 and n > 65536 are
//	              build errors, and so is a branch that nobody consumes.
//	Claims:       an item settles when it has left every branch.
func (f Flow[T]) Broadcast(n int, opts ...StepOption) []Flow[T] {
	nd := stepNode("broadcast", f, opts)
	nd.check(n >= 1 && n <= maxWorkers, argument("n", "1 to 65536", n))
	return newFan(f, nd, clampWorkers(n))
}

// Tee gives every item to a side pipeline as well: side gets the copy and returns the pipeline that consumes it. The chain goes
// on with the result. The side pipeline runs with whatever the chain becomes part of.
//
//	Shape:        T → T, and T for the side; order kept; one goroutine, an edge for each of the two.
//	Backpressure: as for Broadcast with two branches.
//	Ends:         as for Broadcast with two branches.
//	Errors:       none of its own. An error in the side pipeline stops the run. A nil side is a build error, and
//	              so is a side pipeline that does not consume the copy.
//	Claims:       as for Broadcast with two branches.
func (f Flow[T]) Tee(side func(Flow[T]) Pipeline, opts ...StepOption) Flow[T] {
	nd := stepNode("tee", f, opts)
	branches := newFan(f, nd, 2)
	if side == nil {
		nd.wrong("side must not be nil")
		nd.branches = 1 // of which more need not be said
		return branches[0]
	}
	nd.runsBeside(side(branches[1]))
	return branches[0]
}

// fanned is the state of a fan-out in one build.
type fanned[T any] struct {
	tail *engine.Fan[T]
}

func newFan[T any](f Flow[T], nd *node, n int) []Flow[T] {
	up := f.node()
	nd.branches = n
	start := func(b *build) *fanned[T] {
		if fan, ok := b.fans[nd].(*fanned[T]); ok {
			return fan
		}
		w := b.run.NewWorker()
		in := up.reader(b, w)
		fan := &fanned[T]{tail: engine.NewFan(w, b.stage(nd), in, n)}
		b.fans[nd] = fan
		for _, side := range nd.sides {
			side.build(b)
		}
		return fan
	}
	branches := make([]Flow[T], n)
	for i := range branches {
		branch := newNode("branch", &settings{}, nd)
		branch.branch = i + 1
		branches[i] = Flow[T]{&pushed[T]{node: branch, write: func(b *build, e edgeSpec[T]) *engine.Link[T] {
			fan := start(b)
			l := e.open(b, fan.tail.Stream())
			fan.tail.Attach(i, l)
			return l
		}}}
	}
	return branches
}
