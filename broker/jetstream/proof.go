package jetstream

import (
	"slices"
	"strconv"
	"time"

	"github.com/weir-go/weir/internal/clock"
)

// proof finds out how far the server has read. Answers that nobody confirms may be lost with their connection, which a client
// notices late. So from time to time a message to the postman himself follows them: when it is back the server has read
// everything in front of it. What has no such proof when a connection is new is sent again.
type proof struct {
	number uint64 // of the last message
	since  int64  // when it was sent
	marked int    // how many of the unproven answers are in front of it, 0 where it is back
	timer  *time.Timer
}

const (
	proofInterval = 50 * time.Millisecond
	proofWithin   = 2 * time.Second
)

// note keeps an answer until there is proof. Only as many as can be in flight are kept: the server would not have sent more
// messages if it had not read the older answers. It is called with the lock held.
func (f *Fetcher) note(a *answer) {
	if len(f.unproven) >= 2*f.limit {
		f.dropProven(len(f.unproven) - f.limit)
	}
	f.unproven = append(f.unproven, *a)
}

// dropProven counts the oldest answers as arrived.
func (f *Fetcher) dropProven(n int) {
	n = min(n, len(f.unproven))
	for _, a := range f.unproven[:n] {
		f.counts.answered(&a)
	}
	f.unproven = slices.Delete(f.unproven, 0, n)
	f.postman.proof.marked = max(f.postman.proof.marked-n, 0)
}

// prove sends a message to the postman himself where there is something to prove, one at a time and not all the time.
func (f *Fetcher) prove() {
	if !f.nc.IsConnected() {
		return
	}
	p := &f.postman.proof
	now := clock.Now()
	f.mu.Lock()
	unproven := len(f.unproven)
	wait := proofInterval
	if p.marked > 0 { // one is under way, and may be lost
		wait = proofWithin
	}
	due := unproven > 0 && now-p.since >= int64(wait)
	if due {
		p.number++
		p.since, p.marked = now, unproven
	}
	f.mu.Unlock()
	if due {
		_ = f.nc.Publish(f.postman.inbox+"."+strconv.FormatUint(p.number, 10), nil) // without it the next one comes later
	} else if unproven > 0 {
		p.timer.Reset(proofInterval)
	}
}

// proven takes in that a message has come back. It is called with the lock held.
func (f *Fetcher) proven(number uint64) {
	if p := &f.postman.proof; number == p.number {
		f.dropProven(p.marked)
	}
}

// repeatUnproven queues what may have been lost with a connection. A nak is not repeated: where the first one arrived the second
// would fail another delivery; where it did not, the message comes again by itself. It is called with the lock held.
func (f *Fetcher) repeatUnproven() {
	again := slices.DeleteFunc(f.unproven, func(a answer) bool { return a.verb == nak })
	f.out = slices.Insert(f.out, 0, again...)
	f.unproven = f.unproven[:0]
	f.postman.proof.marked = 0
}
