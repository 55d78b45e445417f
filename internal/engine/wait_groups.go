package engine

import (
	"maps"
	"slices"

	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/internal/waitgraph"
)

// crowd is those groups of a GroupBy that wait for the same: all for an item, which the router would have to bring, or all for room
// in the edge behind. Whoever can end the wait of one can end that of the others, so they are one task, however many they are and
// whoever of them comes and goes.
//
// The epoch of that task is the moment at which the last of them got in line, if that was before the look. Then two looks with the
// same epoch have seen nobody new: whoever has come in between, or has come back, got in line after the first of them had begun. So
// all who are there have been there all the time. One that has left is where it is found now.
type crowd struct {
	groups int
	since  int64
}

func (c *crowd) add(since int64) {
	if c.groups++; c.groups == 1 || since > c.since {
		c.since = since
	}
}

// crowds is what a look sees of one GroupBy.
type crowds struct {
	*survey
	router           *Worker
	lanes, out       int // edges
	readers, writers int // tasks: groups that wait for an item, and for room behind them
	reading, writing crowd
	others           int  // groups that are neither: they move
	runs             bool // one of them waits nowhere
	awaits           await
}

// await is what the router waits for beside edges.
type await struct {
	epoch  uint64
	since  int64
	over   bool    // it has come
	one    *Worker // the end of this group; nil: a place
	writes bool    // that one is a writer
}

// emit notes that a group waits for room behind its stage.
func (s *survey) emit(w *Worker, p queue.Parked) {
	if s.emits == nil {
		s.emits = map[*Worker]queue.Parked{}
	}
	s.emits[w] = p
}

// survey implements [Edge], for the lanes as one: that where the router waits for room.
func (r *grouping[K, T, U]) survey(s *survey) {
	n := len(s.graph.Tasks)
	c := crowds{survey: s, router: r.W, lanes: len(s.graph.Edges), out: r.out.id, readers: n, writers: n + 1}
	s.graph.Tasks = append(s.graph.Tasks, waitgraph.Task{}, waitgraph.Task{})
	s.waits = append(s.waits, wait{}, wait{})
	s.graph.Edges = append(s.graph.Edges, waitgraph.Edge{Capacity: r.Lane.Capacity, Fixed: true, Producers: s.list(r.W.id), Read: true})
	s.unknown = append(s.unknown, 0)
	for _, g := range r.glance(&c.awaits) {
		g.lane.Look(&s.look)
		c.see(g.w, &s.look)
	}
	if c.runs {
		s.busy = append(s.busy, r.Stage.Name)
	}
	c.note()
	if c.awaits.epoch&1 == 1 && c.awaits.epoch == r.bell.waits.epoch.Load() {
		c.noteRouter()
	}
}

// glance returns the groups that are open, and says what the router waits for. A ring follows what it tells of, so that says whether
// it has come, though the router may not have run yet. At the end it waits for all groups, also for the one that it wanted last.
func (r *grouping[K, T, U]) glance(a *await) []*group[K, T, U] {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.epoch, a.since = r.bell.waits.epoch.Load(), r.bell.waits.since.Load()
	if g := r.open[r.wanted]; g != nil {
		a.one, a.over = g.w, !g.closing
	} else {
		a.over = len(r.open) < r.Most || r.ending == 0 && r.resting.first != nil
	}
	return slices.Collect(maps.Values(r.open))
}

// see notes where a group is, whose lane has been looked at. One that is found at two places has gone from one to the other meanwhile.
func (c *crowds) see(w *Worker, lane *queue.Look) {
	c.waiting += lane.Length
	room, emits := c.emits[w]
	takes := len(lane.Takers) > 0
	task := -1
	switch {
	case takes == emits || w.Gone() != nil:
	case takes && w.needs(lane.Takers[0]):
		task = c.readers
		c.reading.add(lane.Takers[0].Since)
	case emits && w.needs(room):
		task = c.writers
		c.writing.add(room.Since)
		c.awaits.writes = c.awaits.writes || w == c.awaits.one
	}
	if task < 0 {
		c.others++
		c.runs = c.runs || !takes && !emits
	}
	if len(lane.Putters) > 0 {
		c.front(task, lane)
	}
}

// front notes that the router waits for room in a lane, that of a group which is part of a task, -1 for none.
func (c *crowds) front(task int, lane *queue.Look) {
	e := &c.graph.Edges[c.lanes]
	e.Length, e.Full, e.Weighs, e.Ended = lane.Length, lane.Full, lane.Weighs, lane.Ended
	if task >= 0 {
		e.Consumers, e.Read = c.list(task), false
	}
	c.inLine(lane.Putters, waitgraph.Room, c.lanes)
}

// note notes the crowds, which feed the edge behind the groups, as all other groups do.
func (c *crowds) note() {
	e := &c.graph.Edges[c.out]
	c.unknown[c.out] -= c.reading.groups + c.writing.groups
	e.Fed = c.unknown[c.out] > 0 || c.others > 0
	e.Producers = c.list(append(slices.Clip(e.Producers), c.both()...)...)
	c.wait(c.readers, waitgraph.Task{Kind: waitgraph.Tasks, On: c.list(c.router.id)}, c.reading)
	c.wait(c.writers, waitgraph.Task{Kind: waitgraph.Room, On: c.list(c.out)}, c.writing)
}

// both returns the tasks that have a group.
func (c *crowds) both() (tasks []int) {
	if c.reading.groups > 0 {
		tasks = append(tasks, c.readers)
	}
	if c.writing.groups > 0 {
		tasks = append(tasks, c.writers)
	}
	return tasks
}

// wait notes what a crowd waits for. One that somebody has joined since the look began moves.
func (c *crowds) wait(task int, t waitgraph.Task, of crowd) {
	switch {
	case of.groups == 0:
		return
	case of.since >= c.began:
		t = waitgraph.Task{Epoch: c.looks}
	default:
		t.Epoch = uint64(of.since)
	}
	c.graph.Tasks[task] = t
	c.waits[task] = wait{found: true, since: of.since, crowd: of.groups, router: c.router, lanes: c.lanes}
}

// noteRouter notes that the router waits for groups.
func (c *crowds) noteRouter() {
	t, a := waitgraph.Task{Epoch: c.awaits.epoch}, &c.awaits
	switch {
	case a.over:
	case a.writes:
		t.Kind, t.On = waitgraph.Tasks, c.list(c.writers)
	case a.one == nil && c.others == 0:
		t.Kind, t.On = waitgraph.Tasks, c.list(c.both()...)
	}
	c.parked(c.router, t, a.since, 0)
	c.waits[c.router.id].groups = true
}
