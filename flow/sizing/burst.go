package sizing

import (
	"errors"
	"time"
)

// ForBurst is how many places a burst fills, if nothing waits when it begins.
//
//	Formula: excess x length, rounded up
//	Units:   excess is by how much the burst is faster than the workers: its rate less their Throughput, in items per second
//	Limits:  the burst is taken for even, and the edge for empty. Random arrivals need some places even without a burst: see
//	         Bounded. And a bound that carries the burst says nothing about the wait in it: see Wait
//	Errors:  excess negative or not finite, length <= 0
//	Source:  the fluid picture of queues, Newell 1971, "Applications of Queueing Theory"
func ForBurst(excess float64, length time.Duration) (int, error) {
	if err := errors.Join(notNegative("excess", excess), longer("length", length)); err != nil {
		return 0, err
	}
	return forBurst(excess, length), nil
}

func forBurst(excess float64, length time.Duration) int { return atLeast(excess * length.Seconds()) }
