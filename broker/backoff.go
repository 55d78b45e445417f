package broker

import (
	"math/rand/v2"
	"time"
)

// Delay says how long a message waits before it is delivered again, after its delivery number attempt has failed. It is safe for
// concurrent use.
type Delay func(attempt int) time.Duration

// Backoff is a [Delay] that doubles from first up to most, each time with half of it at random, so that messages that failed
// together do not come back together.
func Backoff(first, most time.Duration) Delay {
	return func(attempt int) time.Duration {
		d := first
		for range min(attempt-1, 62) {
			if d >= most/2 {
				d = most
				break
			}
			d *= 2
		}
		d = min(d, most)
		return d/2 + rand.N(d/2+1)
	}
}
