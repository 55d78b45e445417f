package flow

import (
	"context"

	"github.com/weir-go/weir/internal/engine"
)

// Permit is what a [Limiter] gives: the right to make one call, until Release.
type Permit interface{ Release() }

// Limiter bounds the calls to a dependency. *admission.Limiter is one. Acquire waits for a permit until ctx ends, or refuses. It is called
// by many goroutines at the same time.
type Limiter[P Permit] interface {
	Acquire(ctx context.Context) (P, error)
}

// LimitError says that the limiter of a [Limit] refused a call. What it wraps is the limiter's error: an *admission.Refusal, for example.
type LimitError = engine.LimitError

// Limit gets a permit of l for each call, and gives it back however the call ends: by return, error, panic or Goexit, by a timeout or the
// end of the run. l is shared by all stages that call the same dependency, so that together they never make more calls than it bears.
//
// A worker that waits for a permit holds back what is in front of it, up to the source, and that time counts as backpressured. It
// holds no permit while it waits for anything in the pipeline: for room, for an open [Breaker], before a retry. So stages that share a
// limiter never wait for each other in a circle. A call that the limiter refuses has failed with a [*LimitError], and OnError decides
// about it. The wait is no part of [Timeout], but ends at the item's deadline.
//
// A nil l, two Limits at a stage, and one at an Expand, whose results wait for room during the call, are build errors.
//
//	Cost: two looks at the clock for each call. Results are handed on one by one: the next permit may be long in coming.
func Limit[P Permit](l Limiter[P]) ErrOption {
	return ErrOption{func(s *settings) {
		if l == nil {
			s.errs = append(s.errs, "Limit: limiter must not be nil")
			return
		}
		s.around.set("Limit", s.around.limit != nil)
		s.around.limit = func() engine.Limiter { return &seat[P]{limiter: l} }
	}}
}

// seat is that of one worker at a limiter.
type seat[P Permit] struct {
	limiter Limiter[P]
	permit  P
}

// Acquire implements [engine.Limiter].
func (s *seat[P]) Acquire(ctx context.Context) (err error) {
	s.permit, err = s.limiter.Acquire(ctx)
	return err
}

// Release implements [engine.Limiter].
func (s *seat[P]) Release() {
	var none P
	permit := s.permit
	s.permit = none
	permit.Release()
}
