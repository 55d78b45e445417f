package flow

// Split hands each value on to one of two flows, which must both be consumed in the same pipeline: yes for the values for which
// pred is true, no for the others. Each has an edge of its own: a Buffer or Edge written at its start is that edge.
//
//	Shape:        T → T twice, order kept in each; one goroutine, an edge for each branch, holds one item beside them.
//	Backpressure: pulls what fits into either branch. Where one is full it pulls a single value more: one for the
//	              other branch goes there, one for the full branch waits, and all values behind it wait too. So a
//	              slow branch slows the other one down once its edge is full; give it a larger Buffer, or one
//	              that drops.
//	Ends:         with upstream. A branch that leaves early, behind a Take for example, is done with what it holds
//	              and all that would follow, and the other goes on; when both have left, the source is stopped.
//	Errors:       pred can't fail. A panic in it stops the run, and so does an error in either branch. A nil pred is
//	              a build error, and so is a branch that nobody consumes.
//	Claims:       travel along; in a branch that has left they are done.
//	Cost:         a call of pred and a copy; no allocation per item.
func (f Flow[T]) Split(pred func(T) bool, opts ...StepOption) (yes, no Flow[T]) {
	nd := stepNode("split", f, opts)
	nd.check(pred != nil, "function must not be nil")
	branches := newRoute(f, nd, 2, func() func(T) int {
		return func(v T) int {
			if pred(v) {
				return 0
			}
			return 1
		}
	})
	return branches[0], branches[1]
}
