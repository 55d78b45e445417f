package admission

import (
	"math/rand/v2"
	"sync"
	"time"

	"github.com/weir-go/weir/internal/clock"
)

// throttleWindow is what a client looks back at.
const throttleWindow = 2 * time.Minute

// throttle decides at the client which calls are not even sent, by how many of the last ones the server has accepted.
//
// Source: Beyer et al. 2016, "Site Reliability Engineering", chapter 21, client-side throttling.
type throttle struct {
	k      float64
	random func() float64 // from 0 to 1

	mu       sync.Mutex
	requests rolling
	accepts  rolling
}

func newThrottle(k float64) *throttle {
	return &throttle{k: k, random: rand.Float64, requests: newRolling(throttleWindow), accepts: newRolling(throttleWindow)}
}

// probability returns with which probability a call is refused here after so many requests, of which so many were accepted. It is
// never 1, so a server that has recovered is noticed.
func probability(requests, accepts int64, k float64) float64 {
	return max(0, (float64(requests)-k*float64(accepts))/float64(requests+1))
}

// enter counts a request, and reports whether it may be sent.
func (t *throttle) enter() bool {
	now, x := clock.Now(), t.random()
	t.mu.Lock()
	defer t.mu.Unlock()
	p := probability(t.requests.total(now), t.accepts.total(now), t.k)
	t.requests.add(now, 1)
	return x >= p
}

// accept counts that a request was accepted.
func (t *throttle) accept() {
	now := clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.accepts.add(now, 1)
}

// now returns the probability as of now.
func (t *throttle) now() float64 {
	now := clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	return probability(t.requests.total(now), t.accepts.total(now), t.k)
}
