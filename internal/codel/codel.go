// Package codel is the control law of CoDel: it tells a standing queue from a burst by how long items have waited, and says which
// of them are to be dropped on their way out. It is arithmetic: the caller has the queue and the clock.
//
//	Source: RFC 8289, "Controlled Delay Active Queue Management"; for the limit law B. Maurer, "Fail at Scale", ACM Queue, 2015.
package codel

import (
	"math"
	"time"
)

// Law says what is dropped while a queue stands.
type Law uint8

// The laws.
const (
	// Limit drops every item that has waited longer than twice the target. It holds any overload.
	Limit Law = iota
	// Root drops one item, and the next ones at intervals that shrink with the square root of their number, as RFC 8289 has it:
	// for senders that slow down when they lose something.
	Root

	laws
)

// Valid reports whether l is one of the laws.
func (l Law) Valid() bool { return l < laws }

// Config is what a queue is held to.
type Config struct {
	Target   time.Duration // a queue whose items all wait longer stands
	Interval time.Duration // for so long, before anything is done about it
	Law      Law
}

// State is what the law remembers of one queue. The zero value is that of a queue in which nothing has waited. It is a value: to ask
// what Drop would say, call it on a copy.
type State struct {
	above bool  // the last item had waited longer than the target
	due   int64 // since then: when that has been so for an interval

	// The root law's.
	dropping bool
	spared   bool // the item behind the first that was dropped goes through
	chained  bool // the last item was dropped: the time of the next one is due
	next     int64
	count    int64 // dropped since dropping began
	before   int64 // what count began with
}

// Above reports whether all items have waited longer than the target for an interval. One that has waited for wait leaves at the
// moment now, in nanoseconds of any clock, and leaves behind others. Nothing stands behind the last one, however long it has waited.
func (s *State) Above(c *Config, now int64, wait time.Duration, behind int) bool {
	switch {
	case wait < c.Target || behind == 0:
		s.above = false
	case !s.above:
		s.above, s.due = true, now+int64(c.Interval)
	default:
		return now >= s.due
	}
	return false
}

// Passes reports whether any number of items that have waited for wait, and leave now, are let through. Then it has taken note of them;
// otherwise each has to be asked about.
func (s *State) Passes(c *Config, wait time.Duration) bool {
	if wait >= c.Target || s.dropping || s.spared {
		return false
	}
	s.above = false
	return true
}

// Drop reports whether that item is to be dropped instead. The last one never is.
func (s *State) Drop(c *Config, now int64, wait time.Duration, behind int) bool {
	above := s.Above(c, now, wait, behind)
	if c.Law == Limit {
		return above && wait > 2*c.Target
	}
	return s.root(c, now, above)
}

func (s *State) root(c *Config, now int64, above bool) bool {
	switch {
	case s.spared:
		s.spared = false
		return false
	case s.dropping && !above:
		s.dropping, s.chained = false, false
		return false
	case s.dropping:
		if s.chained {
			s.chained = false
			s.next += c.gap(s.count)
		}
		if now < s.next {
			return false
		}
		s.count++
		s.chained = true
		return true
	case above:
		s.begin(c, now)
		return true
	}
	return false
}

// memory is for how many intervals the rate of drops that was needed last is remembered.
const memory = 16

// begin starts to drop, at the rate that was needed last if that was not long ago.
func (s *State) begin(c *Config, now int64) {
	last := s.count - s.before
	s.count = 1
	if last > 1 && now-s.next < memory*int64(c.Interval) {
		s.count = last
	}
	s.dropping, s.spared = true, true
	s.next = now + c.gap(s.count)
	s.before = s.count
}

// gap returns the time to the next drop behind the n-th.
func (c *Config) gap(n int64) int64 { return int64(float64(c.Interval) / math.Sqrt(float64(n))) }
