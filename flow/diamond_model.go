package flow

import (
	"math"
	"slices"
	"strconv"
)

// A model is the part of the graph between fan-outs and joins with numbers instead of items. It moves one item at a time, as the
// engine does where items are dear, and holds as few as the engine may: a fan-out and the goroutine behind an edge fetch
// an item only when there is room for it, a Batch holds its items, a FlatMap what is left of a batch, a Zip one item of its
// left. So a model that goes on for ever is a graph that does, whatever the chunks are.
//
// What hands on an unknown number of items, or keeps them for an unknown time, is cut out: it takes whatever comes and gives
// whatever is asked for. So is what no diamond is a part of. That may hide that a graph stands still, and never makes one up.
//
// How many items the lanes of a ParallelByKey hold depends on the keys. A roomy model has them hold as many as they can, and one that
// is not as few as they may: a graph is refused if both stand still, and told how much room it needs in any case.
type model struct {
	*diamonds
	capacities map[int]int // of edges, by number, other than those of the blueprint
	moves      *int        // how many items the model may still move
	roomy      bool
	varies     bool // a roomy one holds more

	edges   []*modelEdge
	workers []*modelWorker
	forks   map[*node]*modelWorker
	cuts    map[*node]bool
	joins   map[*node]bool
}

type modelEdge struct {
	id, n, capacity int
	hands           int // items that its writers have pulled while it is full
	name            string
	node            *node // nil: an operator brought it
	branch          int   // of a fan-out that copies: which one
	from, to        *modelWorker
}

// modelWorker is a goroutine: it pulls an item when all its outputs have room, and without outputs at any time.
type modelWorker struct {
	node  *node // whose goroutine it is
	in    pulled
	outs  []*modelEdge
	state []*int // of what it pulls through

	full  *modelEdge // it waits for room there
	empty *modelEdge // it waits for an item there
	join  *node      // in which it does so
	ended bool
}

// pulled is what a modelWorker pulls through. pull reports whether there was an item.
type pulled interface{ pull() bool }

func (d *diamonds) newModel(capacities map[int]int, moves *int, roomy bool) *model {
	m := &model{
		diamonds: d, capacities: capacities, moves: moves, roomy: roomy,
		forks: map[*node]*modelWorker{}, cuts: map[*node]bool{}, joins: map[*node]bool{},
	}
	for _, n := range slices.Backward(d.order) {
		if matching[n.op] && m.behindFork(n) && !m.joins[n] {
			m.drain(n)
		}
	}
	return m
}

// behindFork reports whether some of what comes to n has been copied.
func (d *diamonds) behindFork(n *node) bool {
	for fan := range d.above[n] {
		if copying[fan.op] {
			return true
		}
	}
	return false
}

func (m *model) worker(n *node) *modelWorker {
	w := &modelWorker{node: n}
	m.workers = append(m.workers, w)
	return w
}

// drain reads n for ever.
func (m *model) drain(n *node) {
	w := m.worker(n)
	w.in = m.reader(w, n)
}

func (m *model) edge(n *node, name string, capacity int) *modelEdge {
	e := &modelEdge{id: len(m.edges), name: name, node: n, capacity: capacity}
	if c := m.capacities[e.id]; c > 0 {
		e.capacity = c
	}
	m.edges = append(m.edges, e)
	return e
}

// implicit is the edge that an operator brings.
func (m *model) implicit(name string) *modelEdge { return m.edge(nil, name, DefaultCapacity) }

// cell is a number that is a part of w's state.
func (w *modelWorker) cell(n int) *int {
	w.state = append(w.state, &n)
	return &n
}

// reader is everything up to n as part of the goroutine w. It does what upstream.reader does.
func (m *model) reader(w *modelWorker, n *node) pulled {
	switch {
	case !m.behindFork(n):
		return &origin{m: m, w: w, left: w.cell(most(n))}
	case n.loses, n.yields:
		return m.cut(w, n)
	case n.edge:
		return m.head(w, n, m.link(n.ups[0], m.edge(n, m.name(n), n.count)))
	case n.branch > 0 && copying[n.ups[0].op]:
		return m.head(w, n, m.link(n, m.implicit(m.name(n)+".out")))
	case n.op == "zip", n.op == "zipwith":
		m.joins[n] = true
		return &matcher{left: m.front(w, n, 0), right: m.front(w, n, 1), held: w.cell(0)}
	case n.op == "interleave":
		m.joins[n] = true
		return m.turns(w, n)
	case n.op == "batch" && n.fills > 0:
		return &filler{in: m.front(w, n, -1), size: n.fills, held: w.cell(0)}
	case n.flattens && n.ups[0].op == "batch" && n.ups[0].fills > 0:
		return &flattener{in: m.reader(w, n.ups[0]), size: n.ups[0].fills, rest: w.cell(0)}
	case n.op == "skip":
		return &skipper{in: m.reader(w, n.ups[0]), left: w.cell(n.count)}
	case n.op == "take":
		return &taker{in: m.reader(w, n.ups[0]), w: w, left: w.cell(n.count)}
	case n.op == "parallel", n.op == "parallelbykey":
		return m.head(w, n, m.link(n, m.implicit(m.name(n)+".out")))
	case n.op == "idletimeout", !passing[n.op]:
		return m.cut(w, n)
	}
	return m.reader(w, n.ups[0])
}

// link is everything up to n, and the edge e behind it. It does what upstream.link does.
func (m *model) link(n *node, e *modelEdge) *modelEdge {
	switch {
	case n.op == "with":
		return m.link(n.ups[0], e)
	case !m.behindFork(n), n.loses:
	case n.op == "parallel":
		return m.crew(n, e, m.front(nil, n, -1).edge)
	case n.op == "parallelbykey":
		return m.lanes(n, e)
	case n.branch > 0 && copying[n.ups[0].op]:
		e.branch = n.branch
		m.fork(n.ups[0]).feed(e)
		return e
	}
	w := m.worker(n)
	w.in = m.reader(w, n)
	w.feed(e)
	return e
}

// crew is the workers of a Parallel, which read from in and write to e. An item for each chunk that they have in hand is the least.
func (m *model) crew(n *node, e, in *modelEdge) *modelEdge {
	e.hands = n.tickets
	m.pump(n, in, e)
	return e
}

// lanes is a ParallelByKey. In a roomy model its items fill all lanes, and otherwise they have the same key.
func (m *model) lanes(n *node, e *modelEdge) *modelEdge {
	lane := m.implicit(m.name(n) + ".lane.1")
	lane.hands = 1 // which lane an item is for is known when it has been pulled
	e.hands = min(n.tickets, 1)
	if m.varies = true; m.roomy {
		lane.capacity *= n.workers
		e.hands = n.tickets
	}
	router := m.worker(n)
	router.in = m.reader(router, n.ups[0])
	router.feed(lane)
	m.pump(n, lane, e)
	return e
}

// pump carries items from in to e.
func (m *model) pump(n *node, in, e *modelEdge) {
	w := m.worker(n)
	w.in = m.head(w, n, in)
	w.feed(e)
}

// feed adds an output. A fan-out waits for room in its branches in their order.
func (w *modelWorker) feed(e *modelEdge) {
	e.from = w
	w.outs = append(w.outs, e)
	slices.SortStableFunc(w.outs, func(a, b *modelEdge) int { return a.branch - b.branch })
}

// fork is the goroutine of a fan-out that copies.
func (m *model) fork(n *node) *modelWorker {
	w := m.forks[n]
	if w == nil {
		w = m.worker(n)
		m.forks[n] = w
		w.in = m.reader(w, n.ups[0])
	}
	return w
}

// front is the head at the edge in front of input i of n: the one that the user wrote, or one that n brings. i is -1 where n has
// one input.
func (m *model) front(w *modelWorker, n *node, i int) *head {
	up, name := n.ups[max(i, 0)], m.name(n)+".in"
	if i >= 0 {
		name += "." + strconv.Itoa(i+1)
	}
	switch {
	case up.edge && (up.loses || up.yields) && m.behindFork(up):
		e := m.implicit(name)
		pump := m.worker(up)
		pump.in = m.cut(pump, up)
		pump.feed(e)
		return m.head(w, n, e)
	case up.edge && len(up.ups) > 0:
		return m.head(w, n, m.link(up.ups[0], m.edge(up, m.name(up), up.count)))
	}
	return m.head(w, n, m.link(up, m.implicit(name)))
}

func (m *model) head(w *modelWorker, n *node, e *modelEdge) *head {
	e.to = w
	return &head{m: m, w: w, node: n, edge: e}
}

func (m *model) turns(w *modelWorker, n *node) pulled {
	t := &turns{size: n.count, left: w.cell(n.count), turn: w.cell(0)}
	for i := range n.ups {
		t.ins = append(t.ins, m.front(w, n, i))
	}
	return t
}

// cut replaces n by one that takes all that comes, and one that gives all that is asked for.
func (m *model) cut(w *modelWorker, n *node) pulled {
	if n.branch > 0 {
		n = n.ups[0]
	}
	if !m.cuts[n] {
		m.cuts[n] = true
		for _, up := range n.ups {
			if m.behindFork(up) {
				m.drain(up)
			}
		}
	}
	return &origin{m: m, w: w, left: w.cell(math.MaxInt)}
}

// origin gives items until there are no more.
type origin struct {
	m    *model
	w    *modelWorker
	left *int
}

func (s *origin) pull() bool {
	if *s.m.moves == 0 || *s.left == 0 {
		s.w.ended = s.w.ended || *s.left == 0
		return false
	}
	*s.m.moves--
	if *s.left < math.MaxInt {
		*s.left--
		s.w.ended = s.w.ended || *s.left == 0
	}
	return true
}

// head takes from an edge.
type head struct {
	m    *model
	w    *modelWorker
	node *node
	edge *modelEdge
}

func (h *head) pull() bool {
	if h.edge.n == 0 {
		h.w.empty, h.w.join = h.edge, h.node
		return false
	}
	if *h.m.moves == 0 {
		return false
	}
	*h.m.moves--
	h.edge.n--
	return true
}

// matcher is a Zip. While it waits for its right it has one item of its left.
type matcher struct {
	left, right pulled
	held        *int
}

func (z *matcher) pull() bool {
	if *z.held == 0 && !z.left.pull() {
		return false
	}
	*z.held = 1
	if !z.right.pull() {
		return false
	}
	*z.held = 0
	return true
}

// turns is an Interleave.
type turns struct {
	ins        []*head
	size       int
	left, turn *int
}

func (t *turns) pull() bool {
	if !t.ins[*t.turn].pull() {
		return false
	}
	if *t.left--; *t.left == 0 {
		*t.left, *t.turn = t.size, (*t.turn+1)%len(t.ins)
	}
	return true
}

// filler is a Batch without a limit in time.
type filler struct {
	in   pulled
	size int
	held *int
}

func (b *filler) pull() bool {
	for ; *b.held < b.size; *b.held++ {
		if !b.in.pull() {
			return false
		}
	}
	*b.held = 0
	return true
}

// flattener is a FlatMap that hands on the elements of batches.
type flattener struct {
	in   pulled
	size int
	rest *int
}

func (f *flattener) pull() bool {
	if *f.rest == 0 {
		if !f.in.pull() {
			return false
		}
		*f.rest = f.size
	}
	*f.rest--
	return true
}

type skipper struct {
	in   pulled
	left *int
}

func (s *skipper) pull() bool {
	for ; *s.left > 0; *s.left-- {
		if !s.in.pull() {
			return false
		}
	}
	return s.in.pull()
}

type taker struct {
	in   pulled
	w    *modelWorker
	left *int
}

func (t *taker) pull() bool {
	if *t.left == 0 || !t.in.pull() {
		t.w.ended = t.w.ended || *t.left == 0
		return false
	}
	*t.left--
	t.w.ended = t.w.ended || *t.left == 0
	return true
}
