package stage

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

const (
	defaultWindow = 64
	maxWindow     = 1<<31 - 1
)

// Subscribed is a source of what a [Publisher] delivers. It is made by [Subscribe].
type Subscribed[T any] struct {
	from   Publisher[T]
	window int
	err    error // final

	// in is what the publisher holds. It knows nothing of the source, which may end first.
	in *mailbox[T]

	mu     sync.Mutex
	sub    Subscription // nil before the first Pull, and when it is over
	closed bool
}

// Subscribe returns a source of what p delivers. It subscribes at its first Pull, and holds at most window values that were
// delivered and not handed out; 0 is 64.
//
//	Emits:       what has been delivered, up to the demand.
//	Waits:       for the first value.
//	Ends:        behind Complete and, where Cancel is called, behind what has been delivered until then.
//	Errors:      an error of Subscribe, except where its context is done, and of Fail; the values delivered before it
//	             come first. More values than were requested are an error of the source: those in excess are
//	             not taken. A window < 0 or > 2147483647 is an error of the first Pull.
//	Demand:      window values at first, then again whenever half of the window has been handed out: what was
//	             requested is what was delivered and what may still come, which together with what is held is
//	             never more than window.
//	Ownership:   Close cancels the subscription.
//	Concurrency: Pull has one caller at a time, Cancel and the publisher any. The publisher's calls may overlap.
//	Cost:        a lock for each Deliver and each Pull; no allocation per value.
func Subscribe[T any](p Publisher[T], window int) *Subscribed[T] {
	s := &Subscribed[T]{from: p, window: window}
	switch {
	case p == nil:
		s.err = errors.New("stage: Subscribe: publisher must not be nil")
	case window < 0 || window > maxWindow:
		s.err = fmt.Errorf("stage: Subscribe: window must be 0 to %d, got %d", maxWindow, window)
	case window == 0:
		s.window = defaultWindow
	}
	s.in = newMailbox[T](s.window)
	return s
}

// Pull implements [Source].
func (s *Subscribed[T]) Pull(ctx context.Context, dst []T) (int, error) {
	if ok, err := proceed(ctx, s.err, len(dst)); !ok {
		return 0, err
	}
	s.err = errPanicked // in the publisher
	n, final, err := s.pull(ctx, dst)
	if s.err = nil; final {
		s.err = err
		s.stop()
	}
	return n, err
}

// pull reports whether the error is final as well.
func (s *Subscribed[T]) pull(ctx context.Context, dst []T) (n int, final bool, err error) {
	if s.from != nil {
		if final, err = s.subscribe(ctx); err != nil {
			return 0, final, err
		}
	}
	for {
		if n := s.in.grant(); n > 0 {
			if sub := s.subscription(); sub != nil {
				sub.Request(int64(n))
			}
		}
		if n, err := s.in.take(dst); n > 0 || err != nil {
			return n, err != nil, err
		}
		select {
		case <-s.in.news:
		case <-ctx.Done():
			return 0, false, context.Cause(ctx)
		}
	}
}

// subscribe does so once. It reports whether its error is final.
func (s *Subscribed[T]) subscribe(ctx context.Context) (final bool, err error) {
	sub, err := s.from.Subscribe(ctx, s.in)
	switch {
	case err == ErrEnd:
		return true, endAsError(err) // no stream has begun
	case err != nil && ctx.Err() != nil:
		return false, interrupted(ctx, err)
	case err != nil:
		return true, err
	case sub == nil:
		return true, errors.New("stage: the publisher returned no subscription and no error")
	}
	s.from = nil
	s.mu.Lock()
	over := s.closed
	if !over {
		s.sub = sub
	}
	s.mu.Unlock()
	if over {
		sub.Cancel()
	}
	return false, nil
}

func (s *Subscribed[T]) subscription() Subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sub
}

// Cancel ends the subscription: what has been delivered is still handed out, and then the stream ends. Any goroutine may call
// it. Further calls do nothing.
func (s *Subscribed[T]) Cancel() {
	s.stop() // first: a panic in it is not to look like a clean end
	s.in.finish(ErrEnd)
}

// stop cancels the subscription once.
func (s *Subscribed[T]) stop() {
	s.mu.Lock()
	sub := s.sub
	s.sub, s.closed = nil, true
	s.mu.Unlock()
	if sub != nil {
		sub.Cancel()
	}
}

// Close cancels the subscription and forgets what it holds. Further calls do nothing.
func (s *Subscribed[T]) Close() error {
	if s.err == nil {
		s.err = errClosed
	}
	s.in.finish(ErrEnd)
	s.in.forget()
	s.stop()
	return nil
}
