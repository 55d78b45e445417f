package bench

import (
	"cmp"
	"slices"
)

// Median returns the middle of vs, the mean of the two middle ones where their number is even, 0 for none.
func Median(vs []float64) float64 {
	if len(vs) == 0 {
		return 0
	}
	vs = slices.Sorted(slices.Values(vs))
	mid := len(vs) / 2
	if len(vs)%2 == 1 {
		return vs[mid]
	}
	return (vs[mid-1] + vs[mid]) / 2
}

// Quantile returns the smallest of vs, which must be sorted, that at least the share q of them does not exceed.
func Quantile[T cmp.Ordered](vs []T, q float64) T {
	i := int(q * float64(len(vs)))
	return vs[min(max(i, 0), len(vs)-1)]
}
