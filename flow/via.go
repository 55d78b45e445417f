package flow

import (
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// Via hands the items to a stage with a loop of its own, and goes on with what it emits: the way out where no operator fits.
//
//	Shape:        T → U, as the stage likes; a goroutine of its own, an edge in front and one behind.
//	Backpressure: the stage's Emit waits for room, and so upstream waits for the stage.
//	Ends:         when the stage returns. Where it returns before the end of its input, upstream is stopped and
//	              what waits is given back.
//	Errors:       an error that the stage returns, a panic or a Goexit in it stop the run; ErrEnd is a clean
//	              return. A stage that returns while it keeps items fails. A nil stage is a build error.
//	Claims:       an item settles when the stage asks for the next one, and all that was emitted from it has
//	              settled.
//	Concurrency:  each run calls the stage's Run once; a stage with state serves one run at a time.
func (f Flow[T]) Via[U any](st stage.Stage[T, U], opts ...StepOption) Flow[U] {
	nd := stepNode("via", f, opts)
	nd.check(st != nil, "stage must not be nil")
	up := f.node()
	return Flow[U]{&pushed[U]{node: nd, write: func(b *build, e edgeSpec[U]) *engine.Link[U] {
		in := front(b, up, nd)
		out := e.open(b, in.Stream)
		engine.Custom(b.run.NewWorker(), b.stage(nd), in, out, st)
		return out
	}}}
}
