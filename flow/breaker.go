package flow

import (
	"context"

	"github.com/weir-go/weir/internal/engine"
)

// CircuitBreaker knows whether a dependency is up. Package flow/breaker has one. It belongs to the dependency: all stages that call
// that share it, and no others have it, so that it never holds back an item that does not need the dependency.
//
// Its rules:
//
//	B1  Allow answers at once. With a nil error the call is made, and report is called once when it has ended. With
//	    another one the call is not made.
//	B2  report takes what the call has failed with, nil where it has not. An error for which
//	    errors.Is(err, context.Canceled) holds was cut off, by the end of the run or by the deadline of its item, and
//	    says nothing about the dependency.
//	B3  report returns true if err is a fault of the dependency, and no calls are to be made now. It is not the item's
//	    fault then.
//	B4  item is the same number for all calls for the same item, and another one for others, in all runs. One item
//	    that always fails should not open a breaker.
//	B5  Wait returns when it may be worth it to ask Allow again, or when ctx has ended, and not before.
//	B6  All methods, and report, are safe for concurrent use.
type CircuitBreaker interface {
	Allow(item uint64) (report func(err error) (open bool), err error)
	Wait(ctx context.Context)
}

// BreakerError says that a [Breaker] did not let a call through. What it wraps is the breaker's reason.
type BreakerError = engine.BreakerError

// Breaker asks b before each call. While b is open the stage's workers wait with the items that they have, and what is in front of
// them waits as it always does: a blocking edge fills and holds its producer back. No decision of [OnError] is asked, unless it is
// an [IfOpen]. An item is not blamed for a call that fails and leaves b open either: it waits, and the call is made again. To all
// this there are three ends: the end of the run, the deadline of the item, and, where a worker's only item keeps failing, the
// thousandth failure, from which on they count as any others.
//
// A call that fails while b stays closed is a matter for OnError, as without a breaker; so a Breaker goes with a [Retry]. In a stage that
// is [NonIdempotent] a call that was made is never repeated, and OnError decides about it in any case.
//
// The breaker is inside of the retries and of the [Limit], and outside of the [Timeout]: a wait for it holds no permit, and does not
// count as time of the call. An item whose deadline is over is not called for. Two Breakers at a stage and a nil one are build errors.
func Breaker(b CircuitBreaker) ErrOption {
	return ErrOption{func(s *settings) {
		if b == nil {
			s.errs = append(s.errs, "Breaker must not be nil")
			return
		}
		s.around.set("Breaker", s.around.breaker != nil)
		s.around.breaker = b
	}}
}

// IfOpen is a decision about items whose call a [Breaker] did not let through, or failed and left it open. Where several say so they
// are tried in order, and behind the last one stands a wait instead of [Stop]. Other decisions are not asked about such items, and this one
// is not asked about others. A push that was not made is decided about as a whole. The error that decisions and dead letters get
// is a [*BreakerError], or what the call has failed with.
//
//	flow.OnError(flow.IfOpen(flow.Redeliver), flow.Retry(3, backoff), flow.DeadLetter(dlq))
func IfOpen(d Decision) Decision {
	if d == nil {
		return decided{err: "IfOpen: decision must not be nil"}
	}
	inner, err := d.decision()
	inner.Open = true
	return decided{inner, err}
}
