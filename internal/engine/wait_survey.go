package engine

import (
	"slices"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/internal/waitgraph"
)

// survey is what the monitor sees when it looks at a run: the workers as tasks, by their number, and the edges as edges. Behind
// the workers come two tasks for each GroupBy, see wait_groups.go.
//
// Who is parked at an edge is known from the queue, whose lock makes sure that it has not been signalled. So nothing is written
// for the monitor but what the line of the waiting is. Whoever is found nowhere can move: it is running, in user code, waits for
// a time, a subscriber, or a source that has not said that it gives no more.
type survey struct {
	run     *Run
	graph   waitgraph.Snapshot
	waits   []wait // of each worker
	waiting int    // items in edges
	ids     []int  // room for lists
	look    queue.Look

	looks   uint64                   // how many there were
	began   int64                    // this one
	unknown []int                    // of each edge, producers that are not in the graph
	emits   map[*Worker]queue.Parked // groups that wait for room behind their stage
	busy    []string                 // stages some group of which waits nowhere
}

// wait is what the report needs to know about a worker that waits.
type wait struct {
	found  bool
	since  int64
	holds  int
	source string // that gives no more; "" where it waits for something else
	gate   bool   // it lets items into a loop
	groups bool   // it waits for its groups

	crowd  int     // how many groups it stands for; 0: it is a worker
	router *Worker // of those
	lanes  int     // the edge in front of them
}

// take looks at everything once.
func (s *survey) take(r *Run) *waitgraph.Snapshot {
	s.run, s.waiting, s.ids = r, 0, s.ids[:0]
	s.looks, s.began, s.unknown, s.busy = s.looks+1, clock.Now(), s.unknown[:0], s.busy[:0]
	s.graph.Tasks = cleared(s.graph.Tasks, len(r.Workers))
	s.waits = cleared(s.waits, len(r.Workers))
	s.graph.Edges = s.graph.Edges[:0]
	for _, e := range r.Edges {
		e.survey(s)
	}
	for _, p := range r.spots {
		p.survey(s)
	}
	clear(s.emits) // they may be gone by the next look
	return &s.graph
}

func cleared[T any](all []T, n int) []T {
	all = slices.Grow(all[:0], n)[:n]
	clear(all)
	return all
}

// parked notes that w waits. A worker that is found at two places has gone from one to the other meanwhile: it moves. So does one that has
// been told to end, however long it takes until it runs.
func (s *survey) parked(w *Worker, t waitgraph.Task, since int64, holds int) {
	at := w.id
	if s.waits[at].found || w.Gone() != nil {
		s.waits[at].found = true
		s.graph.Tasks[at] = waitgraph.Task{Epoch: t.Epoch}
		return
	}
	s.waits[at] = wait{found: true, since: since, holds: holds}
	t.Holds = holds
	s.graph.Tasks[at] = t
}

// inLine notes who waits at an edge.
func (s *survey) inLine(line []queue.Parked, kind waitgraph.Kind, edge int) {
	for _, p := range line {
		w, ok := p.Owner.(*Worker)
		switch {
		case !ok || w.run != s.run:
		case w.router != nil:
			s.emit(w, p)
		default:
			t := waitgraph.Task{Kind: kind, On: s.list(edge), Epoch: p.Epoch}
			if !w.needs(p) {
				t = waitgraph.Task{Epoch: p.Epoch}
			}
			s.parked(w, t, p.Since, p.Holds)
		}
	}
}

// needs reports whether only those at the edge end a wait of the worker's. A timeout does as well, and so does a context that is not
// its own.
func (w *Worker) needs(p queue.Parked) bool { return !p.Timed && (p.Done == nil || p.Done == w.done()) }

// list makes a list.
func (s *survey) list(ids ...int) []int {
	from := len(s.ids)
	s.ids = append(s.ids, ids...)
	return s.ids[from:len(s.ids):len(s.ids)]
}

// alive returns the numbers of those workers that have not ended: who has, has closed its outputs and left its inputs.
func (s *survey) alive(ws []*Worker) []int {
	from := len(s.ids)
	for _, w := range ws {
		if w.ended.Load() == 0 {
			s.ids = append(s.ids, w.id)
		}
	}
	return s.ids[from:len(s.ids):len(s.ids)]
}

// survey implements [Edge]. Who feeds or reads the edge and is no worker of the run shows in the number of producers and consumers.
func (l *Link[T]) survey(s *survey) {
	q := &s.look
	l.Look(q)
	e := waitgraph.Edge{Length: q.Length, Capacity: q.Capacity, Full: q.Full, Weighs: q.Weighs, Ended: q.Ended}
	e.Producers, e.Consumers = s.alive(l.from), s.alive(l.readers)
	unknown := q.Producers - len(e.Producers)
	e.Fed, e.Read = unknown > 0, q.Consumers > len(e.Consumers)
	s.graph.Edges, s.unknown = append(s.graph.Edges, e), append(s.unknown, unknown)
	s.waiting += q.Length
	s.inLine(q.Putters, waitgraph.Room, l.id)
	s.inLine(q.Takers, waitgraph.Items, l.id)
}

// survey implements [spot]. A ring follows an item or the end of an edge, so the edges say whether one has come.
func (b *Bell) survey(s *survey) {
	epoch := b.waits.epoch.Load()
	if epoch&1 == 0 || len(b.edges) == 0 {
		return
	}
	s.parked(b.w, waitgraph.Task{Kind: waitgraph.Items, On: s.list(b.edges...), Epoch: epoch}, b.waits.since.Load(), 0)
}

// survey implements [spot]. Whoever hands on results gives tickets free, and any worker of the window may be the one.
func (win *window[U]) survey(s *survey) {
	win.mu.Lock()
	defer win.mu.Unlock()
	for _, seat := range win.line {
		s.parked(seat.w, waitgraph.Task{Kind: waitgraph.Tasks, On: s.others(win.workers, seat.w), Epoch: seat.epoch}, seat.since, 0)
	}
}

// others returns the numbers of the workers that have not ended, but for one.
func (s *survey) others(ws []*Worker, but *Worker) []int {
	return slices.DeleteFunc(s.alive(ws), func(id int) bool { return id == but.id })
}

// done returns the channel that ends the context of the worker's user code, nil where nobody has asked for it.
func (w *Worker) done() <-chan struct{} {
	if m := w.made.Load(); m != nil {
		return m.ctx.Done()
	}
	return nil
}
