package flow

import (
	"math/rand/v2"
	"time"
)

// jitter is exponential backoff with full jitter. The library's own randomises around the interval instead of below it.
type jitter struct {
	first, max time.Duration
	next       time.Duration
}

func newJitter(first, longest time.Duration) *jitter {
	j := &jitter{first: first, max: longest}
	j.Reset()
	return j
}

// valid reports whether the arguments make sense.
func (j *jitter) valid() bool { return j.first > 0 && j.max >= j.first }

// Reset implements backoff.BackOff.
func (j *jitter) Reset() { j.next = min(j.first, j.max) }

// NextBackOff implements backoff.BackOff.
func (j *jitter) NextBackOff() time.Duration {
	ceiling := j.next
	if j.next = 2 * j.next; j.next > j.max || j.next < ceiling {
		j.next = j.max
	}
	if ceiling <= 0 {
		return 0
	}
	return rand.N(ceiling + 1)
}
