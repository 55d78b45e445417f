package flow

import (
	"github.com/weir-go/weir/internal/engine"
)

// Merge is a flow of what all of fs give, as it comes.
//
//	Shape:        several T → T; the order of each input is kept, a chunk at most from one at a time; a
//	              goroutine for each input, one edge.
//	Backpressure: an input pulls first and then waits for room, one item at a time while the edge is full: none
//	              reserves room for an item that it does not have.
//	Ends:         when all inputs have ended.
//	Errors:       none of its own. An error of any input stops the run. No input at all is a build error.
func Merge[T any](fs ...Flow[T]) Flow[T] {
	ups := make([]upstream[T], len(fs))
	nodes := make([]*node, len(fs))
	for i, f := range fs {
		ups[i] = f.node()
		nodes[i] = ups[i].about()
	}
	nd := newNode("merge", &settings{}, nodes...)
	nd.check(len(fs) > 0, "there must be at least one flow")
	return Flow[T]{&pushed[T]{node: nd, write: func(b *build, e edgeSpec[T]) *engine.Link[T] {
		ws := make([]*engine.Worker, len(ups))
		ins := make([]engine.Input[T], len(ups))
		var s engine.Stream
		for i, up := range ups {
			ws[i] = b.run.NewWorker()
			ins[i] = up.reader(b, ws[i])
			if s = s.Or(ins[i].Stream); i == 0 {
				s = ins[0].Stream
			}
		}
		st := b.stage(nd)
		l := e.open(b, s)
		for i, w := range ws {
			at := engine.NewFused(w, st)
			engine.Pump(w, engine.Counted(at, ins[i]), l, len(ws) == 1)
		}
		return l
	}}}
}
