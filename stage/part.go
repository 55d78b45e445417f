package stage

import "context"

// Validator is a source or sink, or a sink of dead letters, whose options may be wrong. Validate is called when the pipeline is
// built, and must not touch the outside. It returns everything that is wrong at once; that is a build error.
type Validator interface{ Validate() error }

// Opener is a source or sink, or a sink of dead letters, that must be made ready: a connection, a check at a server. Open is called
// once for a run, by Start, before anything of the run happens; sources come first, then sinks of dead letters, then sinks.
// ctx is Start's. An error of Open is one of Start, and what was opened before it is closed, the last one first.
type Opener interface {
	Open(ctx context.Context) error
}

// InFlighter is a source that leaves at most so many items unsettled: it gives no more until some of them have settled. What
// collects more than that before it settles any, such as a large Batch without a time, would wait for ever, so it is a
// build error. 0 is no limit.
type InFlighter interface{ InFlight() int }

// Exhauster is an [InFlighter] that can say when it is at its limit, so that a run whose stages wait for more than that is found to stand
// still. Exhausted reports whether as many items are unsettled as the source leaves so, all of which an earlier Pull has returned: then
// the one that is going on returns nothing, no repeated item and no end either, before one of them settles, its context ends, or
// something outside fails or is told to end. It is asked now and then by another goroutine while Pull is going on, must be
// safe for concurrent use, must not wait, and must not panic. Where the source can't be sure it says no.
type Exhauster interface {
	InFlighter
	Exhausted() bool
}

// Finisher is a sink that wants to know when its stream has ended. Finish is called once, after the last Push, when everything has been
// pushed: not when the run fails or is stopped, and not together with a Push. Its error stops the run. Close comes later, when the
// whole run has ended.
type Finisher interface {
	Finish(ctx context.Context) error
}

// Follower is a source that another part of the same run feeds, in a way that the graph does not show: one half writes to a stream of a
// broker what the other half reads. When a drain begins the half that writes may be waiting for room, which only the one that
// reads can make; so a drain ends a Follower when Fed is closed, instead of at once.
type Follower interface{ Fed() <-chan struct{} }
