package jetstream

import "github.com/weir-go/weir/broker"

// SourceStats is what a [Source] has seen, in the pipeline and at the server.
type SourceStats struct {
	broker.SourceStats
	FetcherStats
}

// FetcherStats is what a [Fetcher] has seen.
type FetcherStats struct {
	Pending    uint64 // messages in the stream behind the last delivery, as the server last said
	Waiting    int    // deliveries that have arrived and nobody has fetched
	AckPending int    // what the server last said is unsettled, with all processes of the consumer; it is asked only when it is quiet
	Acked      uint64 // acknowledgements that have reached the server
	Naked      uint64 // deliveries given back with a delay or without, the same
	Ended      uint64 // deliveries terminated, the same
	Returned   uint64 // deliveries given back by Close
	Unsent     int    // answers that wait for the connection
	Unproven   int    // answers that have been sent and may not have reached the server
	LeaseLost  uint64 // deliveries that the server may have given to somebody else, because AckWait had passed
	Overheld   uint64 // deliveries that were older than MaxHold, and are not kept alive any more
	Lost       uint64 // messages that the stream deleted before anybody was through with them. Not with Filters or a limit per subject: they hide it
	Unseen     uint64 // deliveries to other processes, to connections that broke, to requests that were given up. Where there are any Lost may be too low
	Pulls      uint64 // requests for messages
	Nudges     uint64 // requests repeated because messages waited and none came
	Recreated  uint64 // times that the consumer was made again
	Reconnects uint64
	Stalled    string // why nothing comes although messages wait, "" where all is well
}

// counts are the numbers of a fetcher. They are guarded by its lock.
type counts struct {
	delivered, redelivered, acked, naked, ended, givenBack    uint64
	leaseLost, overheld, pulls, nudges, recreated, reconnects uint64
}

// answered counts an answer that has reached the server.
func (c *counts) answered(a *answer) {
	switch a.verb {
	case ack:
		c.acked += max(a.covers, 1)
	case nak:
		c.naked++
	case term:
		c.ended++
	case inProgress:
	}
}

// Stats returns what has been counted so far. It is safe for concurrent use.
func (f *Fetcher) Stats() FetcherStats {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &f.counts
	return FetcherStats{
		Pending: f.watch.pending, Waiting: f.ready.len(), AckPending: f.watch.ackPending,
		Acked: c.acked, Naked: c.naked, Ended: c.ended, Returned: c.givenBack,
		Unsent: len(f.out), Unproven: len(f.unproven), LeaseLost: c.leaseLost, Overheld: c.overheld,
		Pulls: c.pulls, Nudges: c.nudges, Recreated: c.recreated, Reconnects: c.reconnects,
		Stalled: f.watch.stalled, Lost: f.gaps.lost, Unseen: f.gaps.unseen,
	}
}
