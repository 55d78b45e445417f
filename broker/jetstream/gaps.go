package jetstream

import (
	"encoding/json"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// gaps counts the messages that left the stream before anybody was through with them: a full stream dropped them, they were too
// old, somebody purged it.
//
// Those that were never delivered show as a gap between the sequences of first deliveries, which the numbers that the consumer gives
// to its deliveries do not have. Those that were delivered are named by an advisory. They are lost only if they are failed or
// given back, then or before: the server can't deliver them again.
type gaps struct {
	sequence uint64 // of the last first delivery
	delivery uint64 // number of the last delivery
	missed   uint64 // of unseen: since the last first delivery
	blind    bool   // a filter, or a limit per subject, makes gaps that are no losses
	unseen   uint64 // deliveries that did not come here: see FetcherStats

	advice *nats.Subscription
	away   map[uint64]struct{} // sequences of what was given back and has not come again; kept while there is advice
	early  map[uint64]struct{} // sequences of what was deleted before its delivery has been received
	lost   uint64
}

// evictions is the subject of the advisories.
func evictions(c *SourceConfig) string {
	return "$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED." + c.Stream + "." + c.Durable
}

// evictedReason is the reason of those advisories that say that a message was deleted. Others are about what we terminate.
const evictedReason = "Unacknowledged message was deleted"

func (g *gaps) adopt(b *binding) {
	info := b.consumer
	g.sequence, g.delivery, g.missed = info.Delivered.Stream, info.Delivered.Consumer, 0
	g.blind = len(filters(&info.Config)) > 0 || !unlimited(b.stream.Config.MaxMsgsPerSubject)
	clear(g.away)
	clear(g.early)
}

// listenForEvictions subscribes to the advisories, where the stream is one that deletes what nobody has acknowledged. Advisories may be
// forbidden to us, which is no error.
func (f *Fetcher) listenForEvictions(b *binding) (err error) {
	s := &b.stream.Config
	if s.Discard != jetstream.DiscardOld && s.MaxAge == 0 {
		return nil
	}
	f.gaps.away, f.gaps.early = make(map[uint64]struct{}), make(map[uint64]struct{})
	f.gaps.advice, err = f.nc.Subscribe(evictions(&f.cfg), f.receiveEviction)
	return err
}

// arrived takes in the numbers of a delivery.
func (g *gaps) arrived(d facts) {
	if d.delivery > g.delivery {
		missed := d.delivery - g.delivery - 1
		g.missed += missed
		g.unseen += missed
		g.delivery = d.delivery
	}
	delete(g.away, d.sequence)
	if d.attempt > 1 || d.sequence <= g.sequence {
		return
	}
	between := d.sequence - g.sequence - 1
	if !g.blind {
		g.lost += between - min(between, g.missed)
	}
	g.sequence, g.missed = d.sequence, 0
}

// returned takes in that a delivery is given back. The server keeps at most limit of them: where there are more advisories got lost,
// and all are forgotten.
func (g *gaps) returned(s *slot, limit int) {
	switch {
	case g.away == nil:
		return
	case s.evicted:
		g.lost++
		return
	case len(g.away) >= 2*limit:
		clear(g.away)
	}
	g.away[s.facts.sequence] = struct{}{}
}

// gone tells whether a delivery that is received now is of a message that was deleted meanwhile.
func (g *gaps) gone(sequence uint64) bool {
	_, ok := g.early[sequence]
	delete(g.early, sequence)
	return ok
}

// receiveEviction takes in an advisory.
func (f *Fetcher) receiveEviction(m *nats.Msg) {
	var a struct {
		Sequence uint64 `json:"stream_seq"`
		Reason   string `json:"reason"`
	}
	if json.Unmarshal(m.Data, &a) != nil || a.Reason != evictedReason {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.evicted(a.Sequence)
}

// evicted takes in that a message was deleted that has been delivered. It is called with the lock held.
func (f *Fetcher) evicted(sequence uint64) {
	g := &f.gaps
	if _, ok := g.away[sequence]; ok {
		delete(g.away, sequence)
		g.lost++
		return
	}
	if sequence > g.sequence {
		g.early[sequence] = struct{}{}
		return
	}
	for i := range f.slots.all {
		s := &f.slots.all[i]
		if s.facts.sequence == sequence && (s.state == waiting || s.state == held) {
			s.evicted = true
		}
	}
}
