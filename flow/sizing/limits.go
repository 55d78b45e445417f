package sizing

import (
	"math"
	"time"
)

// Limits of arguments and results.
const (
	// MaxItems is the most items that a result counts: the largest capacity of an edge.
	MaxItems = math.MaxInt32
	// MaxTime is the longest time that a result says: 292 years, or for ever.
	MaxTime time.Duration = math.MaxInt64
	// MaxConcurrency is the most workers that the functions take.
	MaxConcurrency = 1_000_000
)

// rounding is more than the error of a few floating-point operations, in proportion. What is above a whole number by less is
// that number: three times 0.1 is not 1 more than 0.3.
const rounding = 1e-12

// nearest is the whole number of items nearest to x, which is not NaN.
func nearest(x float64) int {
	if x >= MaxItems {
		return MaxItems
	}
	return int(math.Round(x))
}

// atLeast is the smallest number of items that is not below x, which is not NaN.
func atLeast(x float64) int {
	if x >= MaxItems {
		return MaxItems
	}
	return int(math.Ceil(x * (1 - rounding)))
}

// seconds is a time of x seconds; x is neither NaN nor negative.
func seconds(x float64) time.Duration {
	ns := math.Round(x * float64(time.Second))
	if ns >= float64(MaxTime) {
		return MaxTime
	}
	return time.Duration(ns)
}

// number is x, if it is a number, or the largest one.
func number(x float64) float64 { return min(x, math.MaxFloat64) }
