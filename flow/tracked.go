package flow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"github.com/weir-go/weir/stage"
)

// tracked is a source whose items carry claims of a tracker. While it runs a goroutine saves the position.
type tracked[T any] struct {
	src     stage.Source[stage.At[T]] // nil in a run that is not live
	tracker *tracker
	saver   *saver
	buf     []stage.At[T]
	closed  bool
}

func newTracked[T any](b *build, name string, c Checkpointing) *tracked[T] {
	t := newTracker(c.ahead)
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(b.ctx))
	return &tracked[T]{tracker: t, saver: &saver{
		store: c.store, every: c.every, tracker: t, name: name, fail: b.run.Stop,
		ctx: ctx, cancel: cancel, over: make(chan struct{}),
	}}
}

// PullItems implements [stage.ItemSource].
func (s *tracked[T]) PullItems(ctx context.Context, dst []stage.Item[T]) (int, error) {
	s.saver.start()
	if err := s.tracker.wait(ctx); err != nil {
		return 0, err
	}
	if len(dst) > len(s.buf) {
		s.buf = make([]stage.At[T], len(dst))
	}
	n, err := s.src.Pull(ctx, s.buf[:len(dst)])
	if n <= 0 || n > len(dst) {
		return n, err // a broken rule is the engine's to report
	}
	first := s.tracker.add(n, func(i int) string { return s.buf[i].Position })
	for i := range n {
		dst[i] = stage.Claimed(s.buf[i].Value, stage.Meta{}, s.tracker, first+uint64(i))
	}
	clear(s.buf[:n])
	return n, err
}

// Close implements [io.Closer]: it is called when all that was made of the items has left the pipeline.
func (s *tracked[T]) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	var err error
	if c, ok := s.src.(io.Closer); ok {
		err = c.Close()
	}
	return errors.Join(err, s.saver.finish())
}

// saver saves the position of a tracker.
type saver struct {
	store   CheckpointStore
	every   time.Duration
	tracker *tracker
	name    string      // of the source
	fail    func(error) // stops the run

	ctx     context.Context
	cancel  context.CancelCauseFunc
	over    chan struct{} // closed when the run has ended
	started bool
	wg      sync.WaitGroup

	saved string // the rest is the goroutine's until it has ended
	err   error  // came too late to stop the run
}

// start starts the goroutine, once. It is called by whoever pulls.
func (s *saver) start() {
	if !s.started {
		s.started = true
		s.wg.Go(s.run)
	}
}

// run saves when the position has moved, and at the end, unless the store fails.
func (s *saver) run() {
	for more := true; more; {
		select {
		case <-s.tracker.moved:
		case <-s.over:
			more = false
		}
		if !s.save() {
			return
		}
		if more {
			s.pause()
		}
	}
}

// pause waits between two saves.
func (s *saver) pause() {
	timer := time.NewTimer(s.every)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.over:
	}
}

// save saves the position reached, if that is not the one saved. A panic or a Goexit in the store is an error as everywhere.
func (s *saver) save() (ok bool) {
	at := s.tracker.reached()
	if at == s.saved {
		return true
	}
	err := &stage.Error{Stage: s.name, Err: stage.ErrGoexit}
	defer func() {
		if p := recover(); p != nil {
			err.Err, err.Stack = &stage.PanicError{Value: p}, debug.Stack()
		}
		if err.Err != nil {
			s.report(err)
		}
	}()
	err.Err = s.store.Save(s.ctx, at)
	if err.Err != nil {
		err.Err = fmt.Errorf("save the checkpoint %q: %w", at, err.Err)
		return false
	}
	s.saved = at
	return true
}

// report stops the run, or keeps the error for its end.
func (s *saver) report(err error) {
	select {
	case <-s.over:
		s.err = err
	default:
		s.fail(err)
	}
}

// finish saves the last position and ends the goroutine.
func (s *saver) finish() error {
	late := time.AfterFunc(lastSave, func() { s.cancel(fmt.Errorf("not done %v after the end of the run", lastSave)) })
	defer late.Stop()
	defer s.cancel(nil)
	close(s.over)
	s.wg.Wait()
	return s.err
}
