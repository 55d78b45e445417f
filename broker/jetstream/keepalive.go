package jetstream

import (
	"time"

	"github.com/weir-go/weir/internal/clock"
)

// ping is a sign of life to be sent.
type ping struct {
	token uint64
	reply string
}

// keepAlive tells the server about every delivery that is not settled that it is being worked on, also about those that nobody has
// fetched yet. It does so three times in AckWait.
func (f *Fetcher) keepAlive() {
	pings := f.due(clock.Now())
	if !f.nc.IsConnected() {
		return
	}
	now := clock.Now()
	sent := 0
	for ; sent < len(pings); sent++ {
		if f.nc.Publish(pings[sent].reply, inProgressBody) != nil {
			break // the connection has just broken; those that were left out are late, which is noticed when they settle
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range pings[:sent] {
		if _, s := f.slots.find(p.token); s != nil {
			s.seen = max(s.seen, now)
		}
	}
}

// due returns the deliveries that need a sign of life.
func (f *Fetcher) due(now int64) []ping {
	p := &f.postman
	p.pings = p.pings[:0]
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.fetching {
		f.receiveAll(f.emptied)
	} else if len(f.inbox) == 0 {
		f.emptied = now
	}
	if f.cfg.Ack == Confirmed {
		f.askAgain(now - int64(confirmWithin))
	}
	for i := range f.slots.all {
		s := &f.slots.all[i]
		if s.state != waiting && s.state != held && s.state != done || f.expired(s, now) || f.heldTooLong(s, now) {
			continue
		}
		p.pings = append(p.pings, ping{token(int32(i), s.gen), s.reply})
	}
	return p.pings
}

// heldTooLong tells whether a delivery is not kept alive any more, and counts each once.
func (f *Fetcher) heldTooLong(s *slot, now int64) bool {
	if !s.overheld && time.Duration(now-s.arrived) > f.cfg.MaxHold {
		s.overheld = true
		f.counts.overheld++
	}
	return s.overheld
}
