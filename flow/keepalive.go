package flow

import (
	"time"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/internal/queue"
)

// KeepAlive hands on a value that fresh makes whenever nothing else was handed on for a time: a heartbeat, so that whoever is
// downstream, a connection for example, can tell a quiet stream from a dead one.
//
//	Shape:        T → T, and values of its own between them, order kept; an edge in front, no goroutine of its own;
//	              holds nothing.
//	Emits:        a value at once; one of its own where it has handed nothing on for every, and nothing is there.
//	              It never emits without demand: downstream that was busy for longer gets one when it asks, if
//	              there is nothing else for it.
//	Backpressure: waits for downstream and pulls nothing meanwhile, so that its edge fills.
//	Ends:         with upstream.
//	Errors:       fresh can't fail. A panic in it stops the run. every <= 0 and a nil fresh are build errors.
//	Claims:       travel along; a value of its own has neither metadata nor a claim.
//	Cost:         one edge, and a timer that is set for each chunk; no allocation per item.
func (f Flow[T]) KeepAlive(every time.Duration, fresh func() T, opts ...StepOption) Flow[T] {
	nd := stepNode("keepalive", f, opts)
	nd.check(every > 0, argument("every", "> 0", every))
	nd.check(fresh != nil, "function must not be nil")
	up := f.node()
	return Flow[T]{&fused[T]{node: nd, read: func(b *build, w *engine.Worker) engine.Input[T] {
		in := engine.NewTimed(engine.ReadEdge(w, front(b, up, nd)))
		s := &keepAliveStep[T]{Fused: engine.NewFused(w, b.stage(nd)), in: in, every: every, fresh: fresh}
		return engine.Input[T]{Reader: s, Stream: in.Stream}
	}}}
}

type keepAliveStep[T any] struct {
	engine.Fused
	in      *engine.Timed[T]
	every   time.Duration
	fresh   func() T
	started bool
	last    int64 // when something was handed on, or first asked for
}

// Pull implements engine.Reader.
func (s *keepAliveStep[T]) Pull(dst []T, tags []*engine.Tag) (int, error) {
	now := clock.Now()
	if !s.started {
		s.started, s.last = true, now
	}
	n, err := s.in.PullFor(dst, tags, max(s.every-time.Duration(now-s.last), 0))
	if err == queue.ErrTimeout {
		n, err = s.beat(dst, tags)
	} else {
		s.Stage.Count(n, n)
	}
	s.last = s.W.In.Returned
	return n, err
}

// beat hands on a value of its own.
func (s *keepAliveStep[T]) beat(dst []T, tags []*engine.Tag) (n int, err error) {
	defer s.Guard(&err)
	began := s.Begin()
	dst[0] = s.fresh()
	if tags != nil {
		tags[0] = nil
	}
	s.End(began, 0, 1)
	return 1, nil
}

// Leave implements engine.Reader.
func (s *keepAliveStep[T]) Leave() { s.in.Leave() }
