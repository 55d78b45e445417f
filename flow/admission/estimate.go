package admission

import (
	"slices"
	"time"
)

// recent is how many service times are remembered: after as many more, nothing is left of how it was before.
const recent = 96

// estimator knows how long work takes, from the last few pieces. Mean and quantiles are exact for those. Its owner has the lock.
type estimator struct {
	count  int
	oldest int // index in order
	sum    int64
	order  [recent]int64 // as they came, a ring
	sorted [recent]int64
}

// see records one service time.
func (e *estimator) see(d int64) {
	d = max(d, 0)
	if e.count < recent {
		e.order[e.count] = d
		e.insert(d, e.count)
		e.count++
		return
	}
	old := e.order[e.oldest]
	e.order[e.oldest] = d
	e.oldest = (e.oldest + 1) % recent
	i, _ := slices.BinarySearch(e.sorted[:], old)
	copy(e.sorted[i:], e.sorted[i+1:])
	e.sum -= old
	e.insert(d, recent-1)
}

// insert puts d where it belongs among the n that are sorted.
func (e *estimator) insert(d int64, n int) {
	i, _ := slices.BinarySearch(e.sorted[:n], d)
	copy(e.sorted[i+1:n+1], e.sorted[i:n])
	e.sorted[i] = d
	e.sum += d
}

// mean returns the mean in nanoseconds, 0 while nothing is known.
func (e *estimator) mean() float64 {
	if e.count == 0 {
		return 0
	}
	return float64(e.sum) / float64(e.count)
}

// percentile returns what p of 100 pieces of work to come stay below or at, 0 while nothing is known. Of n that were seen, the next one
// is above the highest with a probability of 1 / (n + 1), hence the rank.
func (e *estimator) percentile(p int) time.Duration {
	if e.count == 0 {
		return 0
	}
	rank := ((e.count+1)*p + 99) / 100
	return time.Duration(e.sorted[min(max(rank, 1), e.count)-1])
}
