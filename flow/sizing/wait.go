package sizing

import (
	"errors"
	"math/bits"
	"time"
)

// Wait estimates how long the next item will wait behind depth others: those that wait and those that are worked on.
//
//	Formula: depth x service / concurrency, the same as depth / throughput
//	Units:   service is the mean time of one item, never the median: that is 31 % short where service times are exponential
//	Limits:  exact on average for one worker with exponential service times; the most, on average, for several. An item that
//	         finds a worker idle does not wait, and this says how long until what is there is finished. Dividing the depth by
//	         what comes out of an idle edge gives nonsense: that is the rate of arrivals.
//	Errors:  depth < 0, service <= 0, concurrency not 1 to MaxConcurrency
//	Source:  Little 1961, "A Proof for the Queuing Formula: L = λW", solved for W
//
// It also reads a bound in items as one in time, which is what a user feels: 500 items are 30 seconds on a good day, and 15
// minutes on a day when each takes 30 times as long.
func Wait(depth int, service time.Duration, concurrency int) (time.Duration, error) {
	err := errors.Join(notBelow("depth", depth, 0), longer("service", service), workers("concurrency", concurrency))
	if err != nil {
		return 0, err
	}
	return wait(depth, service, concurrency), nil
}

// wait computes in whole numbers of any size: a float would be off by microseconds after a month.
func wait(depth int, service time.Duration, concurrency int) time.Duration {
	high, low := bits.Mul64(uint64(depth), uint64(service))
	if high >= uint64(concurrency) {
		return MaxTime
	}
	ns, _ := bits.Div64(high, low, uint64(concurrency))
	return time.Duration(min(ns, uint64(MaxTime)))
}
