// Package clock reads the monotonic clock as a number, which is cheap to store and to subtract.
//
// It follows the virtual clock inside a testing/synctest bubble. Only differences between two readings mean anything.
package clock

import (
	"math"
	"sync/atomic"
	"time"
)

var base = time.Now()

// Now returns nanoseconds since a fixed moment.
func Now() int64 { return int64(time.Since(base)) }

// Moment is one reading of both clocks, for times that users give. The zero value reads them when it is first asked.
type Moment struct {
	wall time.Time
	now  int64
}

// At returns the moment t as Now would have had it. A t without a monotonic reading is as far away as the wall clock says.
func (m *Moment) At(t time.Time) int64 {
	if m.wall.IsZero() {
		m.wall, m.now = time.Now(), Now()
	}
	d := int64(t.Sub(m.wall))
	if m.now > 0 && d > math.MaxInt64-m.now {
		return math.MaxInt64
	}
	return m.now + d
}

// Stopwatch adds up how long something was going on. One goroutine starts and stops it; any may read it. The zero value is
// ready for use.
type Stopwatch struct {
	// Twice the time of all stops less that of all starts, plus one while it runs: one number, so that a reader never sees
	// half of a stop.
	sum   atomic.Int64
	since int64 // when it was started, for its own goroutine
}

// Start starts the stopwatch at now.
func (s *Stopwatch) Start(now int64) {
	s.since = now
	s.sum.Add(1 - 2*now)
}

// Stop stops it at now and returns how long it ran.
func (s *Stopwatch) Stop(now int64) int64 {
	s.sum.Add(2*now - 1)
	return now - s.since
}

// Total returns the time added up, to now where the stopwatch is running.
func (s *Stopwatch) Total(now int64) int64 {
	sum := s.sum.Load()
	if sum&1 == 0 {
		return sum / 2
	}
	return sum>>1 + now
}

// Sum returns the time of all finished runs: what the goroutine that starts and stops it may use.
func (s *Stopwatch) Sum() int64 { return s.Total(s.since) }
