package histogram

import "time"

// Recorder counts durations as a [Histogram] does, in memory that it makes as it goes: most edges see few octaves, and an edge
// of a short run should cost little. The zero value is ready for use; it is not safe for concurrent use.
type Recorder struct {
	octaves [octaves]*[perOctave]int64
	totals
}

// Record counts n durations of d; a negative d counts as zero.
func (r *Recorder) Record(d time.Duration, n int64) {
	d = max(d, 0)
	i := index(int64(d))
	octave := r.octaves[i/perOctave]
	if octave == nil {
		octave = new([perOctave]int64)
		r.octaves[i/perOctave] = octave
	}
	octave[i%perOctave] += n
	r.add(d, n)
}

// Histogram returns the counts as of now.
func (r *Recorder) Histogram() Histogram {
	h := Histogram{totals: r.totals}
	for i, octave := range r.octaves {
		if octave != nil {
			copy(h.counts[i*perOctave:], octave[:])
		}
	}
	return h
}
