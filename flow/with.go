package flow

import "github.com/weir-go/weir/internal/engine"

// With runs a pipeline beside the chain, in the same run as whatever the chain becomes part of. It is for flows that depend on one
// another outside of the graph: one half writes what the other half reads, from a stream of a broker for example.
//
//	Shape:        T → T; nothing is added to the chain.
//	Emits:        what upstream does.
//	Backpressure: as without it. The two share nothing in the graph, so neither waits for the other.
//	Ends:         with upstream. The run ends when both have.
//	Errors:       none of its own. An error in one of the two stops the other. The pipeline must not be part of
//	              the run in another place as well: that is a build error.
//	Claims:       travel along.
func (f Flow[T]) With(beside Pipeline) Flow[T] {
	up := f.node()
	n := newNode("with", &settings{}, up.about())
	n.runsBeside(beside)
	n.check(len(beside.leaves) > 0, "the pipeline has no sink")
	return Flow[T]{&accompanied[T]{node: n, up: up}}
}

// accompanied is upstream, with pipelines beside it.
type accompanied[T any] struct {
	*node
	up upstream[T]
}

func (a *accompanied[T]) about() *node { return a.node }

func (a *accompanied[T]) reader(b *build, w *engine.Worker) engine.Input[T] {
	a.company(b)
	return a.up.reader(b, w)
}

func (a *accompanied[T]) link(b *build, e edgeSpec[T]) *engine.Link[T] {
	a.company(b)
	return a.up.link(b, e)
}

func (a *accompanied[T]) company(b *build) {
	for _, l := range a.sides {
		l.build(b)
	}
}
