package flow

import (
	"fmt"
	"time"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// Throttle lets n values pass in each period, and makes the others wait. None is dropped.
//
// It is a token bucket that holds n and starts full: the first n values pass at once, then one each per/n, and what was not used
// fills the bucket again. So in a time t no more than n + n·t/per values pass. With n = 1 they are evenly spaced.
//
//	Shape:        T → T, one for one, order kept; fused: no goroutine, no queue; holds one value while it waits.
//	Backpressure: it takes as many values as may pass at once, at least one, and nothing while that one waits: so
//	              the pace reaches the source. Put a Buffer in front to let values wait there.
//	Ends:         with upstream, at once behind the last value. A drain keeps the pace. A stop ends the wait and
//	              gives the value back.
//	Errors:       none of its own. n < 1 and per <= 0 are build errors.
//	Claims:       travel along.
//	Concurrency:  each run, and each Throttle in it, has a bucket of its own.
//	Cost:         two readings of the clock a chunk and a timer for each wait; no allocation per item that does
//	              not wait.
//	Source:       ITU-T I.371, "Generic Cell Rate Algorithm", the bucket as one moment in time.
func (f Flow[T]) Throttle(n int, per time.Duration, opts ...StepOption) Flow[T] {
	nd := stepNode("throttle", f, opts)
	return newThrottle(f, nd, int64(n), per, nil)
}

// ThrottleCost is [Flow.Throttle] for values of different cost: a total of n passes in each period. cost says what a value costs,
// at least 0; one that costs nothing never waits.
//
// A value that costs more than n waits until the bucket is full, and leaves it in debt: those behind it wait until that is
// paid. So the mean rate holds for any cost.
//
//	Shape:        as for Throttle.
//	Backpressure: as for Throttle, but it takes one value at a time: what the next one costs is not known.
//	Ends:         as for Throttle.
//	Errors:       a negative cost and a panic in cost stop the run. n < 1, per <= 0 and a nil cost are build errors.
//	Claims:       travel along.
//	Cost:         a call of cost and two readings of the clock per item, and a timer for each wait.
func (f Flow[T]) ThrottleCost(cost func(T) int64, n int64, per time.Duration, opts ...StepOption) Flow[T] {
	nd := stepNode("throttlecost", f, opts)
	nd.check(cost != nil, "cost must not be nil")
	return newThrottle(f, nd, n, per, cost)
}

func newThrottle[T any](f Flow[T], nd *node, n int64, per time.Duration, cost func(T) int64) Flow[T] {
	nd.check(n >= 1, argument("n", ">= 1", n))
	nd.check(per > 0, argument("per", "> 0", per))
	return newStep(f, nd, func(at engine.Fused, in engine.Input[T]) engine.Input[T] {
		at.W.Hold(1)
		s := &throttleStep[T]{Fused: at, in: in, cost: cost, bucket: newBucket(n, per)}
		return engine.Input[T]{Reader: s, Stream: in.Stream}
	})
}

type throttleStep[T any] struct {
	engine.Fused
	in     engine.Input[T]
	cost   func(T) int64 // nil: each costs 1
	bucket bucket
}

// Pull implements engine.Reader. It waits with an item in hand instead of before it asks: otherwise the end of the stream would
// be noticed a wait too late, and a source be kept waiting whose next item is far away.
func (s *throttleStep[T]) Pull(dst []T, tags []*engine.Tag) (int, error) {
	k := 1
	if s.cost == nil {
		k = int(min(int64(len(dst)), max(s.bucket.level(clock.Now()), 1)))
	}
	n, err := s.in.Pull(dst[:k], engine.Cut(tags, 0, min(k, len(tags))))
	if n == 0 {
		return 0, err
	}
	tags = engine.Cut(tags, 0, min(n, len(tags)))
	cost, failure := s.price(dst[0], n)
	if failure != nil {
		clear(dst[:n])
		s.Lose(failure, n, tags)
		return 0, failure
	}
	if !s.pass(cost) {
		clear(dst[:n])
		s.GiveBack(n, tags)
		return 0, s.W.Gone()
	}
	s.Stage.Count(n, n)
	return n, err
}

// pass waits until the bucket has what is asked for, and takes it. It reports false if the worker is to end first.
func (s *throttleStep[T]) pass(cost int64) bool {
	for {
		now := clock.Now()
		wait := s.bucket.wait(now, cost)
		if wait == 0 {
			s.bucket.take(now, cost)
			return true
		}
		if !s.W.Rest(wait) {
			return false
		}
	}
}

// price returns what n values cost of which v is the first.
func (s *throttleStep[T]) price(v T, n int) (cost int64, err error) {
	if s.cost == nil {
		return int64(n), nil
	}
	defer s.Guard(&err)
	began := s.Begin()
	if cost = s.cost(v); cost < 0 {
		err = &stage.Error{Stage: s.Stage.Name, Err: fmt.Errorf("cost must be >= 0, got %d", cost)}
	}
	s.End(began, 0, 0)
	return cost, err
}

// Leave implements engine.Reader.
func (s *throttleStep[T]) Leave() { s.in.Leave() }
