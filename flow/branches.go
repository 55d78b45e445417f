package flow

import (
	"github.com/weir-go/weir/internal/engine"
)

// brancher is the tail of an operator with several outputs.
type brancher[T any] interface {
	Stream() engine.Stream
	Attach(i int, l *engine.Link[T])
}

// newBranches returns the n outputs of nd, each with an edge of its own. tail makes what feeds them, once in a build.
func newBranches[T any](nd *node, n int, tail func(b *build) brancher[T]) []Flow[T] {
	start := func(b *build) brancher[T] {
		if made, ok := b.fans[nd].(brancher[T]); ok {
			return made
		}
		made := tail(b)
		b.fans[nd] = made
		return made
	}
	branches := make([]Flow[T], n)
	for i, branch := range branchNodes(nd, n) {
		branches[i] = Flow[T]{&pushed[T]{node: branch, write: func(b *build, e edgeSpec[T]) *engine.Link[T] {
			made := start(b)
			l := e.open(b, made.Stream())
			made.Attach(i, l)
			return l
		}}}
	}
	return branches
}

// branchNodes returns the nodes of the n outputs of nd.
func branchNodes(nd *node, n int) []*node {
	nd.branches = n
	nodes := make([]*node, n)
	for i := range nodes {
		nodes[i] = newNode("branch", &settings{}, nd)
		nodes[i].branch = i + 1
	}
	return nodes
}

// newRoute returns n flows, each item of f in the one that choose says. choose is made anew for each run.
func newRoute[T any](f Flow[T], nd *node, n int, choose func() func(T) int) []Flow[T] {
	up := f.node()
	return newBranches(nd, n, func(b *build) brancher[T] {
		w := b.run.NewWorker()
		in := up.reader(b, w)
		return engine.NewRouter(w, b.stage(nd), in, n, choose())
	})
}
