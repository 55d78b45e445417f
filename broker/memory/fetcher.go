package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/stage"
)

var errNotOpen = errors.New("memory: not open")

// Fetcher is one consumer of a [Stream]. It implements [broker.Fetcher]. Any number of them share a stream, as processes share
// a consumer at a broker: each message goes to one of them.
type Fetcher struct {
	stream *Stream
	cfg    FetchConfig
	wrong  error
	wake   chan struct{}

	// Guarded by the lock of the stream.
	unsettled map[uint64]*entry
	kept      []settlement // outcomes that the broker has not been told yet
	alive     time.Time    // the last sign of life
	beat      *time.Timer
	beating   bool
	open      bool
	lasts     bool // until the stream is empty, no longer
	ended     bool // it was
	deleted   bool
	closed    bool
	closeErr  error
	stats     FetchStats
}

// Fetcher returns a new consumer of the stream.
func (s *Stream) Fetcher(c FetchConfig) *Fetcher {
	c.setDefaults(s.cfg.AckWait)
	return &Fetcher{
		stream: s, cfg: c, wrong: c.validate(s.cfg.AckWait),
		wake:      make(chan struct{}, 1),
		unsettled: make(map[uint64]*entry),
	}
}

// Validate returns what is wrong with the configs of the stream and the Fetcher.
func (f *Fetcher) Validate() error { return errors.Join(f.stream.wrong, f.wrong) }

// Open waits while the broker is down.
func (f *Fetcher) Open(ctx context.Context) error {
	s := f.stream
	if err := s.open(ctx, f.wrong); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.closed {
		return broker.ErrClosed
	}
	if !f.open {
		f.open = true
		s.members = append(s.members, f)
	}
	return nil
}

// Fetch waits for a message and returns what is there, up to len(dst). Data and Header are what the stream holds: they are
// handed out again where the message is delivered again, and must not be changed.
func (f *Fetcher) Fetch(ctx context.Context, dst []broker.Delivery) (int, error) {
	for {
		n, err := f.take(ctx, dst)
		if n > 0 || err != nil || len(dst) == 0 {
			return n, err
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// take returns (0, nil) where there is nothing yet.
func (f *Fetcher) take(ctx context.Context, dst []broker.Delivery) (n int, err error) {
	s := f.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case f.closed:
		return 0, broker.ErrClosed
	case !f.open:
		return 0, errNotOpen
	case s.deleted || f.deleted:
		return 0, s.errDeleted()
	case f.ended, s.ended && s.stored.count == 0 && s.back == nil:
		return 0, stage.ErrEnd
	case len(dst) == 0:
		return 0, nil
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case s.back != nil:
		return 0, nil
	}
	now := time.Now()
	for n < len(dst) && len(f.unsettled) < f.cfg.InFlight {
		e := s.next()
		if e == nil {
			break
		}
		dst[n] = s.deliver(e, f, now)
		f.count(&dst[n])
		f.unsettled[e.token] = e
		n++
	}
	if n > 0 {
		f.keepAlive()
	} else if f.lasts && s.stored.count == int64(len(f.unsettled)) {
		f.ended = true
		return 0, stage.ErrEnd
	}
	return n, nil
}

// EndWhenEmpty implements [broker.Ender]: from now on Fetch ends where the stream holds nothing but what this Fetcher has delivered
// and what has not settled yet. A message that fails after that stays in the stream.
func (f *Fetcher) EndWhenEmpty() {
	s := f.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	if !f.lasts {
		f.lasts = true
		s.lasting++
		f.wakeUp()
	}
}

// wakeUp has Fetch and Close look again. It is called with the lock held.
func (f *Fetcher) wakeUp() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Limits returns what the Fetcher and its stream hold at most.
func (f *Fetcher) Limits() broker.Limits {
	l := f.stream.limits()
	l.InFlight = f.cfg.InFlight
	return l
}

// Close gives back what has not settled. Where the broker is down and has not been told everything, it waits for up to CloseWait.
// Further calls return what the first did.
func (f *Fetcher) Close() error {
	var late <-chan time.Time
	for !f.leave(false) {
		if late == nil {
			t := time.NewTimer(f.cfg.CloseWait)
			defer t.Stop()
			late = t.C
		}
		select {
		case <-f.wake:
		case <-late:
			f.leave(true)
		}
	}
	return f.closeErr
}

// leave ends the Fetcher, unless there is something to tell a broker that is down: that takes force, and an error.
func (f *Fetcher) leave(force bool) bool {
	s := f.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	owed := len(f.kept) + len(f.unsettled)
	switch down := s.back != nil && owed > 0; {
	case f.closed:
		return true
	case down && !force:
		return false
	case down:
		f.closeErr = fmt.Errorf("memory: close of a consumer of %s: the broker is down and has not been told of %d messages", s.cfg.Name, owed)
	default:
		f.giveBack()
	}
	f.end()
	return true
}

// giveBack has everything unsettled delivered again, which the stream does in its order.
func (f *Fetcher) giveBack() {
	for token, e := range f.unsettled {
		f.tell(settlement{e, token, stage.Outcome{Kind: stage.Failed, GivenBack: true}})
	}
}

// forget is the deletion of the consumer. It is called with the lock held.
func (f *Fetcher) forget() {
	f.deleted = true
	for _, e := range f.unsettled {
		if e.state == inFlight && e.by == f {
			f.stream.returned(e, 0)
		}
	}
	clear(f.unsettled)
	f.kept = nil
}

// Kill ends the Fetcher as the death of its process does: nothing is told to the broker, which waits for AckWait and then
// delivers what was in flight to others. It is for tests.
func (f *Fetcher) Kill() {
	f.stream.mu.Lock()
	defer f.stream.mu.Unlock()
	f.end()
}

// end is called with the lock held.
func (f *Fetcher) end() {
	f.closed = true
	f.wakeUp()
	f.unsettled, f.kept = nil, nil
	if f.beat != nil {
		f.beat.Stop()
	}
	s := f.stream
	s.members = slices.DeleteFunc(s.members, func(m *Fetcher) bool { return m == f })
}
