package engine

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/queue"
)

// crew is the goroutines of a stage that come and go.
type crew interface {
	// times returns for how long they have lived, all together, worked, and waited for room.
	times(now int64) (life, working, waited float64)
	// count returns how many there are, and how many there can be.
	count() (now, most int)
}

// Groups returns how many groups a stage has open, and how many it can have.
func (s *Stage) Groups() (open, most int) {
	if s.crew == nil {
		return 0, 0
	}
	return s.crew.count()
}

// figures are what one group has measured, or several.
type figures struct {
	lane                  queue.Stats
	life, working, waited float64
}

// figures returns those of the group. What it dropped behind its lane counts as dropped by the lane.
func (g *group[K, T, U]) figures(now int64) (f figures) {
	shed := g.shed.Load() // first: it is part of what has left the lane
	f.lane = g.lane.Stats()
	f.lane.Out -= shed
	f.lane.Dropped[queue.DropShed] += shed
	f.life, f.working, f.waited = g.w.times(now)
	return f
}

// add adds the figures of another group. What was the most in one lane, or is the worst of one, is that of all.
func (f *figures) add(o *figures) {
	f.life += o.life
	f.working += o.working
	f.waited += o.waited
	s, t := &f.lane, &o.lane
	s.Depth += t.Depth
	s.Weight += t.Weight
	s.In += t.In
	s.Out += t.Out
	for why, n := range t.Dropped {
		s.Dropped[why] += n
	}
	s.Refused += t.Refused
	s.Oversize += t.Oversize
	s.Blocked += t.Blocked // of one producer, which waits in one lane at a time
	s.Sojourn.Merge(&t.Sojourn)
	s.MaxDepth = max(s.MaxDepth, t.MaxDepth)
	s.MinSojourn = max(s.MinSojourn, t.MinSojourn)
	s.EstimatedWait = max(s.EstimatedWait, t.EstimatedWait)
}

// gather returns the figures of all groups, those that are gone included.
func (r *grouping[K, T, U]) gather(now int64) figures {
	r.mu.Lock()
	all := r.past
	all.lane.Starved = time.Duration(r.resting.waited(now))
	all.lane.MinSojourn, all.lane.EstimatedWait = 0, 0 // of the past, which says nothing about now
	open := slices.Collect(maps.Values(r.open))
	r.mu.Unlock()
	for _, g := range open {
		f := g.figures(now)
		all.add(&f)
	}
	return all
}

// Info implements [Edge] for the lanes together.
func (r *grouping[K, T, U]) Info() EdgeInfo {
	lane, most, name := &r.Lane, int64(r.Most), []string{r.Stage.Name}
	return EdgeInfo{
		Name: lane.Name, From: name, To: name, Capacity: r.Most * lane.Capacity, OnFull: lane.OnFull, MaxWait: lane.MaxWait,
		MaxWeight: min(lane.MaxWeight, math.MaxInt64/most) * most,
	}
}

// Stats implements [Edge].
func (r *grouping[K, T, U]) Stats() queue.Stats { return r.gather(clock.Now()).lane }

// Abort implements [Edge].
func (r *grouping[K, T, U]) Abort(cause error) {
	r.mu.Lock()
	if r.aborted == nil {
		r.aborted = cause
	}
	r.mu.Unlock()
	for _, g := range r.groups() {
		g.lane.Abort(cause)
	}
}

func (r *grouping[K, T, U]) times(now int64) (life, working, waited float64) {
	f := r.gather(now)
	return f.life, f.working, f.waited
}

func (r *grouping[K, T, U]) count() (now, most int) { return r.size(), r.Most }
