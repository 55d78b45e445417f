package flow

import (
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// ToSubscriber delivers values to a subscriber as far as it asks for them, for protocols with credits. The subscription says how
// many more are wanted; it may be used before the pipeline runs, from any goroutine, and inside Deliver.
//
//	Shape:        T → ; in the goroutine of what is upstream.
//	Emits:        what is there, at most what was requested and not yet delivered, up to 256 values a call. Requests add
//	              up; from math.MaxInt64 on there is no limit, and none is used up.
//	Backpressure: pulls what was requested, and one value ahead of it, so that the end needs no request.
//	Ends:         with upstream: Complete is called behind the last value. Where the run fails or is stopped, Fail is
//	              called with the reason. When the subscriber cancels, or takes fewer values than it was given, its
//	              upstream is stopped, and it hears no more.
//	Errors:       a request of less than 1 stops the run, and so does a panic in the subscriber. A nil subscriber is a
//	              build error, and so is a second run.
//	Claims:       an item settles as done when it was taken; what was not is given back.
//	Concurrency:  the subscriber's methods are called one after another. Deliver must not wait: it has asked.
//	Cost:         a lock for each call of Deliver; no allocation per item.
func (f Flow[T]) ToSubscriber(to stage.Subscriber[T], opts ...StepOption) (Pipeline, stage.Subscription) {
	var s settings
	each(&s, opts, StepOption.step)
	up := f.node()
	n := newNode("tosubscriber", &s, up.about())
	n.kind = engine.Sink
	n.check(to != nil, "subscriber must not be nil")
	n.serveOnce()
	credit := engine.NewCredit()
	return leafOf(n, func(b *build) {
		w := b.run.NewWorker()
		in := up.reader(b, w)
		engine.Deliver(w, b.stage(n), in, to, credit)
	}), credit
}
