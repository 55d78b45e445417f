package engine

import (
	"slices"
	"time"

	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/internal/waitgraph"
)

// Deadlock is a set of workers that wait for each other for ever.
type Deadlock struct {
	Age      time.Duration // of the run
	Hops     []Hop         // each waits for the next one, the last for the first
	Smallest string        // of the edges that are full, the one with the least capacity; "" where none is
	Behind   []string      // stages that wait for those in Hops
	Waiting  int           // items in edges

	run      *Run
	smallest Edge
	first    *Worker // of the first hop; for groups, who spreads the items to them
}

// Hop is one of the workers of a [Deadlock].
type Hop struct {
	Stage    string
	For      waitgraph.Kind
	Edge     string // where it waits; "" for its turn among the workers of its stage, and for what Source and Gate say
	Length   int
	Capacity int
	OnFull   queue.Policy
	Waited   time.Duration
	Holds    int    // items that it gathers, and has too few of
	Source   string // that gives no more before something settles; "" where it is no source
	Gate     bool   // it lets items into a loop, which is full
	Groups   int    // how many groups it stands for, or are open behind it; 0: it is of no GroupBy
	ForGroup bool   // it waits for one of these

	edge Edge
}

// What [Hop.Waits] says of waits that a bound other than a capacity makes.
const (
	WaitsAtGate        = "at its gate"
	WaitsForSettlement = "for a settlement"
	WaitsForGroups     = "for its groups"
)

// Waits says what it waits for.
func (h *Hop) Waits() string {
	switch {
	case h.For == waitgraph.Room:
		return "to write"
	case h.For == waitgraph.Items:
		return "to read"
	case h.Source != "":
		return WaitsForSettlement
	case h.Gate:
		return WaitsAtGate
	case h.ForGroup:
		return WaitsForGroups
	}
	return "for its turn"
}

// describe says who waits for whom in a knot.
func (m *monitor) describe(k *waitgraph.Knot, now int64) *Deadlock {
	d := &Deadlock{Age: m.run.Elapsed(), Waiting: m.survey.waiting, run: m.run, first: m.worker(k.Cycle[0])}
	for i, task := range k.Cycle {
		d.Hops = append(d.Hops, m.hop(task, k.Cycle[(i+1)%len(k.Cycle)], now))
	}
	if k.Smallest >= 0 {
		d.smallest = m.run.Edges[k.Smallest]
		d.Smallest = d.smallest.Info().Name
	}
	for _, task := range slices.Concat(k.Tasks, k.Behind) {
		name := m.hop(task, -1, now).Stage
		inCycle := slices.ContainsFunc(d.Hops, func(h Hop) bool { return h.Stage == name })
		if !inCycle && !slices.Contains(d.Behind, name) {
			d.Behind = append(d.Behind, name)
		}
	}
	return d
}

// worker returns that of a task; for groups, the one that spreads the items to them.
func (m *monitor) worker(task int) *Worker {
	if r := m.survey.waits[task].router; r != nil {
		return r
	}
	return m.run.Workers[task]
}

// hop describes a task that waits for another one, -1 for any.
func (m *monitor) hop(task, next int, now int64) Hop {
	t, wait, w := &m.survey.graph.Tasks[task], &m.survey.waits[task], m.worker(task)
	h := Hop{
		For: t.Kind, Waited: time.Duration(now - wait.since), Holds: wait.holds, Source: wait.source, Gate: wait.gate,
		Groups: wait.crowd, ForGroup: wait.groups,
	}
	switch {
	case t.Kind != waitgraph.Tasks:
		id := t.On[0]
		for _, on := range t.On {
			if slices.Contains(m.survey.graph.Edges[on].Producers, next) {
				id = on
			}
		}
		m.at(&h, id)
	case wait.crowd > 0: // for what comes from their router, each in a lane of its own, which is empty
		m.at(&h, wait.lanes)
		h.For, h.Length = waitgraph.Items, 0
	}
	if n := len(w.stages); wait.crowd == 0 && n > 0 {
		h.Groups, _ = w.stages[n-1].Groups()
	}
	h.Stage = m.stageAt(w, &h)
	return h
}

// at says at which edge a hop is.
func (m *monitor) at(h *Hop, edge int) {
	e := &m.survey.graph.Edges[edge]
	h.edge = m.run.Edges[edge]
	info := h.edge.Info()
	h.Edge, h.Length, h.Capacity, h.OnFull = info.Name, e.Length, e.Capacity, info.OnFull
}

// stageAt names the stage of a worker that waits: the one behind the edge where it waits for an item, and the last one in front of
// where it waits for room. A worker without a stage has the name of the edge that it feeds.
func (m *monitor) stageAt(w *Worker, h *Hop) string {
	if h.Source != "" {
		return h.Source
	}
	if h.For == waitgraph.Items {
		if name := h.edge.stageOf(w); name != "" {
			return name
		}
	}
	if len(w.stages) > 0 {
		return w.last()
	}
	if edges := w.feeds(); len(edges) > 0 {
		return edges[0].Info().Name
	}
	return w.last()
}

// stageOf implements [Edge].
func (l *Link[T]) stageOf(w *Worker) string {
	for _, st := range l.to {
		if slices.Contains(st.Workers, w) {
			return st.Name
		}
	}
	return ""
}

// stageOf implements [Edge].
func (r *grouping[K, T, U]) stageOf(*Worker) string { return r.Stage.Name }

// consumers implements [Edge].
func (l *Link[T]) consumers() []*Worker { return l.readers }

// consumers implements [Edge].
func (r *grouping[K, T, U]) consumers() []*Worker { return nil }
