package waitgraph

// Kind says what ends a task's wait.
type Kind uint8

// The kinds of wait.
const (
	Moves Kind = iota // it does not wait, or something outside the snapshot ends its wait
	Room              // room on the edge On[0]
	Items             // an item of any of the edges On
	Tasks             // any of the tasks On
)

// Task is what one task does.
type Task struct {
	Kind  Kind
	On    []int  // edges or tasks, by index
	Epoch uint64 // is another one whenever the task has begun to wait
	Holds int    // items that it has gathered, too few to go on
}

// Edge is a bounded line between tasks.
type Edge struct {
	Length, Capacity int
	Full             bool // a producer that waits for room has to
	Weighs           bool // there is more to room than a number, so a producer that gives up may let another in
	Fixed            bool // nobody can make it larger
	Ended            bool // whoever waits there has been told so
	Fed              bool // somebody outside the snapshot may put something in
	Read             bool // somebody outside may take something out
	Producers        []int
	Consumers        []int
}

// Snapshot is all tasks and edges, as they were found one after the other.
type Snapshot struct {
	Tasks []Task
	Edges []Edge
}

// Stuck returns for each task whether it can't move.
func (s *Snapshot) Stuck() []bool { return s.stuck(func(int) bool { return true }) }

// stuck is Stuck where those that are not still can move, whatever they wait for.
func (s *Snapshot) stuck(still func(task int) bool) []bool {
	stuck := make([]bool, len(s.Tasks))
	frees := make([][]int, len(s.Tasks)) // whose wait a task can end
	var moving []int
	for i := range s.Tasks {
		stuck[i] = still(i) && !s.free(i)
		if !stuck[i] {
			moving = append(moving, i)
			continue
		}
		for w := range s.wakers(i) {
			frees[w] = append(frees[w], i)
		}
	}
	for len(moving) > 0 {
		last := len(moving) - 1
		i := moving[last]
		moving = moving[:last]
		for _, woken := range frees[i] {
			if stuck[woken] {
				stuck[woken] = false
				moving = append(moving, woken)
			}
		}
	}
	return stuck
}

// free reports whether a task can move whatever the others do: it does not wait, or what it waits for is there, or may come from
// outside. A task that nobody could wake can: that can't be all that there is to know.
func (s *Snapshot) free(i int) bool {
	t := &s.Tasks[i]
	switch t.Kind {
	case Room:
		e := &s.Edges[t.On[0]]
		if !e.Full || e.Ended || e.Read || e.Weighs && e.Fed {
			return true
		}
	case Items:
		for _, on := range t.On {
			if e := &s.Edges[on]; e.Length > 0 || e.Ended || e.Fed {
				return true
			}
		}
	case Tasks:
	case Moves:
		return true
	}
	for range s.wakers(i) {
		return false
	}
	return true
}

// wakers yields who can end the wait of a task, perhaps more than once.
func (s *Snapshot) wakers(i int) func(yield func(int) bool) {
	t := &s.Tasks[i]
	return func(yield func(int) bool) {
		switch t.Kind {
		case Room:
			e := &s.Edges[t.On[0]]
			if each(e.Consumers, yield) && e.Weighs {
				each(e.Producers, func(p int) bool { return p == i || yield(p) })
			}
		case Items:
			for _, on := range t.On {
				if !each(s.Edges[on].Producers, yield) {
					return
				}
			}
		case Tasks:
			each(t.On, yield)
		case Moves:
		}
	}
}

func each(all []int, yield func(int) bool) bool {
	for _, i := range all {
		if !yield(i) {
			return false
		}
	}
	return true
}
