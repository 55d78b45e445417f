// Package histogram counts durations in buckets that grow with the value, so that histograms of several edges or processes
// can be added up, which percentiles can not.
//
// Each power of two of nanoseconds is cut into eight buckets: a quantile is at most 1/8 above the true value, up to nine hours.
package histogram

import (
	"math"
	"math/bits"
	"time"
)

const (
	perOctave = 8
	octaves   = 43 // the last bucket starts at 15 x 2^41 ns, more than nine hours, and takes all above
	buckets   = perOctave * octaves
)

// Histogram counts durations. The zero value is ready for use; it is not safe for concurrent use. Copying it copies the counts.
type Histogram struct {
	counts [buckets]int64
	totals
}

// totals is what is known of all durations together.
type totals struct {
	total int64
	sum   float64 // of nanoseconds
	max   int64
}

// add counts n durations of d.
func (t *totals) add(d time.Duration, n int64) {
	t.total += n
	t.sum += float64(d) * float64(n)
	t.max = max(t.max, int64(d))
}

// index returns the bucket of v: values below perOctave have one each.
func index(v int64) int {
	if v < perOctave {
		return int(max(v, 0))
	}
	octave := bits.Len64(uint64(v)) - 1 // at least 3
	i := (octave-2)*perOctave + int(v>>(octave-3))&(perOctave-1)
	return min(i, buckets-1)
}

// upper returns the largest value of bucket i.
func upper(i int) int64 {
	if i < perOctave {
		return int64(i)
	}
	octave := i/perOctave + 2
	return int64(perOctave+i%perOctave+1)<<(octave-3) - 1
}

// Record counts n durations of d; a negative d counts as zero.
func (h *Histogram) Record(d time.Duration, n int64) {
	d = max(d, 0)
	h.counts[index(int64(d))] += n
	h.add(d, n)
}

// Merge adds the counts of o.
func (h *Histogram) Merge(o *Histogram) {
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.total += o.total
	h.sum += o.sum
	h.max = max(h.max, o.max)
}

// Count returns how many durations were recorded.
func (h *Histogram) Count() int64 { return h.total }

// Max returns the longest duration recorded, exactly.
func (h *Histogram) Max() time.Duration { return time.Duration(h.max) }

// Mean returns the mean of the durations recorded, zero without any.
func (h *Histogram) Mean() time.Duration {
	if h.total == 0 {
		return 0
	}
	return time.Duration(h.sum / float64(h.total))
}

// Quantile returns the upper end of the bucket that holds the q-quantile (0.99 is the 99th percentile), zero without any.
// A q outside 0 to 1, or NaN, counts as the nearer end, NaN as 1.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	if math.IsNaN(q) || q > 1 {
		q = 1
	}
	rank := max(int64(math.Ceil(max(q, 0)*float64(h.total))), 1)
	seen := int64(0)
	for i, n := range h.counts {
		if seen += n; seen >= rank && i < buckets-1 {
			return time.Duration(min(upper(i), h.max))
		}
	}
	return h.Max() // the last bucket has no end
}

// Buckets calls yield with the upper end and the count of each bucket that is not empty, in order. The last bucket that there
// is takes all above its end as well.
func (h *Histogram) Buckets(yield func(upTo time.Duration, count int64) bool) {
	for i, n := range h.counts {
		if n > 0 && !yield(time.Duration(upper(i)), n) {
			return
		}
	}
}
