package sizing

import (
	"errors"
	"math"
	"time"
)

// z95 is the 95th percentile of the standard normal distribution.
const z95 = 1.645

// ForLatency is the most items that may wait if an item may wait so long. Where service times vary the bound is smaller, so that
// 95 of 100 of those that come last keep the limit, and not every other one.
//
//	Formula: the L with L + 1.645 x cv x sqrt(L) = rate x wait, to the nearest item; with cv 0 that is L = rate x wait
//	Units:   rate is the Throughput of all workers, in items per second; cv is the standard deviation of service times by
//	         their mean: 0 where all are alike, 1 where they are exponential; see Variation
//	Limits:  a sum of L service times is taken for normally distributed, good from a few dozen items on. 0 means that not
//	         even one item can wait and be in time
//	Errors:  rate not > 0 or not finite, wait <= 0, cv negative or not finite
//	Source:  Little 1961, "A Proof for the Queuing Formula: L = λW", and the central limit theorem
//
// An edge of the result in front of the workers makes an item wait no longer, on average, than wait and half of what one item
// adds to it, 1 / rate: that is the rounding. A fleet of n such instances has n times the bound.
func ForLatency(rate float64, wait time.Duration, cv float64) (int, error) {
	if err := errors.Join(positive("rate", rate), longer("wait", wait), notNegative("cv", cv)); err != nil {
		return 0, err
	}
	return forLatency(rate, wait, cv), nil
}

// forLatency solves the quadratic equation for sqrt(L) in a form that neither cancels nor overflows.
func forLatency(rate float64, wait time.Duration, cv float64) int {
	most := number(rate * wait.Seconds())
	if cv == 0 || most == 0 {
		return nearest(most)
	}
	t := z95 * cv / (2 * math.Sqrt(most))
	root := t + math.Hypot(t, 1)
	return nearest(most / root / root)
}
