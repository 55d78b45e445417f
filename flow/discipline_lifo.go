package flow

import (
	"time"

	"github.com/weir-go/weir/internal/queue"
)

// AdaptiveLIFO serves the newest item first while there is a standing queue, and the oldest first otherwise. Under an overload first
// in, first out serves everybody too late; the newest is the one whose caller is still there. The queue stands when for a whole interval
// the oldest item had always waited longer than target.
//
//	Shape:        no order is kept while the queue stands.
//	Backpressure: never: the edge must have the policy DropOldest. Old items leave by MaxWait, which is required and must
//	              be above target, so that none waits longer than that before it is served or dropped.
//	Errors:       target <= 0, interval <= 0, other policies, no MaxWait, and CoDel, which looks at the oldest first, are
//	              build errors.
//	Cost:         that of an edge in the order of arrival (row P8 of the benchmarks): it is served at the other end.
//	Source:       B. Maurer, "Fail at Scale", ACM Queue, 2015.
//
// Only where items can be abandoned. It creates no capacity: it decides who is served in time.
func AdaptiveLIFO[T any](target, interval time.Duration) Discipline[T] {
	d := &discipline[T]{
		name: "AdaptiveLIFO", policies: []Policy{DropOldest}, because: "the policy must be DropOldest: the oldest is who pays for the newest",
		alone: true, waits: true, of: queue.Order{Kind: queue.Newest, Target: target, Interval: interval},
	}
	d.check(target > 0, argument("target", "> 0", target))
	d.check(interval > 0, argument("interval", "> 0", interval))
	return d
}
