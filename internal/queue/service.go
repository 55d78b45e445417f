package queue

import (
	"slices"
	"time"
)

// service measures how fast consumers finish items while they have some. Old figures fade, so that a change of speed shows
// within a thousand items.
type service struct {
	busy     float64 // nanoseconds
	finished float64
	running  int64   // taken and not yet finished
	recent   *recent // nil: nobody asks for the slow ones
	ended    int64   // when a consumer last came back from some
	trying   bool    // an item is let through to renew the figures
	overdue  int64   // from then on it is not waited for
}

// fadeAt is how many finished items are remembered in full.
const fadeAt = 64

// finish counts what w took before, now that it comes back.
func (s *service) finish(w *Waiter) {
	if w.taken == 0 {
		return
	}
	took := w.Entered - w.Returned
	s.busy += float64(took)
	s.finished += float64(w.taken)
	s.running -= int64(w.taken)
	s.ended, s.trying = w.Entered, false
	if s.recent != nil {
		s.recent.add(took / int64(w.taken))
	}
	w.taken = 0
	if s.finished > fadeAt {
		s.busy /= 2
		s.finished /= 2
	}
}

// stale reports whether an item that would be late, and has a time left, is let through, because the figures may be wrong by now and
// only work can renew them: for as long as it has left nothing has ended. Without that a few slow items would have all that come behind
// them dropped for ever. One is tried at a time, so that is what it costs where the figures are right.
func (s *service) stale(now, left int64) bool {
	return left > 0 && now-s.ended >= left && (!s.trying || now >= s.overdue)
}

// try says that such an item is let through.
func (s *service) try(now, left int64) { s.trying, s.overdue = true, now+max(left, s.slow()) }

// mean returns the mean service time, 0 while nothing is known.
func (s *service) mean() time.Duration {
	if s.finished == 0 {
		return 0
	}
	return time.Duration(s.busy / s.finished)
}

// slow returns the 95th percentile of service times, in nanoseconds; 0 while nothing is known.
func (s *service) slow() int64 {
	if s.recent == nil {
		return 0
	}
	return s.recent.p95
}

// recentTimes is over how many service times the percentile is taken. When they triple it follows behind four of them.
const recentTimes = 64

// recent is the 95th percentile of the last service times.
type recent struct {
	p95   int64
	times [recentTimes]int64 // as they came, around
	order [recentTimes]int64 // the same, sorted
	n, at int
}

func (r *recent) add(d int64) {
	sorted := r.order[:r.n]
	if r.n == recentTimes {
		i, _ := slices.BinarySearch(sorted, r.times[r.at])
		sorted = slices.Delete(sorted, i, i+1)
	} else {
		r.n++
	}
	i, _ := slices.BinarySearch(sorted, d)
	_ = slices.Insert(sorted, i, d) // in place: there is room
	r.times[r.at] = d
	r.at = (r.at + 1) % recentTimes
	r.p95 = r.order[(r.n*95+99)/100-1]
}
