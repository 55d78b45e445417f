package flow

import (
	"github.com/weir-go/weir/internal/engine"
)

// Balance spreads the values over n flows: each goes to whichever branch asks for it first, so a fast branch gets more than a
// slow one. All n must be consumed in the same pipeline.
//
//	Shape:        T → n times T, order kept in each, none between them; one edge in front, which the branches share, and
//	              no goroutine of its own.
//	Emits:        at most 16 values at a time to one branch, and at most its share of what waits.
//	Backpressure: no value waits for a certain branch, and none holds back another: upstream waits when the edge is
//	              full, which means that all branches are busy. An edge inside a branch takes values ahead, and
//	              those wait for that branch.
//	Ends:         with upstream. When a branch leaves early, behind a Take for example, the others get what it would have
//	              got; when the last one leaves, the source is stopped.
//	Errors:       none of its own. An error in any branch stops the run. n < 1 and n > 65536 are build errors, and so is
//	              a branch that nobody consumes.
//	Claims:       travel along; what a branch holds when it leaves early is given back, because no other branch has it.
//	Cost:         one edge; no allocation per item.
func (f Flow[T]) Balance(n int, opts ...StepOption) []Flow[T] {
	nd := stepNode("balance", f, opts)
	nd.check(n >= 1 && n <= maxWorkers, argument("n", "1 to 65536", n))
	up := f.node()
	start := func(b *build) *balanced[T] {
		if made, ok := b.fans[nd].(*balanced[T]); ok {
			return made
		}
		made := &balanced[T]{link: front(b, up, nd), stage: b.stage(nd)}
		b.fans[nd] = made
		return made
	}
	n = clampWorkers(n)
	branches := make([]Flow[T], n)
	for i, branch := range branchNodes(nd, n) {
		branches[i] = Flow[T]{&fused[T]{node: branch, read: func(b *build, w *engine.Worker) engine.Input[T] {
			made := start(b)
			in := engine.ShareEdge(w, made.link)
			return engine.Counted(engine.NewFused(w, made.stage), in)
		}}}
	}
	return branches
}

// balanced is the state of a Balance in one build.
type balanced[T any] struct {
	link  *engine.Link[T]
	stage *engine.Stage
}
