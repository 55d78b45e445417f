package flow

import (
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// FromPush is a flow of what p delivers, as far as it is asked to: the demand of the pipeline becomes requests, in advance for
// at most window values, and so often that at least half of the window is asked for or waiting. 0 is 64. Each run subscribes
// when it first wants a value.
//
// For callbacks that can't be asked for less there is the Inlet.
//
//	Ends:   when p completes. A drain cancels the subscription, and the stream ends behind what has been delivered; a
//	        flow that nobody wants any more cancels it as well, and then what waits is forgotten.
//	Errors: one of Subscribe and of Fail stops the run, and so does a delivery of more values than were requested, and a
//	        panic in p within its own calls. A nil p and a window < 0 or > 2147483647 are build errors.
func FromPush[T any](p stage.Publisher[T], window int, opts ...SourceOption) Flow[T] {
	var s settings
	each(&s, opts, SourceOption.source)
	n := newNode("frompush", &s)
	n.kind = engine.Source
	n.check(p != nil, "publisher must not be nil")
	n.check(window >= 0 && window <= maxCapacity, argument("window", "0 to 2147483647", window))
	return Flow[T]{&fused[T]{node: n, read: func(b *build, w *engine.Worker) engine.Input[T] {
		src := stage.Subscribe(p, window)
		in := engine.ReadPushed(w, b.stage(n), src, src.Cancel)
		if s.dropped != nil {
			o := s.dropped.outcome()
			in.Dropped = &o
		}
		return in
	}}}
}
