package brokertest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

var errCause = errors.New("brokertest: the context was cancelled")

// outcome is how a call of the adapter went.
type outcome struct {
	n        int
	err      error
	hung     time.Duration // how long the kit has waited, if that was in vain
	panicked error
	took     time.Duration
}

// unexpected describes a call that did not return.
func (o outcome) unexpected() string {
	switch {
	case o.hung > 0:
		return fmt.Sprintf("did not return within %v", o.hung)
	case o.panicked != nil:
		return o.panicked.Error()
	default:
		return ""
	}
}

// call runs fn in a goroutine of its own and waits for it.
func (r *trial) call(fn func() (int, error)) outcome { return r.await(r.start(fn)) }

// start runs fn in a goroutine of its own, which the end of the check waits for.
func (r *trial) start(fn func() (int, error)) <-chan outcome {
	over := make(chan outcome, 1)
	r.running.Go(func() {
		began := time.Now()
		o := outcome{panicked: errors.New("ended its goroutine with runtime.Goexit")}
		defer func() {
			if v := recover(); v != nil {
				o.panicked = fmt.Errorf("panicked: %v\n%s", v, debug.Stack())
			}
			o.took = time.Since(began)
			over <- o
		}()
		n, err := fn()
		o = outcome{n: n, err: err}
	})
	return over
}

func (r *trial) await(over <-chan outcome) outcome {
	t := time.NewTimer(r.patience())
	defer t.Stop()
	select {
	case o := <-over:
		return o
	case <-t.C:
		return outcome{hung: r.patience(), took: r.patience()}
	}
}

// waits reports whether a call that was started is still waiting after a while.
func (r *trial) waits(over <-chan outcome) (o outcome, waiting bool) {
	time.Sleep(r.while())
	select {
	case o := <-over:
		return o, false
	default:
		return outcome{}, true
	}
}

// within returns a context that is done with errCause after d.
func (r *trial) within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(r.ctx, d, errCause)
}

// cancelled returns a context that is done with errCause.
func (r *trial) cancelled() context.Context {
	ctx, cancel := context.WithCancelCause(r.ctx)
	cancel(errCause)
	return ctx
}
