package admission

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// CallerConfig says how a client behaves. All zero fields mean the defaults.
type CallerConfig struct {
	// K is how many calls are sent for each that was accepted in the last two minutes, before the client begins to refuse calls
	// itself: at 2, the default, it lets about as many refusals through as answers. From 1 on.
	K float64

	// RetryBudget is how many retries there may be for each call, 0 to 1: 0 means 0.1, so that no more than 1.1 times the calls
	// ever reach the server. NoRetry switches retries off.
	RetryBudget float64
	NoRetry     bool

	MaxAttempts int           // of one call, the first included; 0 means 3
	Backoff     flow.Backoff  // between them; nil means 50 ms to 2 s, with full jitter. Retry-After counts where it is longer
	MaxWait     time.Duration // who is to stay away for longer is told so instead of waiting; 0 means 10 s
}

func (c CallerConfig) withDefaults() CallerConfig {
	if c.K == 0 {
		c.K = 2
	}
	if c.RetryBudget == 0 {
		c.RetryBudget = 0.1
	}
	if c.MaxAttempts == 0 {
		c.MaxAttempts = defaultAttempts
	}
	if c.Backoff == nil {
		c.Backoff = flow.Exponential(50*time.Millisecond, 2*time.Second)
	}
	if c.MaxWait == 0 {
		c.MaxWait = 10 * time.Second
	}
	return c
}

func (c CallerConfig) validate() error {
	const of = "CallerConfig"
	return errors.Join(
		check(c.K >= 1 && c.K <= 1e9, of, "K", ">= 1", c.K),
		check(c.RetryBudget > 0 && c.RetryBudget <= 1, of, "RetryBudget", "0 to 1", c.RetryBudget),
		check(c.MaxAttempts >= 1, of, "MaxAttempts", ">= 1", c.MaxAttempts),
		check(c.MaxWait > 0, of, "MaxWait", "> 0", c.MaxWait),
	)
}

// Caller calls a server that may refuse, for one server or one pool of equals: it does not send what would be refused anyway, comes
// again when it is told to, as long as that is wanted and its budget lasts, and no more. HTTP and gRPC clients are made of it.
//
// It stands outside of a breaker and of the deadline of one attempt: both belong into the call. Its methods are safe for concurrent use.
type Caller struct {
	cfg      CallerConfig
	throttle [classes]*throttle
	budget   *budget
	refused  [classes]atomic.Pointer[Refusal]
	counts   struct{ calls, attempts, accepted, refusedThere, refusedHere, noBudget atomic.Int64 }
}

// CallerStats is what a Caller has counted.
type CallerStats struct {
	Calls        int64
	Sent         int64 // attempts that reached the server, or tried to
	Accepted     int64 // of them, by the server
	RefusedThere int64 // of them, refused by the server
	RefusedHere  int64 // attempts that were not sent, because the server refuses most
	NoBudget     int64 // retries that were wanted, and were too many
}

// NewCaller returns a caller. It panics if the configuration makes no sense.
func NewCaller(c CallerConfig) *Caller {
	c = c.withDefaults()
	if err := c.validate(); err != nil {
		panic(err)
	}
	caller := &Caller{cfg: c, budget: newBudget(c.RetryBudget)}
	for i := range caller.throttle {
		caller.throttle[i] = newThrottle(c.K)
	}
	return caller
}

// Answer is what one attempt of a call has come to.
type Answer struct {
	Err        error         // what Do returns, if there is no further attempt
	Accepted   bool          // by the server, whatever it has answered in the end
	Refused    bool          // by the server, which has not started it
	Again      bool          // it may be sent again: it is idempotent, or was not started, and the server does not forbid it
	RetryAfter time.Duration // but not before; 0 is not said
}

// Do calls call until there is an answer to stay with. The metadata of its context has the number of the attempt, to be handed on. The
// error is that of the last Answer, a *[Refusal] with ReasonThrottled if it was never sent, or ctx's cause if ctx has ended while
// it waited. It does not wait beyond the deadline of ctx and of the metadata in it. The class in ctx's metadata counts: each class is throttled by its own record.
func (c *Caller) Do(ctx context.Context, call func(ctx context.Context) Answer) error {
	m, _ := stage.MetaFrom(ctx)
	deadline := m.Deadline
	if d, ok := ctx.Deadline(); ok && (deadline.IsZero() || d.Before(deadline)) {
		deadline = d
	}
	class := m.Criticality
	m.Attempt = max(m.Attempt, 1)
	var waits backoff.BackOff
	if err := c.Begin(class); err != nil {
		return err
	}
	for tries := 1; ; tries++ {
		a := call(stage.WithMeta(ctx, m))
		c.End(class, a)
		if !a.Again || tries >= c.cfg.MaxAttempts || c.cfg.NoRetry {
			return a.Err
		}
		if waits == nil {
			waits = c.cfg.Backoff()
		}
		if !c.pause(ctx, deadline, waits.NextBackOff(), &a) || c.send(class) != nil {
			return a.Err
		}
		m.Attempt++
	}
}

// Begin is for calls that can't be repeated, such as streams: it says whether one of a class is to be sent, by a *[Refusal] with
// ReasonThrottled if not. End belongs to it, once the answer is known.
func (c *Caller) Begin(class stage.Criticality) error {
	c.counts.calls.Add(1)
	c.budget.earn()
	return c.send(class)
}

// send counts an attempt, and says whether it is to be made.
func (c *Caller) send(class stage.Criticality) error {
	if !c.throttle[rank(class)].enter() {
		c.counts.refusedHere.Add(1)
		return c.throttled(class)
	}
	c.counts.attempts.Add(1)
	return nil
}

// End counts what an attempt of a class has come to.
func (c *Caller) End(class stage.Criticality, a Answer) {
	switch {
	case a.Refused:
		c.counts.refusedThere.Add(1)
	case a.Accepted:
		c.counts.accepted.Add(1)
		c.throttle[rank(class)].accept()
	}
}

// pause waits before the next attempt. It returns false, with what to return in a, if there is to be none.
func (c *Caller) pause(ctx context.Context, deadline time.Time, wait time.Duration, a *Answer) bool {
	if wait == backoff.Stop {
		return false
	}
	wait = max(wait, a.RetryAfter)
	if !deadline.IsZero() && time.Until(deadline) <= wait || wait > c.cfg.MaxWait {
		return false
	}
	if !c.budget.take() {
		c.counts.noBudget.Add(1)
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		a.Err = errors.Join(context.Cause(ctx), a.Err)
		return false
	}
}

// throttled returns the refusal of calls that are not sent. There is one for each class.
func (c *Caller) throttled(class stage.Criticality) *Refusal {
	kept := &c.refused[rank(class)]
	if r := kept.Load(); r != nil {
		return r
	}
	r := &Refusal{Reason: ReasonThrottled, RetryAfter: unknownWait, Retryable: clamp(class) != stage.Sheddable}
	kept.Store(r)
	return r
}

// Throttled returns the probability with which a call of a class is refused by the caller itself, as of now.
func (c *Caller) Throttled(class stage.Criticality) float64 { return c.throttle[rank(class)].now() }

// Stats returns the figures as of now.
func (c *Caller) Stats() CallerStats {
	n := &c.counts
	return CallerStats{
		Calls: n.calls.Load(), Sent: n.attempts.Load(), Accepted: n.accepted.Load(),
		RefusedThere: n.refusedThere.Load(), RefusedHere: n.refusedHere.Load(), NoBudget: n.noBudget.Load(),
	}
}
