package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/weir-go/weir/stage"
)

// Action is what a [Decision] does with a failed item.
type Action uint8

// The actions.
const (
	Stop       Action = iota // end the run with the error
	Skip                     // let the item go; it settles as done and is counted
	Retry                    // call again after a while, some times
	DeadLetter               // store it elsewhere
	Redeliver                // let it fail, for its source to deliver it again
)

// goesOn reports whether the run goes on without the item.
func (a Action) goesOn() bool { return a == Skip || a == DeadLetter || a == Redeliver }

// Decision says what becomes of an item whose call failed.
type Decision struct {
	Action  Action
	Match   func(error) bool // nil: every error
	Times   int              // Retry
	Backoff func() backoff.BackOff
	Letters *Letters // DeadLetter
	Open    bool     // it is about calls for which the breaker is to blame
}

// patient reports whether one of the decisions waits.
func patient(ds []Decision) bool {
	return slices.ContainsFunc(ds, func(d Decision) bool { return d.Action == Retry || d.Action == DeadLetter })
}

// Letters is a sink of dead letters, which many workers share: pushes come one at a time.
type Letters struct {
	Sink stage.Sink[stage.DeadLetter]
	turn chan struct{}
}

// NewLetters returns Letters that push to sink.
func NewLetters(sink stage.Sink[stage.DeadLetter]) *Letters {
	return &Letters{Sink: sink, turn: make(chan struct{}, 1)}
}

// store pushes letters. A panic in the sink is an error.
func (l *Letters) store(ctx context.Context, ds []stage.DeadLetter) (err error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() {
		if p := recover(); p != nil {
			err = &stage.PanicError{Value: p}
		}
		<-l.turn
	}()
	return l.Sink.Push(ctx, ds)
}

// verdict is what was decided about a fault.
type verdict uint8

const (
	again      verdict = iota // call again
	letGo                     // skipped or stored elsewhere
	comesAgain                // failed, and the run goes on
	failed                    // stop
	cutOff                    // undecided: the worker is to end
	hold                      // call again when the breaker may let it through
)

// mostExcused is how often an item's failure is the fault of the dependency alone. Of a single item and a single worker nobody can
// know which of the two is broken, so there is an end to it.
const mostExcused = 1000

// fault is the state of one failing call: which decisions were tried, and how often. It outlives the goroutine that user code
// may end.
type fault struct {
	calls   int // that failed
	excused int // of them, because the breaker was open then
	failed  inquiry
	open    inquiry // of the decisions about an open breaker
	begun   bool
}

// inquiry is how far a list of decisions has been tried.
type inquiry struct {
	next    int // decision to try
	retries int // done for it
	wait    backoff.BackOff
}

// note counts an attempt that failed, and says whether the breaker is to blame for it.
func (f *fault) note(a *attempt) {
	f.begun = true
	if !a.made {
		return
	}
	f.calls++
	if a.down {
		f.excused++
		a.down = f.excused <= mostExcused
	}
}

// decide tries decisions in order until one has an answer: ds, or those about an open breaker where that is to blame. Behind the last
// of the former the run ends, behind the last of the latter the item waits. The wait before a retry is part of it.
func (f *fault) decide(a *attempt, ds []Decision, err error, letters func() []stage.DeadLetter) verdict {
	in, last := &f.failed, failed
	if a.down {
		in, ds, last = &f.open, a.h.Open, hold
	}
	ask := func() []stage.DeadLetter {
		ls := letters()
		for i := range ls {
			ls[i].Err, ls[i].Attempt = err, f.calls
		}
		return ls
	}
	if v, ok := in.decide(a, ds, err, ask); ok {
		return v
	}
	return last
}

// decide reports false where no decision has an answer.
func (in *inquiry) decide(a *attempt, ds []Decision, err error, letters func() []stage.DeadLetter) (v verdict, ok bool) {
	for ; in.next < len(ds); in.next, in.retries, in.wait = in.next+1, 0, nil {
		d := &ds[in.next]
		if d.Match != nil && !d.Match(err) {
			continue
		}
		switch d.Action {
		case Stop:
			return failed, true
		case Skip:
			return letGo, true
		case Redeliver:
			return comesAgain, true
		case Retry:
			if in.retry(a, d, err) {
				return again, true
			}
		case DeadLetter:
			if d.Letters.store(a.W.Context(), letters()) == nil {
				return letGo, true
			}
		}
		if a.W.Gone() != nil {
			return cutOff, true
		}
	}
	return failed, false
}

// retry waits before the next attempt, for as long as the error asks for at least. It reports false if there is none: also where it
// would be later than the item's deadline. A retry that the budget does not allow is not made, and waits for its next turn.
func (in *inquiry) retry(a *attempt, d *Decision, err error) bool {
	away, ok := stayAway(err)
	if !ok {
		return false
	}
	if in.wait == nil {
		in.wait = d.Backoff()
	}
	for in.retries < d.Times {
		in.retries++
		pause := in.wait.NextBackOff()
		if pause == backoff.Stop {
			return false
		}
		if pause = max(pause, away); a.late(pause) || !a.W.sleep(pause) {
			return false
		}
		if a.allowed() {
			a.Stage.Retried.Add(1)
			return true
		}
	}
	return false
}

// stayAway returns how long an error asks not to be retried. It reports false if there is to be no retry at all: the error is
// permanent, or it has a method Delay, as refusals have, that says no time to come again.
func stayAway(err error) (away time.Duration, ok bool) {
	if _, permanent := errors.AsType[*backoff.PermanentError](err); permanent {
		return 0, false
	}
	refusal, ok := errors.AsType[interface {
		error
		Delay() time.Duration
	}](err)
	if !ok {
		return 0, true
	}
	away = refusal.Delay()
	return away, away > 0
}

// allowed asks the budget for a retry. A call that was not made costs nothing to make again.
func (a *attempt) allowed() bool {
	if a.h.Budget == nil || !a.made || a.h.Budget.Retry() {
		return true
	}
	a.Stage.OverBudget.Add(1)
	return false
}

// sleep waits for d. It reports false if the worker's context ended first.
func (w *Worker) sleep(d time.Duration) bool {
	if d <= 0 {
		return w.Gone() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.Context().Done():
		return false
	}
}
