package sizing

import (
	"errors"
	"math"
	"time"
)

// Variation estimates the coefficient of variation of service times, their standard deviation by their mean, from what a
// histogram shows: the mean and the 95th percentile.
//
//	Formula: (p95 / mean - 1) / 1.645
//	         where p95 < mean: sqrt(19) x (1 - p95 / mean), the least that is possible
//	Limits:  exact for normal distributions, and on the safe side for most others: 1.21 for exponential times, whose cv is 1.
//	         Short for those with a tail that the 95th percentile does not see: log-normal above 1.3, and whatever has its
//	         dear items among the last five of a hundred. Whoever has the cv itself should use that
//	Errors:  mean <= 0, p95 <= 0
//	Source:  the normal distribution; Cantelli 1928, "Sui confini della probabilità", for the least
//
// A p95 below the mean says that a few items take most of the time. They are better kept apart than sized for.
func Variation(mean, p95 time.Duration) (float64, error) {
	if err := errors.Join(longer("mean", mean), longer("p95", p95)); err != nil {
		return 0, err
	}
	return variation(mean, p95), nil
}

func variation(mean, p95 time.Duration) float64 {
	beyond := float64(p95)/float64(mean) - 1
	if beyond < 0 {
		return math.Sqrt(19) * -beyond
	}
	return beyond / z95
}
