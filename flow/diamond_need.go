package flow

import (
	"fmt"
	"sort"
)

// maxMoves is how many items the model moves in all, to be done in some tens of milliseconds also with huge batches. What has not
// come to stand still by then is taken for sound.
const maxMoves = 1 << 22

// tooSmall returns a finding for each join in front of which an edge is too small: with the capacities as they are the graph
// stands still. It names the least capacity that lets it go on, if all other edges stay as they are.
func (d *diamonds) tooSmall() (found []string) {
	moves := maxMoves
	s := &sizer{d: d, moves: &moves, capacities: map[int]int{}}
	if !s.stands() || !s.grow() {
		return nil
	}
	s.shrink()
	for _, n := range d.order {
		if text := s.text(n); text != "" {
			found = append(found, d.finding(n, text))
		}
	}
	return found
}

// sizer looks for capacities with which nothing stands still.
type sizer struct {
	d          *diamonds
	moves      *int
	capacities map[int]int  // of the edges that must grow, by number
	jams       []jam        // one for each of them
	doomed     map[int]bool // the components that stand still, whatever the keys are
}

// stands looks for components that stand still.
func (s *sizer) stands() bool {
	m := s.d.newModel(nil, s.moves, false)
	s.doomed = stuck(m)
	if m.varies && len(s.doomed) > 0 {
		s.doomed = stuck(s.d.newModel(nil, s.moves, true))
	}
	return len(s.doomed) > 0
}

// stuck returns the components of a model that come to stand still, by number.
func stuck(m *model) map[int]bool {
	all := map[int]bool{}
	for i, c := range m.components() {
		if c.stuck() {
			all[i] = true
		}
	}
	return all
}

// jam runs the graph with the capacities so far.
func (s *sizer) jam() (jam, bool) {
	for i, c := range s.d.newModel(s.capacities, s.moves, false).components() {
		if s.doomed[i] && c.stuck() {
			return c.jam(), true
		}
	}
	return jam{}, false
}

// grow doubles the edges that keep the graph from going on, until none does. It reports whether there were any.
func (s *sizer) grow() bool {
	for {
		j, stuck := s.jam()
		if !stuck {
			return len(s.jams) > 0
		}
		if s.capacities[j.edge.id] == 0 {
			s.jams = append(s.jams, j)
		}
		s.capacities[j.edge.id] = 2 * j.edge.capacity
	}
}

// shrink makes each of the edges that have grown as small as it can be.
func (s *sizer) shrink() {
	for _, j := range s.jams {
		id, had := j.edge.id, j.edge.capacity
		s.capacities[id] = had + sort.Search(s.capacities[id]-had, func(more int) bool {
			s.capacities[id] = had + more
			_, stuck := s.jam()
			return !stuck
		})
	}
}

// text says which edges are too small for the join n.
func (s *sizer) text(n *node) string {
	var needs []string
	var fan *node
	for _, j := range s.jams {
		if j.join == n && (*s.moves == 0 || s.capacities[j.edge.id] > j.edge.capacity) {
			fan = j.fan
			needs = append(needs, s.need(j.edge))
		}
	}
	if fan == nil {
		return ""
	}
	return fmt.Sprintf("it waits for one branch of %s, which waits for room in another: ", s.d.at(fan)) + list(needs)
}

// need says how large an edge must be.
func (s *sizer) need(e *modelEdge) string {
	if *s.moves == 0 {
		return fmt.Sprintf("edge %q has %d, and what it needs would take too long to find", e.name, e.capacity)
	}
	least := s.capacities[e.id]
	text := fmt.Sprintf("edge %q needs %d, has %d", e.name, least, e.capacity)
	if e.node != nil {
		return text + fmt.Sprintf(" (%s)", e.node.Line())
	}
	return text + fmt.Sprintf(": write Buffer(%d, flow.Block) there", least)
}
