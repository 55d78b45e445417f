package engine

import (
	"context"
	"sync"
	"sync/atomic"
)

// lifetime is how long a worker goes on: until it is told to end, or the run's context is done. Its context is made when user
// code first needs one.
type lifetime struct {
	parent context.Context // the run's
	owner  *Worker         // whose it is

	made atomic.Pointer[made]
	gone atomic.Bool

	mu    sync.Mutex
	cause error
}

// made is a context that was asked for.
type made struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// Context is what user code gets: it ends with the run, or when nobody wants the worker's output any more.
func (l *lifetime) Context() context.Context {
	if m := l.made.Load(); m != nil {
		return m.ctx
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if m := l.made.Load(); m != nil {
		return m.ctx
	}
	m := new(made)
	m.ctx, m.cancel = context.WithCancelCause(l.parent)
	m.ctx = context.WithValue(m.ctx, ownerKey{}, l.owner)
	if l.gone.Load() {
		m.cancel(l.cause)
	}
	l.made.Store(m)
	return m.ctx
}

// end ends it; the first cause counts.
func (l *lifetime) end(cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone.Load() {
		return
	}
	if l.parent.Err() != nil {
		cause = context.Cause(l.parent)
	}
	l.cause = cause
	l.gone.Store(true)
	if m := l.made.Load(); m != nil {
		m.cancel(cause)
	}
}

// Gone returns why the worker should end, nil while it should not.
func (l *lifetime) Gone() error {
	switch {
	case l.gone.Load():
		return l.cause
	case l.parent.Err() != nil:
		return context.Cause(l.parent)
	default:
		return nil
	}
}
