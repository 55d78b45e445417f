package breaker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/weir-go/weir/internal/clock"
)

// ErrOpen is why a call is refused: the breaker is open, or half-open and its probes are on their way.
var ErrOpen = errors.New("breaker: open")

// State is what a [Breaker] does with calls.
type State uint8

// The states.
const (
	Closed   State = iota // calls are made
	Open                  // no calls are made
	HalfOpen              // probes are made
)

// String returns "closed", "open" or "half-open".
func (s State) String() string {
	switch s {
	case Closed:
		return "closed"
	case Open:
		return "open"
	case HalfOpen:
		return "half-open"
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// Stats is what a [Breaker] has counted since it was made.
type Stats struct {
	State   State
	Calls   int64 // that were made
	Failed  int64 // of them, by a fault of the dependency
	Refused int64 // that were not made
	Opened  int64 // how often it has opened, after failed probes as well
}

// Breaker is a circuit breaker. It implements flow.CircuitBreaker. Its methods are safe for concurrent use; it has no goroutine.
//
//	Cost: two allocations for each call, none for a refusal.
type Breaker struct {
	cfg Config
	two *gobreaker.TwoStepCircuitBreaker[struct{}]

	changed atomic.Pointer[chan struct{}] // closed when a call may be let through that was not before
	state   atomic.Uint32
	era     atomic.Int64  // counts the changes of state
	due     atomic.Int64  // when it is open no longer, by the clock
	suspect atomic.Uint64 // the only item that has failed since a call has gone well; 0: none has; several

	calls, failed, refused, opened atomic.Int64
}

// New returns a breaker that is closed. Settings that are out of range are errors.
func New(cfg Config) (*Breaker, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	b := &Breaker{cfg: cfg}
	b.wake()
	b.two = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: uint32(cfg.Probes),
		Interval:    cfg.Window, BucketPeriod: cfg.Window / windowParts,
		Timeout:       cfg.OpenFor,
		ReadyToTrip:   b.trips,
		OnStateChange: b.turned,
		IsSuccessful:  func(err error) bool { return err == nil },
		IsExcluded:    cutOff,
	})
	return b, nil
}

// Allow implements flow.CircuitBreaker. Those who call for no item say 0. A call that is allowed must be made, or be reported with
// context.Canceled.
func (b *Breaker) Allow(item uint64) (report func(err error) (open bool), err error) {
	done, err := b.two.Allow()
	if err != nil {
		b.refused.Add(1)
		return nil, ErrOpen
	}
	b.calls.Add(1)
	c := &call{b: b, done: done, item: item, era: b.era.Load(), began: clock.Now()}
	return c.ended, nil
}

// Wait implements flow.CircuitBreaker: it waits until a call may be let through, or ctx ends.
func (b *Breaker) Wait(ctx context.Context) {
	changed := *b.changed.Load() // before the look at the state, so that no change is missed
	var due <-chan time.Time
	switch b.State() {
	case Closed:
		return
	case HalfOpen:
		if c := b.two.Counts(); c.Requests-c.TotalExclusions < uint32(b.cfg.Probes) {
			return
		}
	case Open:
		t := time.NewTimer(time.Duration(b.due.Load() - clock.Now() + 1)) // it is open up to that moment, and at it
		defer t.Stop()
		due = t.C
	}
	select {
	case <-changed:
	case <-due:
	case <-ctx.Done():
	}
}

// State returns the state as of now.
func (b *Breaker) State() State { return stateOf(b.two.State()) }

// Stats returns the figures as of now.
func (b *Breaker) Stats() Stats {
	return Stats{
		State: b.State(), Calls: b.calls.Load(), Failed: b.failed.Load(), Refused: b.refused.Load(), Opened: b.opened.Load(),
	}
}

// trips decides whether to open. It is called with the lock of the state.
func (b *Breaker) trips(c gobreaker.Counts) bool {
	ended := int64(c.TotalSuccesses) + int64(c.TotalFailures)
	return int64(c.ConsecutiveFailures) >= int64(b.cfg.InARow) ||
		ended >= int64(b.cfg.MinCalls) && float64(c.TotalFailures) >= b.cfg.Ratio*float64(ended)
}

// turned is told of a change of state. It is called with the lock of the state.
func (b *Breaker) turned(_ string, _, to gobreaker.State) {
	if to == gobreaker.StateOpen {
		b.opened.Add(1)
		b.due.Store(clock.Now() + int64(b.cfg.OpenFor))
	}
	b.state.Store(uint32(stateOf(to)))
	b.era.Add(1)
	b.suspect.Store(0)
	b.wake()
}

// wake tells all who wait to look again.
func (b *Breaker) wake() {
	next := make(chan struct{})
	if last := b.changed.Swap(&next); last != nil {
		close(*last)
	}
}

func stateOf(s gobreaker.State) State {
	switch s {
	case gobreaker.StateOpen:
		return Open
	case gobreaker.StateHalfOpen:
		return HalfOpen
	case gobreaker.StateClosed:
	}
	return Closed
}
