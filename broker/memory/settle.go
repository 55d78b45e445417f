package memory

import (
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/stage"
)

// FetchStats count what went through a [Fetcher].
type FetchStats struct {
	Delivered   uint64 // repeated deliveries included
	Redelivered uint64 // the repeated ones

	Done       uint64 // settled: processed
	Terminated uint64 // settled: never to come again
	Failed     uint64 // settled: to be delivered again
	GivenBack  uint64 // given back: by the pipeline, or by Close
	Late       uint64 // settled after the message had been taken away: dropped, or to be delivered again, or settled by another
}

// settlement is the outcome of one delivery.
type settlement struct {
	entry   *entry
	token   uint64
	outcome stage.Outcome
}

// Stats returns the counters.
func (f *Fetcher) Stats() FetchStats {
	f.stream.mu.Lock()
	defer f.stream.mu.Unlock()
	return f.stats
}

func (f *Fetcher) count(d *broker.Delivery) {
	f.stats.Delivered++
	if d.Attempt > 1 {
		f.stats.Redelivered++
	}
}

// Settle ends a delivery. While the broker is down the outcome is kept. A token that is not, or no longer, unsettled is ignored.
func (f *Fetcher) Settle(token uint64, o stage.Outcome) {
	f.stream.mu.Lock()
	defer f.stream.mu.Unlock()
	e, ok := f.unsettled[token]
	if !ok {
		return
	}
	delete(f.unsettled, token)
	if f.stream.back != nil {
		f.kept = append(f.kept, settlement{e, token, o})
		return
	}
	f.tell(settlement{e, token, o})
	f.wakeUp()
}

// tellKept tells the broker what it could not be told while it was down, and shows it a sign of life.
func (f *Fetcher) tellKept(now time.Time) {
	kept := f.kept
	f.kept = nil
	for _, k := range kept {
		f.tell(k)
	}
	if f.beating {
		f.alive = now
	}
}

// tell has the broker act on an outcome. Done and Terminated count whoever has the message by now: it was processed.
func (f *Fetcher) tell(k settlement) {
	s, e := f.stream, k.entry
	switch failed := k.outcome.Kind == stage.Failed; {
	case e.state == gone, failed && (e.state != inFlight || e.token != k.token):
		f.stats.Late++
	case failed:
		f.countFailed(k.outcome)
		s.returned(e, k.outcome.Delay)
		s.wakeAll()
	case k.outcome.Kind == stage.Terminated:
		f.stats.Terminated++
		s.remove(e)
	default:
		f.stats.Done++
		s.remove(e)
	}
}

func (f *Fetcher) countFailed(o stage.Outcome) {
	if o.GivenBack {
		f.stats.GivenBack++
	} else {
		f.stats.Failed++
	}
}

// keepAlive starts the signs of life. It is called with the lock held.
func (f *Fetcher) keepAlive() {
	if f.cfg.KeepAlive <= 0 || f.beating {
		return
	}
	f.beating = true
	if f.beat == nil {
		f.beat = time.AfterFunc(f.cfg.KeepAlive, f.live)
		return
	}
	f.beat.Reset(f.cfg.KeepAlive)
}

// live is one sign of life, for everything unsettled.
func (f *Fetcher) live() {
	s := f.stream
	s.mu.Lock()
	defer s.mu.Unlock()
	f.beating = !f.closed && len(f.unsettled) > 0
	if !f.beating {
		return
	}
	if s.back == nil {
		f.alive = time.Now()
	}
	f.beat.Reset(f.cfg.KeepAlive)
}
