package histogram_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/internal/histogram"
)

// A recorder is a histogram that makes its memory as it goes.
func TestRecorderCountsAsAHistogramDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r histogram.Recorder
		var want histogram.Histogram
		for range rapid.IntRange(0, 100).Draw(t, "records") {
			d := time.Duration(rapid.Int64().Draw(t, "d"))
			n := rapid.Int64Range(1, 1000).Draw(t, "n")
			r.Record(d, n)
			want.Record(d, n)
		}
		if got := r.Histogram(); got != want {
			t.Fatalf("Histogram() = %+v, want %+v", got, want)
		}
	})
}

func TestRecorderAllocatesOncePerOctave(t *testing.T) {
	var r histogram.Recorder
	r.Record(time.Millisecond, 1)
	if got := testing.AllocsPerRun(100, func() { r.Record(time.Millisecond, 1) }); got != 0 {
		t.Fatalf("%v allocations for an octave that is there, want 0", got)
	}
}
