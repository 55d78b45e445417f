package jetstream

import (
	"sort"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/stage"
)

// line is the deliveries in the order of the stream, for a consumer whose acknowledgements cover everything in front of them.
//
// One must never cover a message that nobody has processed. Such messages are those given back, whose places stay in the line
// until they come again, and those that the server has handed out and that never arrived: sent to a process that died, or to
// a connection that broke. The latter show as gaps in the numbers that the consumer gives to its deliveries. While one is
// absent nothing is acknowledged.
//
// The server also ignores an acknowledgement whose delivery number is below that of an earlier one. So a message that came twice
// is acknowledged under the number of its first delivery.
type line struct {
	on       bool
	order    []int32 // places, by sequence
	next     uint64  // number of the next delivery
	away     int     // given back: they come again, into the places that they have
	absent   int     // handed out, never arrived
	position uint64  // sequence of the last one that was acknowledged
	owed     answer  // the acknowledgement that has not gone out, if it covers any
}

func (l *line) adopt(on bool, info *jetstream.ConsumerInfo) {
	l.on = on
	l.next, l.position = info.Delivered.Consumer+1, info.AckFloor.Stream
	l.absent = info.NumAckPending
}

// owe has an acknowledgement sent that covers n more deliveries.
func (l *line) owe(reply string, n uint64) {
	l.owed.reply = reply
	l.owed.covers += n
}

// take returns what is owed, which goes out now.
func (l *line) take() answer {
	a := l.owed
	l.owed = answer{}
	return a
}

// findInLine returns where a sequence stands in the line, or would.
func (f *Fetcher) findInLine(sequence uint64) (at int, found bool) {
	order := f.line.order
	at = sort.Search(len(order), func(k int) bool { return f.slots.all[order[k]].facts.sequence >= sequence })
	return at, at < len(order) && f.slots.all[order[at]].facts.sequence == sequence
}

// receiveInLine gives a delivery its place in the line. It is called with the lock held.
func (f *Fetcher) receiveInLine(m *nats.Msg, facts facts, since int64) {
	l := &f.line
	if facts.delivery >= l.next {
		l.absent += int(facts.delivery - l.next)
		l.next = facts.delivery + 1
	}
	at, found := f.findInLine(facts.sequence)
	switch {
	case found:
		f.repeated(l.order[at], m, facts, since)
		return
	case facts.sequence <= l.position: // its acknowledgement was lost, or ignored
		l.owe(m.Reply, 0)
		l.owed.covers = max(l.owed.covers, 1)
		f.signal(f.kick)
		return
	case facts.attempt > 1:
		l.absent = max(l.absent-1, 0)
	}
	i := f.accept(m, facts, since)
	l.order = append(l.order, 0)
	copy(l.order[at+1:], l.order[at:])
	l.order[at] = i
	f.ready.push(i)
}

// repeated takes in a delivery whose place is still in the line. Unless it was given back it is being worked on.
func (f *Fetcher) repeated(i int32, m *nats.Msg, facts facts, since int64) {
	s := &f.slots.all[i]
	s.seen, s.lost = since, false
	if s.state == failed {
		f.line.away--
		s.state, s.msg, s.arrived = waiting, m, since
		s.facts.attempt = facts.attempt
		f.ready.push(i)
	}
}

// settleInLine ends a delivery. It is called with the lock held.
func (f *Fetcher) settleInLine(i int32, o stage.Outcome, lost bool) {
	s := &f.slots.all[i]
	if verbOf(o.Kind) != nak {
		s.state = done // a +TERM would acknowledge what is in front of it
		f.advance()
		return
	}
	f.gaps.returned(s, f.limit)
	f.sendAway(s)
	if !lost {
		f.out = append(f.out, answer{token: token(i, s.gen), verb: nak, delay: max(o.Delay, 0), reply: s.reply})
	}
}

// sendAway keeps the place of a delivery that comes again. Its token is void.
func (f *Fetcher) sendAway(s *slot) {
	s.state, s.msg = failed, nil
	s.gen++
	f.line.away++
	f.roomAgain()
}

// advance acknowledges up to the last delivery that has nothing unsettled in front of it.
func (f *Fetcher) advance() {
	l := &f.line
	n := 0
	for ; l.absent == 0 && n < len(l.order) && f.slots.all[l.order[n]].state == done; n++ {
		s := &f.slots.all[l.order[n]]
		l.position = s.facts.sequence
		l.owe(s.reply, 1)
		f.free(l.order[n])
	}
	l.order = l.order[:copy(l.order, l.order[n:])]
}

// present takes in how many deliveries the server counts as unsettled. Where that is no more than what is in the line none is absent:
// those that were have been deleted from the stream.
func (f *Fetcher) present(ackPending int) {
	if l := &f.line; l.on && l.absent > 0 && ackPending <= len(l.order) {
		l.absent = 0
		f.advance()
		f.signal(f.kick)
	}
}

// absentFor is how long deliveries may be absent before the server is asked.
func (f *Fetcher) absentFor() time.Duration { return f.bound.ackWait }
