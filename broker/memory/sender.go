package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/stage"
)

var (
	errLate     = fmt.Errorf("memory: the stream has ended: %w", broker.ErrRefused)
	errTooLarge = fmt.Errorf("memory: larger than the stream may be: %w", broker.ErrRefused)
)

// Sender is a way into a [Stream]. It implements [broker.Sender].
type Sender struct {
	stream *Stream
	cfg    SendConfig
	wrong  error
	number uint64        // among the senders of the stream
	lastID atomic.Uint64 // for messages that bring none

	mu     sync.Mutex
	opened bool
	closed bool
	stats  SendStats
}

// SendStats count what went through a [Sender].
type SendStats struct {
	Stored     uint64
	Duplicates uint64 // were stored already
	Full       uint64 // failed with broker.ErrFull
	Refused    uint64 // failed with broker.ErrRefused
	Repeated   uint64 // sent again because a confirmation did not come
}

// Sender returns a new way into the stream.
func (s *Stream) Sender(c SendConfig) *Sender {
	c.setDefaults()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.senders++
	return &Sender{stream: s, cfg: c, wrong: c.validate(), number: s.senders}
}

// Validate returns what is wrong with the configs of the stream and the Sender.
func (s *Sender) Validate() error { return errors.Join(s.stream.wrong, s.wrong) }

// Open waits while the broker is down.
func (s *Sender) Open(ctx context.Context) error {
	if err := s.stream.open(ctx, s.wrong); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return broker.ErrClosed
	}
	s.opened = true
	return nil
}

// Limits returns what the Sender has on the way at most, and what its stream holds.
func (s *Sender) Limits() broker.Limits {
	l := s.stream.limits()
	l.InFlight, l.Ordered = s.cfg.InFlight, true
	return l
}

// Send stores messages. It takes a message for refused that other brokers would not take, too: one that is larger than
// MaxMessage, or has a header that can't be written as a line of text.
func (s *Sender) Send(ctx context.Context, msgs []broker.Message) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	t := transfer{sender: s, replies: make([]answer, min(len(msgs), s.cfg.InFlight))}
	for first := 0; first < len(msgs); first += s.cfg.InFlight {
		t.group(ctx, msgs[first:min(first+s.cfg.InFlight, len(msgs))], first)
	}
	s.mu.Lock()
	s.stats.add(t.stats)
	s.mu.Unlock()
	slices.SortFunc(t.failed.Items, func(a, b stage.ItemError) int { return a.Index - b.Index })
	return t.failed.OrNil()
}

func (s *Sender) ready(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return broker.ErrClosed
	case !s.opened:
		return errNotOpen
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return nil
}

// Stats returns the counters.
func (s *Sender) Stats() SendStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Close ends the Sender. It may be called more than once.
func (s *Sender) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// newID returns an identity that no other message of the stream has.
func (s *Sender) newID() string {
	return "sender " + strconv.FormatUint(s.number, 10) + " message " + strconv.FormatUint(s.lastID.Add(1), 10)
}

// transfer is one call of Send.
type transfer struct {
	sender  *Sender
	replies []answer
	failed  stage.BatchError
	full    bool // the stream was, so nothing more of this Send is stored
	stats   SendStats
}

// group sends messages of which the first is number first of the Send, until it knows what became of them.
func (t *transfer) group(ctx context.Context, msgs []broker.Message, first int) {
	g := t.sort(msgs, first)
	replies := t.replies[:len(g.msgs)]
	for sent := false; len(g.msgs) > 0; sent = true {
		if err := t.sender.stream.reach(ctx); err != nil {
			t.fail(g, unknownIf(sent && ctx.Err() != nil, err))
			return
		}
		exists, full, confirmed := t.sender.stream.storeAll(g.msgs, g.ids, t.full, replies)
		switch {
		case !exists:
			t.fail(g, t.sender.stream.errDeleted())
			return
		case confirmed:
			t.full = full
			t.read(g, replies)
			return
		}
		t.stats.Repeated += uint64(len(g.msgs))
		t.waitForConfirmation(ctx)
	}
}

// waitForConfirmation returns when it is time to send again, or ctx is done, which the caller sees for itself.
func (t *transfer) waitForConfirmation(ctx context.Context) {
	late := time.NewTimer(t.sender.cfg.ConfirmWait)
	defer late.Stop()
	select {
	case <-late.C:
	case <-ctx.Done():
	}
}

func unknownIf(unknown bool, err error) error {
	if unknown {
		return fmt.Errorf("%w: %w", broker.ErrUnknown, err)
	}
	return err
}

// read turns the broker's answers into errors.
func (t *transfer) read(g group, replies []answer) {
	for i, a := range replies {
		switch a {
		case isStored:
			t.stats.Stored++
		case isDuplicate:
			t.stats.Duplicates++
		case isFull:
			t.stats.Full++
			t.failed.Add(g.index[i], t.sender.stream.errFull)
		case isLate:
			t.stats.Refused++
			t.failed.Add(g.index[i], errLate)
		case isTooLarge:
			t.stats.Refused++
			t.failed.Add(g.index[i], errTooLarge)
		}
	}
}

func (t *transfer) fail(g group, err error) {
	for _, i := range g.index {
		t.failed.Add(i, err)
	}
}

// group is what of some messages goes over the wire.
type group struct {
	msgs  []broker.Message
	ids   []string
	index []int // in the slice of Send
}

// sort leaves out what can never be stored, and gives an identity to what has none.
func (t *transfer) sort(msgs []broker.Message, first int) group {
	g := group{ids: make([]string, 0, len(msgs)), index: make([]int, 0, len(msgs))}
	for i := range msgs {
		m := &msgs[i]
		if err := t.sender.refuses(m); err != nil {
			t.stats.Refused++
			t.failed.Add(first+i, err)
			continue
		}
		id := m.ID
		if id == "" {
			id = t.sender.newID()
		}
		g.msgs = append(g.msgs, *m)
		g.ids = append(g.ids, id)
		g.index = append(g.index, first+i)
	}
	return g
}

// refuses returns why a message can never be stored.
func (s *Sender) refuses(m *broker.Message) error {
	if size, most := m.Size(), s.stream.cfg.MaxMessage; size > most {
		return fmt.Errorf("memory: a message of %d bytes, of %d allowed: %w", size, most, broker.ErrRefused)
	}
	if strings.ContainsAny(m.Subject, " \t\r\n") || strings.ContainsAny(m.ID, "\r\n") {
		return fmt.Errorf("memory: a subject or identity with spaces or line breaks: %w", broker.ErrRefused)
	}
	for name, values := range m.Header {
		if !plainHeader(name, values) {
			return fmt.Errorf("memory: the header %.40q is not a line of text: %w", name, broker.ErrRefused)
		}
	}
	return nil
}

func plainHeader(name string, values []string) bool {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c == ':' || c > '~' {
			return false
		}
	}
	for _, v := range values {
		if strings.ContainsAny(v, "\r\n\x00") {
			return false
		}
	}
	return name != ""
}

func (s *SendStats) add(t SendStats) {
	s.Stored += t.Stored
	s.Duplicates += t.Duplicates
	s.Full += t.Full
	s.Refused += t.Refused
	s.Repeated += t.Repeated
}
