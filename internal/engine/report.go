package engine

import (
	"github.com/weir-go/weir/internal/clock"
)

// Report says how the items of a run ended.
type Report struct {
	Done, Skipped, Failed, GivenBack, Dropped, Unknown int64
}

// Report returns the counts as of now.
func (r *Run) Report() Report {
	c := &r.report
	rep := Report{
		Done: c.done.Load(), Skipped: c.skipped.Load(), Failed: c.failed.Load(),
		GivenBack: c.givenBack.Load(), Unknown: c.unknown.Load(),
	}
	over := r.ended.Load() != 0
	for _, e := range r.Edges {
		s := e.Stats()
		for _, n := range s.Dropped {
			rep.Dropped += n
		}
		if over {
			rep.GivenBack += int64(s.Depth)
		}
	}
	return rep
}

// Shares is how the goroutines of a stage spend their time. The three add up to 1.
type Shares struct {
	Busy          float64 // in the stage's own code
	Idle          float64 // waiting for items, or for a neighbour in the same goroutine
	Backpressured float64 // waiting for room
}

// Shares returns the shares of a stage, over all of its workers from the start of the run until now, or its end.
func (r *Run) Shares(st *Stage) Shares {
	now := clock.Now()
	var total, busy, blocked float64
	for _, w := range st.Workers {
		life, working, waited := w.times(now)
		total += life
		blocked += waited
		if st.pulling {
			busy += float64(st.pulls.Total(now))
		} else {
			busy += working * w.part(st)
		}
	}
	if st.crew != nil {
		life, working, waited := st.crew.times(now)
		total, busy, blocked = total+life, busy+working, blocked+waited
	}
	if total <= 0 {
		return Shares{Idle: 1}
	}
	s := Shares{Busy: min(busy/total, 1), Backpressured: min(blocked/total, 1)}
	if over := s.Busy + s.Backpressured - 1; over > 0 {
		s.Busy -= over
	}
	s.Idle = max(1-s.Busy-s.Backpressured, 0)
	return s
}

// times returns for how long the worker has lived, worked in user code other than sources, and waited for room.
func (w *Worker) times(now int64) (life, working, waited float64) {
	start, end := w.started.Load(), w.ended.Load()
	if start == 0 {
		return 0, 0, 0
	}
	if end != 0 {
		now = end
	}
	life = float64(now - start)
	waited = float64(w.Out.Parked.Total(now) + w.held.Total(now))
	working = life - waited - float64(w.In.Parked.Total(now))
	for _, st := range w.stages {
		working -= float64(st.pulls.Total(now))
	}
	return life, max(working, 0), waited
}

// part returns which part of the worker's working time the stage has: by sampled chunks, and before there are any, all of it
// for the stage that is running.
func (w *Worker) part(st *Stage) float64 {
	var all int64
	for _, s := range w.stages {
		if !s.pulling {
			all += s.sampled.Load()
		}
	}
	switch {
	case all > 0:
		return float64(st.sampled.Load()) / float64(all)
	case w.active.Load() == st:
		return 1
	default:
		return 0
	}
}

// Fused returns the pairs of neighbouring stages in one goroutine, each pair once.
func (r *Run) Fused() (pairs [][2]string) {
	seen := map[[2]string]bool{}
	for _, w := range r.Workers {
		for _, st := range w.pairs {
			p := [2]string{st[0].Name, st[1].Name}
			if !seen[p] {
				seen[p] = true
				pairs = append(pairs, p)
			}
		}
	}
	return pairs
}

// Bound returns the most items that can be inside at one time: the capacities of the edges and what workers may have in hand.
func (r *Run) Bound() int {
	n := 0
	for _, e := range r.Edges {
		n += e.Info().Capacity
	}
	for _, w := range r.Workers {
		n += w.Bound()
	}
	return n
}
