package sizing

import (
	"fmt"
	"strings"
	"time"
)

// Advice is what follows from a [Load].
type Advice struct {
	Capacity int   // places of the edge, at which it is full
	Target   int   // depth from which on a queue that stays is a standing queue: see the function Target
	Binds    Limit // where Capacity comes from

	Bounds []Bound // what each limit of the load gives by itself, in the order of the limits
	Fleet  int     // places of all instances together

	CapacityWait time.Duration // wait of the item that takes the last place, in the mean
	TargetWait   time.Duration // wait at the target

	Throughput  float64 // items per second that the workers of one instance can finish
	Utilization float64 // offered load by that; above 1 it is too much
	Zone        Zone    // what the utilization means
	Refused     float64 // share of the items that are refused in the long run, bursts aside: that of Bounded

	Warnings []string // what to know before using it, worst first
	Err      error    // what is wrong with the load, all of it at once; the rest is zero then
}

// Recommend says how large the edge in front of the workers should be, and what to expect of it.
//
//	Formula: the smallest of what ForLatency gives for Latency, for Deadline - P95, and ForCallers for Callers. A burst does
//	         not make it larger, or its last items would be late: if it does not fit, a warning says how much of it is
//	         refused, and how many workers would do. Without any of the three it is what ForBurst gives for Burst
//	Units:   items for one instance; Fleet is for all of them
//	Limits:  those of the steps. A Capacity of 0 says that nothing should wait, or that nothing ever does: no edge is that
//	         small, and Warnings say which it is
//	Errors:  in Advice.Err: a field out of its range; a Burst slower than Rate; none of Latency, Deadline, Burst and Callers
//	Source:  those of the steps
//
// Without P95 service times are taken for constant, with it Variation estimates how much they vary.
func Recommend(l Load) Advice {
	if err := l.validate(); err != nil {
		return Advice{Err: err}
	}
	a := Advice{
		Target:      target(l.Concurrency),
		Bounds:      l.bounds(),
		Throughput:  throughput(l.Concurrency, l.Service),
		Utilization: utilization(l.Rate, l.Service, l.Concurrency),
	}
	binds := binding(a.Bounds)
	a.Capacity, a.Binds = binds.Items, binds.By
	a.Fleet = atLeast(float64(a.Capacity) * float64(max(1, l.Instances)))
	a.CapacityWait = wait(a.Capacity, l.Service, l.Concurrency)
	a.TargetWait = wait(a.Target, l.Service, l.Concurrency)
	a.Zone = zoneOf(a.Utilization)
	a.Refused = bounded(l.Rate, l.Service, l.Concurrency, l.Concurrency+a.Capacity).Refused
	a.Warnings = warnings(l, a)
	return a
}

// String is the advice in a line, and each warning in another.
func (a Advice) String() string {
	if a.Err != nil {
		return a.Err.Error()
	}
	var s strings.Builder
	fmt.Fprintf(&s, "capacity %d by %v (%v), target %d (%v), utilization %.2f of %.6g/s: %v",
		a.Capacity, a.Binds, a.CapacityWait, a.Target, a.TargetWait, a.Utilization, a.Throughput, a.Zone)
	for _, w := range a.Warnings {
		s.WriteString("\nwarning: " + w)
	}
	return s.String()
}
