package engine

import (
	"github.com/weir-go/weir/internal/waitgraph"
	"github.com/weir-go/weir/stage"
)

// exhaustible is a source that can say that it gives no more before something settles.
type exhaustible struct {
	stage.Exhauster
	w        *Worker
	waits    stand // while it is in a pull
	name     string
	follows  bool        // it may end when another part of the run does
	draining func() bool // it has been told to return
}

// begin notes a pull, and that it may be the one that waits.
func (x *exhaustible) begin(now int64) {
	x.waits.begin(now)
	x.w.Parks()
}

// survey implements [spot]. A source that is in a pull and gives no more waits for whoever may settle something. Nothing is written for
// the monitor in other sources.
func (x *exhaustible) survey(s *survey) {
	epoch := x.waits.epoch.Load()
	switch {
	case epoch&1 == 0 || x.draining() || !x.Exhausted():
	default:
		holders, known := s.holders(x.w, x.w.feeds(), x.follows)
		since := x.waits.since.Load()
		if known && x.waits.epoch.Load() == epoch {
			s.parked(x.w, waitgraph.Task{Kind: waitgraph.Tasks, On: holders, Epoch: epoch}, since, 0)
			s.waits[x.w.id].source = x.name
		}
	}
}

// holders returns the numbers of the workers that may hold what w puts into some edges, or with others of all of them but w. known is
// false where it may be in goroutines that are not looked at.
func (s *survey) holders(w *Worker, edges []Edge, others bool) (ids []int, known bool) {
	behind := reach(s.run, edges)
	var ws []*Worker
	for id, other := range s.run.Workers {
		if (behind[id] || other == w) && other.hides != nil && other.hides() {
			return nil, false
		}
		if (behind[id] || others) && other != w {
			ws = append(ws, other)
		}
	}
	return s.alive(ws), true
}

// always is what hides says of a worker that hands items to goroutines that are not looked at.
func always() bool { return true }
