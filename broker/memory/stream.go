package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weir-go/weir/broker"
)

// Stream is where messages are stored, and a broker of its own. Create it with [NewStream].
type Stream struct {
	cfg     StreamConfig
	wrong   error // with cfg
	errFull error

	mu      sync.Mutex
	stored  chain
	fresh   *entry // the first that was never delivered; all behind it were not either
	again   agenda // to be delivered again, by sequence
	timed   agenda // in flight or delayed, by the moment at which they are to be delivered again
	seen    window
	timer   *time.Timer
	armed   time.Time // when timer fires; zero is not at all
	members []*Fetcher
	back    chan struct{} // closed by Up and Delete; nil while the broker can be reached
	mute    int           // confirmations to lose
	ended   bool
	lasting int // members that wait for an empty stream
	deleted bool

	lastSequence uint64
	lastToken    uint64
	senders      uint64
	delivered    uint64
	redelivered  uint64
	dropped      uint64
}

// NewStream returns an empty stream. What is wrong with the config comes out of Validate and Open of its Fetchers and Senders,
// all of it; a stream without a limit is an error that wraps [broker.ErrUnbounded].
func NewStream(c StreamConfig) *Stream {
	c.setDefaults()
	return &Stream{
		cfg:     c,
		wrong:   c.validate(),
		errFull: fmt.Errorf("memory: %s: %w", c.Name, broker.ErrFull),
		again:   agenda{before: bySequence},
		timed:   agenda{before: byDue},
		seen:    newWindow(c.DedupWindow, c.DedupIDs),
	}
}

// Info is what a stream holds and has done.
type Info struct {
	Messages, Bytes int64 // stored: waiting, in flight and delayed
	InFlight        int   // delivered and not settled

	FirstSequence uint64 // of the oldest message stored; LastSequence + 1 if there is none
	LastSequence  uint64 // of the newest message ever stored

	Delivered   uint64 // deliveries, repeated ones included
	Redelivered uint64 // the repeated ones
	Dropped     uint64 // messages that were removed to make room
}

// Info returns what the stream holds now.
func (s *Stream) Info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := Info{
		Messages: s.stored.count, Bytes: s.stored.bytes,
		FirstSequence: s.lastSequence + 1, LastSequence: s.lastSequence,
		Delivered: s.delivered, Redelivered: s.redelivered, Dropped: s.dropped,
	}
	if s.stored.first != nil {
		i.FirstSequence = s.stored.first.message.Sequence
	}
	for e := s.stored.first; e != s.fresh; e = e.next {
		if e.state == inFlight {
			i.InFlight++
		}
	}
	return i
}

// Resize changes the limits of a stream in use, MaxMessages and MaxBytes. A stream that refuses new messages keeps what is
// above them, one that drops the oldest drops them at once. Senders go on with the Limits that they know from Open.
func (s *Stream) Resize(maxMessages, maxBytes int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cfg
	c.MaxMessages, c.MaxBytes, c.Unbounded = maxMessages, maxBytes, false
	if err := c.validate(); err != nil {
		return err
	}
	// Field by field: the others are read without the lock.
	s.cfg.MaxMessages, s.cfg.MaxBytes = maxMessages, maxBytes
	if c.Full == broker.DropsOldest {
		s.makeRoom(0, 0)
	}
	return nil
}

// End says that no more messages will come: Send refuses them, and Fetch returns [stage.ErrEnd] when nothing is stored any
// more, which means that everything has settled. A pipeline that waits for more messages before it settles those it holds,
// such as one with a Batch without a time, does not see that end.
func (s *Stream) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.wakeAll()
}

// Delete removes the stream and everything in it. From then on Fetch and Send return an error that wraps [broker.ErrDeleted].
func (s *Stream) Delete() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleted = true
	for s.stored.first != nil {
		s.remove(s.stored.first)
	}
	s.reconnect()
	s.wakeAll()
}

// DeleteConsumers removes what the broker knows of the open Fetchers, which return an error that wraps [broker.ErrDeleted] from
// then on. What they had in flight is delivered again, to Fetchers that open later.
func (s *Stream) DeleteConsumers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.members {
		f.forget()
	}
	s.wakeAll()
}

// Down cuts all Fetchers and Senders off from the broker, which goes on without them: Open, Fetch and Send wait, outcomes are
// kept until they can be told, and what shows no sign of life for AckWait will be delivered again.
func (s *Stream) Down() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.back == nil && !s.deleted {
		s.back = make(chan struct{})
	}
}

// Up ends Down. Outcomes that were kept are told before anything else happens.
func (s *Stream) Up() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.back == nil {
		return
	}
	s.reconnect()
	now := time.Now()
	for _, f := range s.members {
		f.tellKept(now)
	}
	s.wakeAll()
}

// LoseConfirmations has the next n confirmations not arrive: the messages are stored, and their Sender has to send them again
// to find out.
func (s *Stream) LoseConfirmations(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute = max(n, 0)
}

func (s *Stream) reconnect() {
	if s.back != nil {
		close(s.back)
		s.back = nil
	}
}

// open waits until the broker can be reached.
func (s *Stream) open(ctx context.Context, wrong error) error {
	if err := errors.Join(s.wrong, wrong); err != nil {
		return err
	}
	return s.reach(ctx)
}

// reach waits while the broker is down.
func (s *Stream) reach(ctx context.Context) error {
	for {
		s.mu.Lock()
		back, gone := s.back, s.deleted
		s.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case gone:
			return s.errDeleted()
		case back == nil:
			return nil
		}
		select {
		case <-back:
		case <-ctx.Done():
		}
	}
}

func (s *Stream) errDeleted() error {
	return fmt.Errorf("memory: %s: %w", s.cfg.Name, broker.ErrDeleted)
}

func (s *Stream) limits() broker.Limits {
	s.mu.Lock()
	defer s.mu.Unlock()
	return broker.Limits{
		Message: s.cfg.MaxMessage, AckWait: max(s.cfg.AckWait, 0),
		Messages: s.cfg.MaxMessages, Bytes: s.cfg.MaxBytes, Full: s.cfg.Full,
	}
}

// wakeAll lets everybody look again who waits for a message. It is called with the lock held.
func (s *Stream) wakeAll() {
	for _, f := range s.members {
		f.wakeUp()
	}
}
