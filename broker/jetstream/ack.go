package jetstream

import (
	"time"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/stage"
)

// answer is what is going to be sent about a delivery.
type answer struct {
	token uint64
	verb  verb
	delay time.Duration
	reply string

	covers uint64 // Cumulative: how many deliveries an acknowledgement covers
}

// Settle ends a delivery. The answer is sent by the postman, so nothing here waits for the connection.
func (f *Fetcher) Settle(tok uint64, o stage.Outcome) {
	f.mu.Lock()
	i, s := f.slots.find(tok)
	if s == nil || s.state != held {
		f.mu.Unlock()
		return
	}
	lost := f.expired(s, clock.Now())
	if f.line.on {
		f.settleInLine(i, o, lost)
	} else {
		f.settle(i, o, lost)
	}
	f.mu.Unlock()
	f.signal(f.kick)
}

// settle queues the answer to a delivery. One that the server may have given to somebody else is not failed: that would fail the
// other one's. Acknowledging it is right all the same.
func (f *Fetcher) settle(i int32, o stage.Outcome, lost bool) {
	v := verbOf(o.Kind)
	if v == nak {
		f.gaps.returned(&f.slots.all[i], f.limit)
	}
	if v == nak && lost {
		f.free(i)
		return
	}
	f.queue(i, v, o.Delay)
}

func verbOf(k stage.OutcomeKind) verb {
	switch k {
	case stage.Done:
		return ack
	case stage.Terminated:
		return term
	case stage.Failed:
	}
	return nak
}

func (f *Fetcher) queue(i int32, v verb, delay time.Duration) {
	s := &f.slots.all[i]
	s.state, s.verb = leaving, v
	f.out = append(f.out, answer{token: token(i, s.gen), verb: v, delay: delay, reply: s.reply})
}

// free releases a place.
func (f *Fetcher) free(i int32) {
	f.slots.release(i)
	f.roomAgain()
}

// roomAgain wakes a Fetch that would ask for more if it had places for it.
func (f *Fetcher) roomAgain() {
	if f.starved {
		f.starved = false
		f.signal(f.wake)
	}
}

// expired tells whether the server may have given a delivery to somebody else, and counts each that has come to that once.
func (f *Fetcher) expired(s *slot, now int64) bool {
	if !s.lost && now-s.seen > int64(f.bound.ackWait) {
		s.lost = true
		f.counts.leaseLost++
	}
	return s.lost
}

// sent notes that an answer has gone out on a connection that was up. It is called with the lock held.
func (f *Fetcher) sent(a *answer, now int64) {
	i, s := f.slots.find(a.token)
	current := s != nil && s.state == leaving // else it was sent before; or it has failed, and Cumulative keeps its place
	switch {
	case f.cfg.Ack != Confirmed:
		f.note(a)
		if current {
			f.free(i)
		}
	case current:
		s.state, s.asked = asked, now
	}
}

// confirm notes that the server has taken an answer. It is called with the lock held.
func (f *Fetcher) confirm(tok uint64) {
	i, s := f.slots.find(tok)
	if s == nil || s.state != asked && s.state != leaving {
		return // asked twice, answered twice
	}
	f.counts.answered(&answer{verb: s.verb})
	f.free(i)
}

// askAgain repeats the answers that were sent before the given moment and have not been confirmed. A nak is not repeated: where the
// first one arrived the second would fail another delivery; where it did not, the message comes again by itself. It is called
// with the lock held.
func (f *Fetcher) askAgain(before int64) {
	for i := range f.slots.all {
		s := &f.slots.all[i]
		switch {
		case s.state != asked || s.asked >= before:
		case s.verb == nak:
			f.free(int32(i))
		default:
			f.queue(int32(i), s.verb, 0)
		}
	}
}
