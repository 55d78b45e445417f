package jetstream

import (
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/internal/clock"
)

// pulls are the requests for messages that stand at the server. Messages do not say which request they answer, so what is
// counted is the credit: how many may still come for all of them together.
type pulls struct {
	subject   string // of requests
	inbox     string // of answers; each request appends its number
	sub       *nats.Subscription
	heartbeat time.Duration
	expiry    time.Duration
	maxBatch  int
	most      int // requests at once

	credit   int
	standing int    // requests that may still stand: all that were sent since the credit was last zero
	number   uint64 // of the last request
	ends     int64  // when the last request has expired
	heard    int64  // when the server was last heard
	silent   int64  // since when it has been known that heartbeats are missing; 0 where none are
	stale    bool   // what stood is gone: ask anew, in another inbox
	failures int    // in a row
	retryAt  int64  // not before
	body     []byte
}

const (
	beatsPerPull  = 4 // heartbeats in the time that a request stands
	beatsMissed   = 2 // missing heartbeats that prove that it does not stand any more
	secondLook    = 2 // a part of a heartbeat, for which they must go on missing when that has been noticed
	firstPullWait = 50 * time.Millisecond
	mostPullWait  = 5 * time.Second
)

// inboxSize is how many messages can arrive while nobody receives: those of all credit, what each request is told, and answers to
// the watchdog.
func inboxSize(b *binding) int { return b.maxAckPending + b.maxRequests*(beatsPerPull+2) + 2 }

func (p *pulls) adopt(c *SourceConfig, b *binding) {
	p.subject = apiPrefix(c) + "CONSUMER.MSG.NEXT." + c.Stream + "." + c.Durable
	p.expiry, p.heartbeat = b.expiry, b.expiry/beatsPerPull
	p.maxBatch, p.most = b.maxBatch, b.maxRequests
	p.forget()
}

func apiPrefix(c *SourceConfig) string {
	if c.Domain == "" {
		return "$JS.API."
	}
	return "$JS." + c.Domain + ".API."
}

// got takes a message off the credit.
func (p *pulls) got() {
	p.failures, p.retryAt = 0, 0
	p.less(1)
}

// less takes n off the credit.
func (p *pulls) less(n int) {
	if p.credit = max(p.credit-n, 0); p.credit == 0 {
		p.standing = 0
	}
}

// forget says that no request stands any more. Answers to old ones that come all the same are still received.
func (p *pulls) forget() { p.credit, p.standing, p.silent, p.stale = 0, 0, 0, true }

// renew begins anew.
func (p *pulls) renew() {
	p.forget()
	p.failures, p.retryAt = 0, 0
}

// fail says that a request has failed: the next one waits, twice as long after each that fails in a row.
func (p *pulls) fail(now int64) {
	p.forget()
	wait := min(firstPullWait<<min(p.failures, 10), mostPullWait)
	p.failures++
	p.retryAt = now + int64(wait)
}

// again says that no request stands any more, and that the next one need not wait, unless this goes on and on.
func (p *pulls) again(now int64) {
	if p.failures > 0 {
		p.fail(now)
		return
	}
	p.forget()
	p.failures = 1
}

// check finds requests that are gone without a word. Silence has to last for a while after it has been noticed: a process that had no
// time has not read yet what came meanwhile. Where a request that stands was given up, a message on its way to it would come
// again, behind the others.
func (p *pulls) check(now int64) {
	silence := p.credit > 0 && now-p.heard > beatsMissed*int64(p.heartbeat)
	if !silence {
		p.silent = 0
	}
	switch {
	case p.credit == 0:
	case silence && p.silent == 0:
		p.silent = now
	case silence:
		if now-p.silent >= int64(p.heartbeat)/secondLook {
			p.forget()
		}
	case now > p.ends+int64(p.heartbeat): // the word about the last one got lost, while others were heard of
		p.less(p.credit)
	}
}

// want is how much to ask for: what the demand and the free places allow beyond what is there or under way, and nothing while
// more than half of what was last asked for is still to come.
func (p *pulls) want(demand, ready, room int) int {
	n := min(demand-ready, room) - p.credit
	if p.maxBatch > 0 {
		n = min(n, p.maxBatch)
	}
	if n <= 0 || 2*n < p.credit+n || p.credit > 0 && p.standing >= p.most {
		return 0
	}
	return n
}

// request returns the payload of a request for n messages.
func (p *pulls) request(n int) []byte {
	b := append(p.body[:0], `{"batch":`...)
	b = strconv.AppendInt(b, int64(n), 10)
	b = append(b, `,"expires":`...)
	b = strconv.AppendInt(b, int64(p.expiry), 10)
	b = append(b, `,"idle_heartbeat":`...)
	b = strconv.AppendInt(b, int64(p.heartbeat), 10)
	p.body = append(b, '}')
	return p.body
}

// pull asks for messages where there is demand for them. It is Fetch's.
func (f *Fetcher) pull(demand int) {
	n := f.plan(demand)
	if n == 0 {
		return
	}
	p := &f.pulls
	err := f.freshInbox()
	if err == nil {
		p.number++
		reply := p.inbox + "." + strconv.FormatUint(p.number, 10)
		err = f.nc.PublishRequest(p.subject, reply, p.request(n))
	}
	f.asked(n, err)
	f.trackFloor(clock.Now())
}

func (f *Fetcher) asked(n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.pulls.fail(clock.Now())
		f.checkClosed(err)
		return
	}
	f.counts.pulls++
	f.pulls.credit += n
	f.pulls.standing++
}

// plan returns how much to ask for now. Nothing is received until pull is through, so what comes finds its credit counted.
func (f *Fetcher) plan(demand int) int {
	connected, epoch := f.nc.IsConnected(), f.nc.Stats().Reconnects
	f.mu.Lock()
	defer f.mu.Unlock()
	p := &f.pulls
	now := clock.Now()
	room := f.limit - f.slots.used + f.line.away
	f.starved = room < demand-f.ready.len()
	if f.final != nil || f.closing || now < p.retryAt || !connected {
		return 0
	}
	if epoch != f.epoch {
		f.signal(f.kick) // the postman has to go first
		return 0
	}
	n := p.want(demand, f.ready.len(), room)
	if n > 0 {
		p.ends, p.heard = now+int64(p.expiry), now
	}
	return n
}

// freshInbox makes a new inbox where the old one may be in use by requests that nobody counts any more. Leaving it ends them. What
// is on its way into it still arrives, in the same channel and in front of what is asked for next.
func (f *Fetcher) freshInbox() error {
	f.mu.Lock()
	stale := f.pulls.stale
	f.mu.Unlock()
	if !stale {
		return nil
	}
	inbox := f.nc.NewInbox()
	sub, err := f.nc.ChanSubscribe(inbox+".*", f.inbox)
	if err != nil {
		return err
	}
	f.mu.Lock()
	old := f.pulls.sub
	f.pulls.sub, f.pulls.inbox, f.pulls.stale = sub, inbox, false
	f.mu.Unlock()
	if old != nil {
		_ = old.Drain() // it fails where the connection has been closed, which is noticed elsewhere
	}
	return nil
}

// receiveStatus takes in what is no message. It is called with the lock held.
func (f *Fetcher) receiveStatus(m *nats.Msg, current bool, now int64) {
	if m.Sub == f.watch.sub {
		f.receiveInfo(m, now)
		return
	}
	if !current {
		return // about a request that is not counted any more
	}
	p := &f.pulls
	verdict, lacked := readStatus(m.Header)
	switch verdict {
	case alive:
		p.failures = 0
	case over:
		p.failures = 0
		if lacked < 0 {
			lacked = p.credit
		}
		p.less(lacked)
	case lost:
		p.again(now)
	case refused:
		p.fail(now)
	case missing:
		p.fail(now)
		f.watch.doubt = true
	case useless:
		f.fail(fmt.Errorf("%s does not answer requests: %s", f.where(), m.Header.Get(descriptionHeader)))
	}
}
