package flow

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// traits is what the search for diamonds that stand still has to know of a node beside its operator.
type traits struct {
	count     int  // items of a FromSlice, an edge's capacity, how many a Take or Skip is about, the size of a turn
	counted   bool // a source of count items
	loses     bool // it may let go of items
	yields    bool // an edge that never makes its producer wait
	flattens  bool // a FlatMap from the batches of a Batch back to their elements
	slices    bool // a FlatMap of slices
	gathers   bool // it may keep items until more come, however long that takes
	effect    bool // it is NonIdempotent
	workers   int  // that call a function at the same time
	tickets   int  // how many chunks they have in hand while there is no room behind
	gathering int  // how many items it gathers at most
	lags      bool // what it does not hand on one by one never keeps a join waiting: it has an item, or will in a time
}

// A diamond is what lies between a fan-out and a join where branches of it meet again. It can stand still without any cycle:
// the join waits for one branch, whose items come only when the fan-out goes on, and that waits for room in another branch,
// which the join does not read. These operators wait for a certain input; Merge and MergePriority take what comes, and so
// never leave a full edge alone while another is empty. No branch of a Balance waits for the others either.
var (
	matching = map[string]bool{"zip": true, "zipwith": true, "interleave": true}
	copying  = map[string]bool{"broadcast": true, "tee": true}
	routing  = map[string]bool{"split": true, "partition": true}
)

// diamonds is the state of the search.
type diamonds struct {
	*planner
	above map[*node]origins
	down  map[*node]*node // who consumes a node
	rank  map[*node]int   // the place of a node in order
	rates map[*node]rate
}

// origins are the fan-outs that are upstream of a node, each with the branches of it that come to the node.
type origins map[*node]map[*node]bool

func (o origins) add(branch *node) {
	fan := branch.ups[0]
	if o[fan] == nil {
		o[fan] = map[*node]bool{}
	}
	o[fan][branch] = true
}

// deadlocks returns what is wrong with the diamonds of the graph: those that must stand still once there are enough items.
func (p *planner) deadlocks() []string {
	if len(p.fans) == 0 {
		return nil
	}
	d := p.newDiamonds()
	var found []string
	for _, n := range p.order {
		if text := d.wrongJoin(n); text != "" {
			found = append(found, p.finding(n, text))
		}
	}
	if len(found) == 0 && len(p.bad) == 0 {
		found = d.tooSmall()
	}
	return found
}

func (p *planner) newDiamonds() *diamonds {
	d := &diamonds{planner: p, above: map[*node]origins{}, down: map[*node]*node{}, rank: map[*node]int{}, rates: map[*node]rate{}}
	for _, n := range p.order {
		d.enter(n)
	}
	return d
}

// enter notes what is around a node.
func (d *diamonds) enter(n *node) {
	above := origins{}
	for _, up := range n.ups {
		d.down[up] = n
		for _, branches := range d.above[up] {
			for branch := range branches {
				above.add(branch)
			}
		}
	}
	if n.branch > 0 {
		above.add(n)
	}
	d.above[n], d.rank[n] = above, len(d.rank)
}

// wrongJoin says what is wrong with a join, whatever the capacities of the edges.
func (d *diamonds) wrongJoin(n *node) string {
	var wrong func(fan, a, b *node) string
	switch {
	case matching[n.op]:
		wrong = d.unequal
	case n.op == "mergesorted":
		wrong = d.skewed
	case n.op == "concat":
		wrong = d.late
	default:
		return ""
	}
	for j, b := range n.ups {
		for i, a := range n.ups[:j] {
			if matching[n.op] && !d.differ(a, b) {
				continue
			}
			fan := d.fork(a, b)
			if fan == nil || d.fits(fan) {
				continue
			}
			if text := wrong(fan, a, b); text != "" {
				return fmt.Sprintf("its inputs %d and %d are branches of %s, ", i+1, j+1, d.at(fan)) + text
			}
		}
	}
	return ""
}

// skewed says what is wrong with branches whose heads are compared.
func (d *diamonds) skewed(fan, a, b *node) string {
	if !d.blocks(fan, a) && !d.blocks(fan, b) {
		return ""
	}
	return "which stands still when one of them is full while this waits for an item of the other: use Merge, MergePriority or ParallelByKey"
}

// late says what is wrong with a branch b that has its turn when a has ended.
func (d *diamonds) late(fan, a, b *node) string {
	if d.ends(fan, a) || !d.blocks(fan, b) {
		return ""
	}
	return "which ends only when both have taken their items, and the later one has its turn when the earlier one has ended: use Merge"
}

// fork returns the nearest fan-out of which a and b are different branches; nil if there is none, or it is a Balance.
func (d *diamonds) fork(a, b *node) (nearest *node) {
	for fan, left := range d.above[a] {
		right := d.above[b][fan]
		if !copying[fan.op] && !routing[fan.op] || len(right) == 0 || len(left) == 1 && maps.Equal(left, right) {
			continue
		}
		if nearest == nil || d.rank[fan] > d.rank[nearest] {
			nearest = fan
		}
	}
	return nearest
}

// between reports whether there is a way from fan to n on which no node is open.
func (d *diamonds) between(fan, n *node, open func(*node) bool) bool {
	seen := map[*node]bool{} // without a way, or a chain of diamonds would have 2^n of them to try
	var way func(n *node) bool
	way = func(n *node) bool {
		if n == fan {
			return true
		}
		if seen[n] || d.above[n][fan] == nil || open(n) {
			return false
		}
		seen[n] = true
		return slices.ContainsFunc(n.ups, way)
	}
	return way(n)
}

// blocks reports whether the fan-out may have to wait for a reader of n.
func (d *diamonds) blocks(fan, n *node) bool {
	return d.between(fan, n, func(n *node) bool { return n.edge && n.yields || n.op == "conflate" })
}

// ends reports whether n may end before the fan-out does.
func (d *diamonds) ends(fan, n *node) bool {
	return !d.between(fan, n, func(n *node) bool { return n.op == "take" || n.op == "takewhile" })
}

// fits reports whether the edges of all branches hold all that there will ever be, so that the fan-out never waits.
func (d *diamonds) fits(fan *node) bool {
	room := DefaultCapacity
	for n, reader := range d.down {
		for reader.op == "with" && d.down[reader] != nil {
			reader = d.down[reader]
		}
		if n.branch > 0 && n.ups[0] == fan && reader.edge {
			room = min(room, reader.count)
		}
	}
	return most(fan.ups[0]) <= room
}

// most is how many items a node gives at most, as far as that is known; math.MaxInt otherwise.
func most(n *node) int {
	switch {
	case n.counted:
		return n.count
	case n.op == "take":
		return min(n.count, most(n.ups[0]))
	case n.branch > 0:
		return most(n.ups[0].ups[0])
	case n.edge && len(n.ups) > 0, passing[n.op], n.op == "batch", n.op == "filter", n.op == "filtermap":
		return most(n.ups[0])
	}
	return math.MaxInt
}

// at names a node, with its line.
func (d *diamonds) at(n *node) string {
	name := d.name(n)
	switch {
	case n.edge:
		name = fmt.Sprintf("edge %q", name)
	case n.branch > 0: // it has no line of its own
		n = n.ups[0]
	}
	return fmt.Sprintf("%s (%s)", name, n.Line())
}

// list joins texts as a sentence does.
func list(texts []string) string {
	if last := len(texts) - 1; last > 0 {
		return strings.Join(texts[:last], ", ") + " and " + texts[last]
	}
	return strings.Join(texts, "")
}
