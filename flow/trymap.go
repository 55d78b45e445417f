package flow

import (
	"context"

	"github.com/weir-go/weir/internal/engine"
)

// TryMap hands on fn of each value. fn may fail, and may wait.
//
//	Shape:  T → U, one for one except for failures, order kept; fused: no goroutine, no queue.
//	Emits:  results at once where fn is slow, with those of their chunk where it is fast.
//	Errors: an error, a panic or a Goexit in fn is handled as OnError says, and stops the run by default. fn's
//	        context ends with the run, when nobody wants the result any more, at the item's deadline, and at
//	        Timeout; it carries the item's metadata. A nil fn is a build error.
//	Cost:   a call of fn; no allocation per item, one where the item has metadata.
func (f Flow[T]) TryMap[U any](fn func(context.Context, T) (U, error), opts ...CallOption) Flow[U] {
	s := callSettings(opts)
	up := f.node()
	n := newNode("trymap", s, up.about())
	n.check(fn != nil, "function must not be nil")
	h := n.handling(s)
	return Flow[U]{&fused[U]{node: n, read: func(b *build, w *engine.Worker) engine.Input[U] {
		in := up.reader(b, w)
		b.decided(n, h, in.Stream)
		out := engine.Try(engine.NewCall(w, b.stage(n), fn, h), in)
		out.Stream = s.behind(b, n, out.Stream)
		return out
	}}}
}
