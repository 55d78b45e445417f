package waitgraph

import "slices"

// Knot is a set of stuck tasks that wait for nobody else.
type Knot struct {
	Tasks []int // all of them, in order
	// Cycle is the shortest circle in it, each task waiting for the next one, and the last for the first. It goes through
	// Smallest where there is one, otherwise through the task that has gathered most items, or else through one in front
	// of which items lie: that is what the others wait for.
	Cycle []int
	// Smallest is the full edge with the least capacity at which one of them waits for room, those aside that nobody can make
	// larger; -1 where all wait for items or for each other, so that no capacity would help.
	Smallest int
	// Behind are the other stuck tasks whose wait leads here.
	Behind []int
}

// knots finds the knots of the stuck tasks.
func (s *Snapshot) knots(stuck []bool) []Knot {
	c := components{of: make([]int, len(s.Tasks)), low: make([]int, len(s.Tasks)), next: s.waitsFor(stuck)}
	for i := range s.Tasks {
		if stuck[i] && c.low[i] == 0 {
			c.visit(i)
		}
	}
	var knots []Knot
	for _, tasks := range c.found {
		if c.leaves(tasks) {
			continue
		}
		slices.Sort(tasks)
		knots = append(knots, s.knot(tasks, c.next))
	}
	slices.SortFunc(knots, func(a, b Knot) int { return a.Tasks[0] - b.Tasks[0] })
	return knots
}

// waitsFor returns for each stuck task whom it waits for: only stuck ones, or it would not be.
func (s *Snapshot) waitsFor(stuck []bool) [][]int {
	next := make([][]int, len(s.Tasks))
	for i := range s.Tasks {
		if !stuck[i] {
			continue
		}
		for w := range s.wakers(i) {
			if !slices.Contains(next[i], w) {
				next[i] = append(next[i], w)
			}
		}
	}
	return next
}

// knot describes the knot of some tasks.
func (s *Snapshot) knot(tasks []int, next [][]int) Knot {
	k := Knot{Tasks: tasks, Smallest: -1}
	starts := tasks
	for _, i := range tasks {
		t := &s.Tasks[i]
		if t.Kind != Room || s.Edges[t.On[0]].Fixed {
			continue
		}
		if k.Smallest < 0 || s.Edges[t.On[0]].Capacity < s.Edges[k.Smallest].Capacity {
			k.Smallest, starts = t.On[0], []int{i}
		}
	}
	if k.Smallest < 0 {
		starts = s.keepers(tasks)
	}
	for _, i := range starts {
		if c := circle(i, next); k.Cycle == nil || len(c) < len(k.Cycle) {
			k.Cycle = c
		}
	}
	k.Behind = behind(tasks, next)
	return k
}

// keepers returns those of some tasks that keep items: the one that has gathered most of them, otherwise all in front of which some lie
// that they do not read. Where there are none it returns all.
func (s *Snapshot) keepers(tasks []int) (keepers []int) {
	most := slices.MaxFunc(tasks, func(a, b int) int { return s.Tasks[a].Holds - s.Tasks[b].Holds })
	if s.Tasks[most].Holds > 0 {
		return []int{most}
	}
	for _, i := range tasks {
		if slices.ContainsFunc(s.Edges, func(e Edge) bool { return e.Length > 0 && slices.Contains(e.Consumers, i) }) {
			keepers = append(keepers, i)
		}
	}
	if keepers == nil {
		return tasks
	}
	return keepers
}

// circle returns the shortest way from a task back to itself. There is one in a knot.
func circle(start int, next [][]int) []int {
	from := map[int]int{}
	for line := []int{start}; len(line) > 0; line = line[1:] {
		for _, n := range next[line[0]] {
			if n == start {
				way := []int{line[0]}
				for at := line[0]; at != start; {
					at = from[at]
					way = append(way, at)
				}
				slices.Reverse(way)
				return way
			}
			if _, seen := from[n]; !seen {
				from[n] = line[0]
				line = append(line, n)
			}
		}
	}
	return []int{start}
}

// behind returns the tasks outside the knot from which it can be reached.
func behind(knot []int, next [][]int) (all []int) {
	reaches := make([]bool, len(next))
	for _, i := range knot {
		reaches[i] = true
	}
	for grown := true; grown; {
		grown = false
		for i := range next {
			if !reaches[i] && slices.ContainsFunc(next[i], func(n int) bool { return reaches[n] }) {
				reaches[i], grown = true, true
			}
		}
	}
	for i, r := range reaches {
		if r && !slices.Contains(knot, i) {
			all = append(all, i)
		}
	}
	return all
}

// components finds the strongly connected components of a graph.
//
//	Source: R. Tarjan, "Depth-First Search and Linear Graph Algorithms", 1972.
type components struct {
	next  [][]int
	of    []int // the component of each task, from 1
	low   []int // the earliest task that can be reached, by order of visit, from 1
	count int
	stack []int
	found [][]int
}

func (c *components) visit(i int) {
	c.count++
	order := c.count
	c.low[i] = order
	c.stack = append(c.stack, i)
	for _, n := range c.next[i] {
		if c.low[n] == 0 {
			c.visit(n)
		}
		if c.of[n] == 0 {
			c.low[i] = min(c.low[i], c.low[n])
		}
	}
	if c.low[i] < order {
		return
	}
	at := slices.Index(c.stack, i)
	tasks := slices.Clone(c.stack[at:])
	c.stack = c.stack[:at]
	c.found = append(c.found, tasks)
	for _, t := range tasks {
		c.of[t] = len(c.found)
	}
}

// leaves reports whether one of the tasks of a component waits for one of another.
func (c *components) leaves(tasks []int) bool {
	own := c.of[tasks[0]]
	return slices.ContainsFunc(tasks, func(i int) bool {
		return slices.ContainsFunc(c.next[i], func(n int) bool { return c.of[n] != own })
	})
}
