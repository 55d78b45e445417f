package engine

import (
	"sync/atomic"

	"github.com/weir-go/weir/stage"
)

// Finish tells a sink that its stream has ended, when the last of its workers has seen that.
type Finish struct {
	sink stage.Finisher
	left atomic.Int64
}

// NewFinish returns the Finish of a sink with so many workers, nil if the sink does not want to know.
func NewFinish(sink any, workers int) *Finish {
	s, ok := sink.(stage.Finisher)
	if !ok {
		return nil
	}
	f := &Finish{sink: s}
	f.left.Store(int64(workers))
	return f
}

// FinishWith has the outlet take part in f, which may be nil.
func (o *Outlet[T]) FinishWith(f *Finish) { o.finish = f }

// finished is called by a worker with what its stream ended with. It returns what the worker ends with.
func (o *Outlet[T]) finished(end error) error {
	if end != stage.ErrEnd || o.finish == nil || o.finish.left.Add(-1) > 0 {
		return end
	}
	o.W.active.Store(o.Stage)
	if err := o.finish.sink.Finish(o.W.Context()); err != nil {
		return failure(o.Stage.Name, err, nil)
	}
	return end
}
