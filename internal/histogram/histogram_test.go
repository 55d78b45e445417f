package histogram_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/weir-go/weir/internal/histogram"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// durations are of any order of magnitude, also those around powers of two, zero and beyond the last bucket.
func durations() *rapid.Generator[[]time.Duration] {
	return rapid.SliceOf(rapid.Custom(func(t *rapid.T) time.Duration {
		octave := rapid.IntRange(0, 50).Draw(t, "octave")
		return time.Duration(1)<<octave + time.Duration(rapid.Int64Range(-2, 1<<octave).Draw(t, "more"))
	}))
}

func record(ds []time.Duration) (h histogram.Histogram) {
	for _, d := range ds {
		h.Record(d, 1)
	}
	return h
}

func TestAQuantileIsAtMostAnEighthAboveTheTrueValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ds := durations().Draw(t, "durations")
		h := record(ds)
		for i := range ds {
			ds[i] = max(ds[i], 0)
		}
		slices.Sort(ds)
		for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 0.999, 1, rapid.Float64Range(0, 1).Draw(t, "q")} {
			got := h.Quantile(q)
			if len(ds) == 0 {
				if got != 0 {
					t.Fatalf("Quantile(%v) of nothing = %v, want 0", q, got)
				}
				continue
			}
			want := ds[max(int(math.Ceil(q*float64(len(ds)))), 1)-1]
			tooHigh := got-want > want/8 && want < 15<<41 // from there on there is one bucket
			if got < want || tooHigh || got > ds[len(ds)-1] {
				t.Fatalf("Quantile(%v) = %d, want %d to %d and at most the maximum %d", q, got, want, want+want/8, ds[len(ds)-1])
			}
		}
		if len(ds) > 0 && h.Max() != ds[len(ds)-1] {
			t.Fatalf("Max() = %v, want %v", h.Max(), ds[len(ds)-1])
		}
	})
}

func TestMergeEqualsRecordingAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := durations().Draw(t, "a"), durations().Draw(t, "b")
		got, other, want := record(a), record(b), record(append(a, b...))
		got.Merge(&other)
		if d := got.Mean() - want.Mean(); d.Abs() > want.Mean()/1e9 { // the sum is a float
			t.Fatalf("Mean() = %v, want %v", got.Mean(), want.Mean())
		}
		if got.Count() != want.Count() || got.Max() != want.Max() {
			t.Fatalf("Count(), Max() = %d, %v, want %d, %v", got.Count(), got.Max(), want.Count(), want.Max())
		}
		if g, w := buckets(&got), buckets(&want); !slices.Equal(g, w) {
			t.Fatalf("buckets are %v, want %v", g, w)
		}
	})
}

type bucket struct {
	upTo  time.Duration
	count int64
}

func buckets(h *histogram.Histogram) (all []bucket) {
	h.Buckets(func(upTo time.Duration, count int64) bool {
		all = append(all, bucket{upTo, count})
		return true
	})
	return all
}

// Buckets are in order and without gaps: a value and the upper end of its bucket share the bucket, the next value does not.
func TestBucketsJoin(t *testing.T) {
	last := time.Duration(-1)
	for range 343 {
		h := record([]time.Duration{last + 1})
		upTo := buckets(&h)[0].upTo
		h = record([]time.Duration{last + 1, upTo, upTo + 1})
		if got := buckets(&h); len(got) != 2 || got[0] != (bucket{upTo, 2}) {
			t.Fatalf("%d, %d and %d are in %v, want the first two in one bucket", last+1, upTo, upTo+1, got)
		}
		last = upTo
	}
	if last < 9*time.Hour {
		t.Errorf("the last bucket starts at %v, want more than 9h", last)
	}
}

func TestBucketsStopWhenToldTo(t *testing.T) {
	h, n := record([]time.Duration{1, 2, 3}), 0
	for range h.Buckets {
		n++
		break
	}
	if n != 1 {
		t.Errorf("yield was called %d times, want once", n)
	}
}

func TestRecordCountsRunsAndNegativeDurations(t *testing.T) {
	var h histogram.Histogram
	if h.Mean() != 0 || h.Max() != 0 {
		t.Errorf("Mean(), Max() of nothing = %v, %v, want 0, 0", h.Mean(), h.Max())
	}
	h.Record(4, 3)
	h.Record(-7, 1)
	if h.Count() != 4 || h.Mean() != 3 || h.Quantile(0) != 0 || h.Quantile(0.26) != 4 {
		t.Errorf("Count(), Mean(), quantiles = %d, %d, %d, %d, want 4, 3, 0, 4", h.Count(), h.Mean(), h.Quantile(0), h.Quantile(0.26))
	}
	for _, q := range []float64{2, math.Inf(1), math.NaN()} {
		if got := h.Quantile(q); got != 4 {
			t.Errorf("Quantile(%v) = %d, want 4", q, got)
		}
	}
	if got := h.Quantile(-1); got != 0 {
		t.Errorf("Quantile(-1) = %d, want 0", got)
	}
}
