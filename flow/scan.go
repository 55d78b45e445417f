package flow

import "github.com/weir-go/weir/internal/engine"

// Scan hands on, for each value, what fn makes of the last result and the value, beginning with init: a running total, a state
// machine, a moving average. [Flow.Reduce] gives the last result only.
//
//	Shape:       T → U, one for one, order kept; fused: no goroutine, no queue; holds one U.
//	Emits:       the result at once, as Map does. init itself is not handed on.
//	Errors:      fn can't fail. A panic in it stops the run. A nil fn is a build error.
//	Ownership:   the last result stays with the operator too, for the next call: who changes what a result
//	             points to changes it for fn.
//	Claims:      travel along: a result carries the claim and the metadata of its own value alone.
//	Concurrency: each run begins with init. init is copied as by an assignment: a map, a slice or a pointer
//	             would be shared by all runs, so that fn must not change what it points to.
//	Cost:        a call of fn; no allocation per item.
func (f Flow[T]) Scan[U any](init U, fn func(U, T) U, opts ...StepOption) Flow[U] {
	n := stepNode("scan", f, opts)
	n.check(fn != nil, "function must not be nil")
	return newStep(f, n, func(at engine.Fused, in engine.Input[T]) engine.Input[U] {
		last := init
		next := func(v T) U {
			last = fn(last, v)
			return last
		}
		return engine.Input[U]{Reader: &mapStep[T, U]{Fused: at, in: in, fn: next}, Stream: in.Stream}
	})
}
