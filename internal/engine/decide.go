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

// store pushes one letter. A panic in the sink is an error.
func (l *Letters) store(ctx context.Context, d stage.DeadLetter) (err error) {
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
	return l.Sink.Push(ctx, []stage.DeadLetter{d})
}

// verdict is what was decided about a fault.
type verdict uint8

const (
	again      verdict = iota // call again
	letGo                     // skipped or stored elsewhere
	comesAgain                // failed, and the run goes on
	failed                    // stop
	cutOff                    // undecided: the worker is to end
)

// fault is the state of one failing call: which decisions were tried, and how often. It outlives the goroutine that user code
// may end.
type fault struct {
	next    int // decision to try
	retries int // done for it
	calls   int // that failed
	wait    backoff.BackOff
}

// decide tries the decisions in order until one has an answer. The wait before a retry is part of it.
func (f *fault) decide(w *Worker, ds []Decision, err error, letter func() stage.DeadLetter) verdict {
	f.calls++
	for ; f.next < len(ds); f.next, f.retries, f.wait = f.next+1, 0, nil {
		d := &ds[f.next]
		if d.Match != nil && !d.Match(err) {
			continue
		}
		switch d.Action {
		case Stop:
			return failed
		case Skip:
			return letGo
		case Redeliver:
			return comesAgain
		case Retry:
			if f.retry(w, d, err) {
				return again
			}
		case DeadLetter:
			l := letter()
			l.Err, l.Attempt = err, f.calls
			if d.Letters.store(w.Context(), l) == nil {
				return letGo
			}
		}
		if w.Gone() != nil {
			return cutOff
		}
	}
	return failed
}

// retry waits before the next attempt. It reports false if there is none.
func (f *fault) retry(w *Worker, d *Decision, err error) bool {
	if _, permanent := errors.AsType[*backoff.PermanentError](err); permanent || f.retries >= d.Times {
		return false
	}
	if f.wait == nil {
		f.wait = d.Backoff()
	}
	f.retries++
	pause := f.wait.NextBackOff()
	return pause != backoff.Stop && w.sleep(pause)
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
