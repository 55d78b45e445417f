package flow

import "slices"

// component is a part of a model whose goroutines depend on one another: when one of them stands still, all do in the end.
type component struct {
	m       *model
	workers []*modelWorker
}

// components splits the model into its parts.
func (m *model) components() (parts []*component) {
	seen := map[*modelWorker]bool{}
	for _, w := range m.workers {
		if seen[w] {
			continue
		}
		c := &component{m: m}
		for todo := []*modelWorker{w}; len(todo) > 0; {
			w := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if seen[w] {
				continue
			}
			seen[w] = true
			c.workers = append(c.workers, w)
			todo = append(todo, m.neighbours(w)...)
		}
		parts = append(parts, c)
	}
	return parts
}

func (m *model) neighbours(w *modelWorker) (ws []*modelWorker) {
	for _, e := range m.edges {
		switch w {
		case e.from:
			ws = append(ws, e.to)
		case e.to:
			ws = append(ws, e.from)
		}
	}
	return ws
}

// stuck runs the component and reports whether it comes to stand still. It does not where a state comes again, where
// a source or a Take has come to its end, and as far as is known when the model may move no more items.
func (c *component) stuck() bool {
	var saved []int
	for round, keep := 0, 1; ; round++ {
		before := *c.m.moves
		for _, w := range c.workers {
			for w.work() {
			}
			if w.ended {
				return false
			}
		}
		state := c.state()
		switch {
		case *c.m.moves == 0:
			return false
		case *c.m.moves == before:
			return true
		case slices.Equal(state, saved):
			return false
		}
		if round == keep {
			saved, keep = state, 2*keep
		}
	}
}

// work moves an item, unless there is none or no room for it.
func (w *modelWorker) work() bool {
	w.full, w.empty = nil, nil
	for _, e := range w.outs {
		if e.n == e.capacity+e.hands {
			w.full = e
			return false
		}
	}
	if !w.in.pull() {
		return false
	}
	for _, e := range w.outs {
		e.n++
	}
	return !w.ended
}

// state is everything that decides how the component goes on.
func (c *component) state() (state []int) {
	for _, w := range c.workers {
		for _, n := range w.state {
			state = append(state, *n)
		}
		for _, e := range w.outs {
			state = append(state, e.n)
		}
	}
	return state
}

// jam is a full edge that keeps a fan-out from going on, while a join waits for another of its branches.
type jam struct {
	edge *modelEdge // the one whose capacity the user is told to change
	fan  *node
	join *node
}

// jam returns what keeps a component that is stuck from going on.
func (c *component) jam() jam {
	i := slices.IndexFunc(c.workers, func(w *modelWorker) bool { return w.empty != nil })
	w := c.workers[i]
	for w.empty != nil {
		w = w.empty.from
	}
	j := jam{edge: w.full, fan: w.node}
	for w.full != nil {
		if j.edge.node == nil && w.full.node != nil {
			j.edge = w.full // written by the user, who can change it
		}
		w = w.full.to
	}
	j.join = w.join
	return j
}
