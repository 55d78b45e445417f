package memory_test

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
	"github.com/weir-go/weir/stage"
)

// model is what a stream should do, said as simply as possible.
type model struct {
	cfg      memory.StreamConfig
	inFlight int
	stored   []*message // by sequence
	seen     []seen
	last     uint64
	counts   memory.Info // Delivered, Redelivered, Dropped
	down     bool
	clients  []*client // in the order they were opened
}

type message struct {
	sequence uint64
	size     int64
	attempts int
	holder   *client   // who has it; nil if nobody has
	token    uint64    // of the latest delivery
	due      time.Time // when it may be delivered
	gone     bool
}

type seen struct {
	id string
	at time.Time
}

// client is one consumer and what it has not settled, by token.
type client struct {
	f         *memory.Fetcher
	unsettled map[uint64]*message
	kept      []func() // outcomes to be told when the broker is back
	stats     memory.FetchStats
}

// send returns which messages are stored (nil), and the errors of the others.
func (m *model) send(msgs []broker.Message) []error {
	full := false
	var errs []error
	for i := range msgs {
		err := m.store(&msgs[i], full)
		full = full || errors.Is(err, broker.ErrFull)
		errs = append(errs, err)
	}
	return errs
}

func (m *model) store(msg *broker.Message, full bool) error {
	size, now := int64(msg.Size()), time.Now()
	if size > int64(m.cfg.MaxMessage) {
		return broker.ErrRefused
	}
	m.seen = slices.DeleteFunc(m.seen, func(s seen) bool { return now.Sub(s.at) >= m.cfg.DedupWindow })
	if slices.ContainsFunc(m.seen, func(s seen) bool { return s.id == msg.ID }) {
		return nil
	}
	if m.cfg.MaxBytes > 0 && size > m.cfg.MaxBytes {
		return broker.ErrRefused
	}
	if m.cfg.Full == broker.DropsOldest {
		m.evict(1, size)
	}
	if full || m.over(1, size) {
		return broker.ErrFull
	}
	m.last++
	m.stored = append(m.stored, &message{sequence: m.last, size: size})
	if m.seen = append(m.seen, seen{msg.ID, now}); len(m.seen) > m.cfg.DedupIDs {
		m.seen = m.seen[1:]
	}
	return nil
}

func (m *model) evict(count, size int64) {
	for m.over(count, size) {
		m.counts.Dropped++
		m.remove(m.stored[0])
	}
}

func (m *model) over(count, size int64) bool {
	return m.cfg.MaxMessages > 0 && int64(len(m.stored))+count > m.cfg.MaxMessages ||
		m.cfg.MaxBytes > 0 && m.bytes()+size > m.cfg.MaxBytes
}

func (m *model) bytes() (sum int64) {
	for _, s := range m.stored {
		sum += s.size
	}
	return sum
}

func (m *model) remove(gone *message) {
	gone.gone = true
	m.stored = slices.DeleteFunc(m.stored, func(s *message) bool { return s == gone })
}

// expire takes what is overdue from those who have it.
func (m *model) expire() {
	for _, s := range m.stored {
		if s.holder != nil && !s.due.After(time.Now()) {
			s.holder = nil
		}
	}
}

// ready returns what c would be given for a demand of n.
func (m *model) ready(c *client, n int) []*message {
	m.expire()
	if m.down {
		return nil
	}
	var found []*message
	for _, s := range m.stored {
		if len(found) == min(n, m.inFlight-len(c.unsettled)) {
			break
		}
		if s.holder == nil && !s.due.After(time.Now()) {
			found = append(found, s)
		}
	}
	return found
}

// deliver gives s to c.
func (m *model) deliver(c *client, s *message, token uint64) {
	s.attempts++
	m.counts.Delivered++
	c.stats.Delivered++
	if s.attempts > 1 {
		m.counts.Redelivered++
		c.stats.Redelivered++
	}
	s.holder, s.token, s.due = c, token, time.Now().Add(m.cfg.AckWait)
	c.unsettled[token] = s
}

// settle ends a delivery now, or when the broker is back.
func (m *model) settle(c *client, token uint64, o stage.Outcome) {
	s, ok := c.unsettled[token]
	if !ok {
		return
	}
	delete(c.unsettled, token)
	if m.down {
		c.kept = append(c.kept, func() { m.tell(c, s, token, o) })
		return
	}
	m.tell(c, s, token, o)
}

func (m *model) tell(c *client, s *message, token uint64, o stage.Outcome) {
	m.expire()
	switch {
	case s.gone, o.Kind == stage.Failed && (s.holder == nil || s.token != token):
		c.stats.Late++
	case o.Kind == stage.Done:
		c.stats.Done++
		m.remove(s)
	case o.Kind == stage.Terminated:
		c.stats.Terminated++
		m.remove(s)
	default:
		if o.GivenBack {
			c.stats.GivenBack++
		} else {
			c.stats.Failed++
		}
		s.holder, s.due = nil, time.Now().Add(o.Delay)
	}
}

// giveBack is Close.
func (m *model) giveBack(c *client) {
	tokens := make([]uint64, 0, len(c.unsettled))
	for token := range c.unsettled {
		tokens = append(tokens, token)
	}
	slices.SortFunc(tokens, cmp.Compare[uint64])
	for _, token := range tokens {
		m.settle(c, token, stage.Outcome{Kind: stage.Failed, GivenBack: true})
	}
}

func (m *model) up() {
	m.down = false
	for _, c := range m.clients {
		for _, tell := range c.kept {
			tell()
		}
		c.kept = nil
	}
}

func (m *model) info() memory.Info {
	m.expire()
	i := m.counts
	i.Messages, i.Bytes = int64(len(m.stored)), m.bytes()
	i.FirstSequence, i.LastSequence = m.last+1, m.last
	for n, s := range m.stored {
		if n == 0 {
			i.FirstSequence = s.sequence
		}
		if s.holder != nil {
			i.InFlight++
		}
	}
	return i
}
