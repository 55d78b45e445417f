package memory

import (
	"time"

	"github.com/weir-go/weir/broker"
)

// Everything here is called with the lock held, but expire.

// next returns the message that is to be delivered next, nil if there is none. What comes again was stored before everything fresh.
func (s *Stream) next() *entry {
	if e := s.again.first(); e != nil {
		return e
	}
	return s.fresh
}

// deliver gives a message to f.
func (s *Stream) deliver(e *entry, f *Fetcher, now time.Time) broker.Delivery {
	if e.state == again {
		s.again.remove(e)
		s.redelivered++
	} else {
		s.fresh = e.next
	}
	s.delivered++
	s.lastToken++
	e.token, e.by, e.state = s.lastToken, f, inFlight
	e.attempts++
	if s.cfg.AckWait > 0 {
		s.schedule(e, now.Add(s.cfg.AckWait))
	}
	d := e.message
	d.Token, d.Attempt = e.token, e.attempts
	return d
}

// returned has a message delivered again after a delay.
func (s *Stream) returned(e *entry, delay time.Duration) {
	s.unlist(e)
	e.by = nil
	if delay > 0 {
		e.state = delayed
		s.schedule(e, time.Now().Add(delay))
		return
	}
	e.state = again
	s.again.add(e)
}

// unlist takes a message off its agenda.
func (s *Stream) unlist(e *entry) {
	switch {
	case e.state == again:
		s.again.remove(e)
	case e.state == delayed, e.state == inFlight && s.cfg.AckWait > 0:
		s.timed.remove(e)
	}
}

func (s *Stream) schedule(e *entry, due time.Time) {
	e.due = due
	s.timed.add(e)
	s.arm()
}

// arm sees to it that expire runs when the first message is due. It may run earlier: what settles meanwhile does not stop it.
func (s *Stream) arm() {
	e := s.timed.first()
	if e == nil || !s.armed.IsZero() && !e.due.Before(s.armed) {
		return
	}
	s.armed = e.due
	if s.timer == nil {
		s.timer = time.AfterFunc(time.Until(e.due), s.expire)
		return
	}
	s.timer.Reset(time.Until(e.due))
}

// expire has everything delivered again that is due.
func (s *Stream) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.armed = time.Time{}
	due := false
	for e := s.timed.first(); e != nil && !e.due.After(now); e = s.timed.first() {
		if e.state == inFlight && e.by.alive.Add(s.cfg.AckWait).After(now) {
			e.due = e.by.alive.Add(s.cfg.AckWait)
			s.timed.moved(e)
			continue
		}
		s.returned(e, 0)
		due = true
	}
	if due {
		s.wakeAll()
	}
	s.arm()
}
