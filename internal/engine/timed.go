package engine

import (
	"time"

	"github.com/weir-go/weir/internal/clock"
)

// NoLimit is a limit in time that never comes.
const NoLimit time.Duration = -1

// Timed reads from an edge, and waits there for a limited time. No timer is left between two calls.
type Timed[T any] struct {
	Input[T]
	head  *edgeHead[T]
	timer *time.Timer
}

// NewTimed returns a Timed that reads from in, the head at an edge.
func NewTimed[T any](in Input[T]) *Timed[T] {
	return &Timed[T]{Input: in, head: in.Reader.(*edgeHead[T])}
}

// PullFor is Pull, but waits at most for limit. It returns queue.ErrTimeout when nothing has come by then.
func (t *Timed[T]) PullFor(dst []T, tags []*Tag, limit time.Duration) (int, error) {
	timeout := t.start(limit)
	defer t.stop()
	now := clock.Now()
	return t.head.take(now, t.head.w.granted(now, len(dst)), dst, tags, timeout)
}

// TakeFor is PullFor without regard to the cost of items, for steps that hand on few of those that they take.
func (t *Timed[T]) TakeFor(dst []T, tags []*Tag, limit time.Duration) (int, error) {
	timeout := t.start(limit)
	defer t.stop()
	return t.head.PullUntil(dst, tags, timeout)
}

func (t *Timed[T]) start(limit time.Duration) <-chan time.Time {
	switch {
	case limit < 0:
		return nil
	case t.timer == nil:
		t.timer = time.NewTimer(limit)
	default:
		t.timer.Reset(limit)
	}
	return t.timer.C
}

func (t *Timed[T]) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}
