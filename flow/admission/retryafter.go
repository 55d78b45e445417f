package admission

import (
	"math/rand/v2"
	"time"
)

// longestRetry keeps sums from overflowing.
const longestRetry = 24 * time.Hour

// Jittered returns d and up to half as much again, at least 1 ms: clients that are refused together shall not come back together.
func Jittered(d time.Duration) time.Duration {
	d = min(max(d, time.Millisecond), longestRetry)
	return d + rand.N(d/2+1)
}

// retryAfter returns how long to stay away, in whole seconds, at least 1, and exactly. Both have jitter: a second more at least, or
// the clients of a whole second would come back in one.
func retryAfter(d time.Duration) (seconds int64, exact time.Duration) {
	exact = Jittered(d)
	whole := (min(max(d, time.Millisecond), longestRetry) + time.Second - 1) / time.Second
	return int64(whole + rand.N(max(whole/2, 1)+1)), exact
}
