package flow

import (
	"errors"
	"time"

	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// ErrIdle is what an IdleTimeout stops a run with, in a *stage.Error.
var ErrIdle = errors.New("flow: nothing has come for too long")

// IdleTimeout stops the run with [ErrIdle] when it has asked for a value and none has come for d. For a limit of one call there is
// the option [Timeout].
//
//	Shape:        T → T, one for one, order kept; an edge in front, no goroutine of its own, holds nothing.
//	Emits:        at once.
//	Backpressure: while downstream is busy it asks for nothing, and that time does not count.
//	Ends:         with upstream.
//	Errors:       ErrIdle, as an error of the stage. It also counts the time before the first value. d <= 0 is a build
//	              error.
//	Claims:       travel along.
//	Cost:         one edge, and a timer that is set for each chunk; no allocation per item.
func (f Flow[T]) IdleTimeout(d time.Duration, opts ...StepOption) Flow[T] {
	nd := stepNode("idletimeout", f, opts)
	nd.check(d > 0, argument("d", "> 0", d))
	up := f.node()
	return Flow[T]{&fused[T]{node: nd, read: func(b *build, w *engine.Worker) engine.Input[T] {
		in := engine.NewTimed(engine.ReadEdge(w, front(b, up, nd)))
		s := &idleStep[T]{Fused: engine.NewFused(w, b.stage(nd)), in: in, d: d}
		return engine.Input[T]{Reader: s, Stream: in.Stream}
	}}}
}

type idleStep[T any] struct {
	engine.Fused
	in *engine.Timed[T]
	d  time.Duration
}

// Pull implements engine.Reader.
func (s *idleStep[T]) Pull(dst []T, tags []*engine.Tag) (int, error) {
	n, err := s.in.PullFor(dst, tags, s.d)
	if err == queue.ErrTimeout {
		return 0, &stage.Error{Stage: s.Stage.Name, Err: ErrIdle}
	}
	s.Stage.Count(n, n)
	return n, err
}

// Leave implements engine.Reader.
func (s *idleStep[T]) Leave() { s.in.Leave() }
