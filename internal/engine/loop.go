package engine

import (
	"runtime/debug"

	"github.com/weir-go/weir/stage"
)

// Loop is the tail of a worker that the caller runs itself, one item at a time.
type Loop[T any] struct {
	w  *Worker
	in Input[T]
}

// NewLoop returns a Loop over in.
func NewLoop[T any](w *Worker, in Input[T]) *Loop[T] {
	w.Body(func() error { return nil }, in.Leave)
	return &Loop[T]{w: w, in: in}
}

// Worker returns the worker.
func (l *Loop[T]) Worker() *Worker { return l.w }

// Range calls yield for each item until the end of the stream, or until yield returns false; the run has ended then. It
// reports whether yield wanted more. A panic in yield fails the item and stops the run, and goes on.
func (l *Loop[T]) Range(yield func(T) bool) (more bool) {
	var one [1]T
	var tag [1]*Tag
	var tags []*Tag
	if l.in.Tagged {
		tags = tag[:]
	}
	err := stage.ErrGoexit
	defer func() {
		l.w.doubt = l.w.doubt || err == stage.ErrGoexit && tag[0] == nil && !l.w.blamed //nolint:errorlint // its own, not one that was pulled
		tag[0].Release(stage.Outcome{Kind: stage.Failed, Err: err})
		l.w.run.Finish(l.w, err)
		if !more {
			<-l.w.run.done
		}
	}()
	for {
		n, perr := l.pull(one[:], tags)
		if n == 0 && perr != nil {
			err = perr
			return true
		}
		again := yield(one[0])
		l.w.run.report.done.Add(1)
		release(tags, stage.Outcome{})
		if !again {
			err = ErrLeft
			return false
		}
		if perr != nil {
			err = perr
			return true
		}
	}
}

// pull pulls one item. A panic in the chain is an error, as it is in a goroutine of the run's own.
func (l *Loop[T]) pull(dst []T, tags []*Tag) (n int, err error) {
	defer func() {
		if p := recover(); p != nil {
			n, err = 0, l.w.failure(&stage.PanicError{Value: p}, debug.Stack())
			l.w.doubt = true
		}
	}()
	return l.in.Pull(dst, tags)
}
