package sizing

import (
	"errors"
	"time"
)

// DefaultLongestWait is the wait that nobody takes for a bound any more, where items have no deadline.
const DefaultLongestWait = 30 * time.Second

// Load is what is known about an edge and the workers behind it. The first three fields are required, and one of Latency,
// Deadline, Burst and Callers; all of them may be given. A field that is zero says that there is no such thing.
type Load struct {
	Rate        float64       // items offered per second, in the mean, also those that will be refused
	Service     time.Duration // mean service time of one item
	Concurrency int           // workers

	P95      time.Duration // 95th percentile of service times; zero: they are all alike
	Latency  time.Duration // longest that an item may wait for a worker
	Deadline time.Duration // longest that an item may take, service included
	Burst    Burst         // what comes all at once, now and then
	Callers  int           // where each of so many callers has one item under way at a time

	Instances   int           // processes with such an edge, each with this load; zero: one
	LongestWait time.Duration // wait that is as good as none at all; zero: Deadline, or DefaultLongestWait without one
}

// Burst is a time in which more arrives than usual.
type Burst struct {
	Rate   float64       // items offered per second while it lasts, all of them
	Length time.Duration // how long it lasts
}

// validate returns all that is wrong with a load.
func (l Load) validate() error {
	err := errors.Join(
		positive("Load.Rate", l.Rate),
		longer("Load.Service", l.Service),
		workers("Load.Concurrency", l.Concurrency),
		notShorter("Load.P95", l.P95),
		notShorter("Load.Latency", l.Latency),
		notShorter("Load.Deadline", l.Deadline),
		l.validateBurst(),
		notBelow("Load.Callers", l.Callers, 0),
		notBelow("Load.Instances", l.Instances, 0),
		notShorter("Load.LongestWait", l.LongestWait),
	)
	if l.Latency == 0 && l.Deadline == 0 && l.Burst == (Burst{}) && l.Callers == 0 {
		err = errors.Join(err, errNothingToSizeFor)
	}
	return err
}

var errNothingToSizeFor = errors.New("sizing: Load must have a Latency, a Deadline, a Burst or Callers: a rate alone needs no bound in particular")

func (l Load) validateBurst() error {
	if l.Burst == (Burst{}) {
		return nil
	}
	err := errors.Join(positive("Load.Burst.Rate", l.Burst.Rate), longer("Load.Burst.Length", l.Burst.Length))
	if l.Burst.Rate > 0 && l.Burst.Rate < l.Rate {
		err = errors.Join(err, wrong("Load.Burst.Rate", "at least Load.Rate", l.Burst.Rate))
	}
	return err
}

// variation is that of the service times.
func (l Load) variation() float64 {
	if l.P95 == 0 {
		return 0
	}
	return variation(l.Service, l.P95)
}

// slow is how long all but five of a hundred items take.
func (l Load) slow() time.Duration {
	if l.P95 == 0 {
		return l.Service
	}
	return l.P95
}

// excess is by how much the burst is faster than the workers.
func (l Load) excess() float64 { return max(0, l.Burst.Rate-throughput(l.Concurrency, l.Service)) }

// longestWait is the wait from which on a bound is none.
func (l Load) longestWait() time.Duration {
	switch {
	case l.LongestWait > 0:
		return l.LongestWait
	case l.Deadline > 0:
		return l.Deadline
	default:
		return DefaultLongestWait
	}
}
