package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/internal/clock"
)

// Handling is what an operator does around the calls of its function.
type Handling struct {
	Decisions []Decision     // about calls that failed
	Open      []Decision     // about those for which the breaker is to blame
	Budget    Budget         // for retries; nil: none
	Limit     func() Limiter // makes that of a worker; nil: none
	Breaker   Breaker        // nil: none
	Timeout   time.Duration  // of one call; 0: none
	Once      bool           // a call that failed is not repeated
}

// Budget bounds how many retries there are for the requests that there are.
type Budget interface {
	Request()
	Retry() bool
}

// Limiter is what one worker sees of a limiter: it has a permit or none.
type Limiter interface {
	Acquire(ctx context.Context) error
	Release()
}

// Breaker says whether calls are to be made. See flow.CircuitBreaker for its rules.
type Breaker interface {
	Allow(item uint64) (report func(err error) (open bool), err error)
	Wait(ctx context.Context)
}

// BreakerError says that a breaker did not let a call through.
type BreakerError struct{ Err error }

// Error gives the breaker's reason.
func (e *BreakerError) Error() string { return "flow: refused by the breaker: " + e.Err.Error() }

// Unwrap returns the breaker's reason.
func (e *BreakerError) Unwrap() error { return e.Err }

// LimitError says that a limiter gave no permit for a call.
type LimitError struct{ Err error }

// Error gives the limiter's reason.
func (e *LimitError) Error() string { return "flow: refused by the limiter: " + e.Err.Error() }

// Unwrap returns the limiter's reason.
func (e *LimitError) Unwrap() error { return e.Err }

// errNoReturn is what a breaker is told of a function that has panicked, or ended its goroutine.
var errNoReturn = errors.New("flow: the function has not returned")

// items numbers those for which a breaker is asked, in all runs.
var items atomic.Uint64

// attempt is what stands around one call, from outside in: the permit, the breaker, the deadline. It belongs to one worker. Whatever
// has to be waited for in between, an open breaker or the pause before a retry, is waited for without a permit.
type attempt struct {
	Fused
	h     *Handling
	limit Limiter
	on    bool // there is something to do

	permit bool
	report func(error) bool
	cancel context.CancelFunc

	item  uint64    // number of the item of the call
	made  bool      // the function was called
	down  bool      // the breaker is to blame: it refused, or the call has failed and it is open
	until time.Time // the deadline of an item that failed; zero: none
}

func newAttempt(f Fused, h *Handling) attempt {
	a := attempt{Fused: f, h: h, made: true, on: h.Timeout > 0 || h.Breaker != nil || h.Budget != nil}
	if h.Limit != nil {
		a.limit, a.on = h.Limit(), true
	}
	return a
}

// begin gets everything that a call needs, and returns the context for it. again says that the call repeats one. What it has got is
// given back by end, also where it fails.
func (a *attempt) begin(ctx context.Context, again bool) (context.Context, error) {
	a.made, a.down = false, false
	if err := a.admit(ctx, again); err != nil {
		return nil, err
	}
	if a.h.Budget != nil && !again {
		a.h.Budget.Request()
	}
	a.made = true
	if a.h.Timeout > 0 {
		ctx, a.cancel = context.WithTimeout(ctx, a.h.Timeout)
	}
	return ctx, nil
}

// admit asks the limiter and the breaker. An item whose time is over asks neither.
func (a *attempt) admit(ctx context.Context, again bool) error {
	if a.limit == nil && a.h.Breaker == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if a.limit != nil {
		if err := a.acquire(ctx); err != nil {
			return err
		}
	}
	if a.h.Breaker == nil {
		return nil
	}
	if !again {
		a.item = items.Add(1)
	}
	report, err := a.h.Breaker.Allow(a.item)
	if err != nil {
		a.down = true
		a.Stage.BreakerRefused.Add(1)
		return &BreakerError{Err: err}
	}
	a.report = report
	return nil
}

// acquire waits for a permit. The time is no work of the stage.
func (a *attempt) acquire(ctx context.Context) error {
	a.park()
	defer a.goOn()
	err := a.limit.Acquire(ctx)
	switch {
	case err == nil:
		a.permit = true
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	a.Stage.LimitRefused.Add(1)
	return &LimitError{Err: err}
}

// end reports how the call has ended, and gives the permit back. outer is the context without the deadline of the attempt: what is
// cut off because it is over says nothing about the dependency.
func (a *attempt) end(outer context.Context, failed *error) {
	defer a.release()
	if cancel := a.cancel; cancel != nil {
		a.cancel = nil
		cancel()
	}
	report := a.report
	if report == nil {
		return
	}
	a.report = nil
	err := *failed
	if err != nil && outer.Err() != nil {
		err = context.Canceled
	}
	a.down = report(err) && err != nil && !a.h.Once
}

func (a *attempt) release() {
	if a.permit {
		a.permit = false
		a.limit.Release()
	}
}

// await waits until it is worth asking the breaker again, or ctx ends.
func (a *attempt) await(ctx context.Context) {
	a.park()
	defer a.goOn()
	a.h.Breaker.Wait(ctx)
}

// late reports whether the item's deadline comes before the end of a pause.
func (a *attempt) late(pause time.Duration) bool {
	return !a.until.IsZero() && time.Until(a.until) <= pause
}

// park begins a wait that is not work, and goOn ends it.
func (a *attempt) park() { a.W.held.Start(clock.Now()) }
func (a *attempt) goOn() { a.W.held.Stop(clock.Now()) }
