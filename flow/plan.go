package flow

import (
	"fmt"
	"strconv"
	"sync"

	"github.com/weir-go/weir/internal/engine"
)

// plan is what a walk over a blueprint finds out, the same for all of its runs: the name of every node, and what is wrong.
type plan struct {
	names    map[*node]string
	onces    []*node // parts that serve one run
	bad      []string
	advice   []string
	trusting bool // that nothing stands still
}

// planned makes the plan of a pipeline when it is first needed.
type planned struct {
	once     sync.Once
	plan     plan
	trusting bool // that no diamond or loop stands still; for tests, which look whether one does
}

func (p *planned) of(leaves []*leaf) *plan {
	p.once.Do(func() { p.plan = newPlan(leaves, p.trusting) })
	return &p.plan
}

// newPlan walks the graph from its sinks to its sources.
func newPlan(leaves []*leaf, trusting bool) plan {
	p := newPlanner(leaves, trusting)
	for _, fan := range p.fans {
		if got := p.seen[fan]; got < fan.branches {
			p.fail(fan, fmt.Sprintf("%d of its %d outputs are not consumed", fan.branches-got, fan.branches))
		}
	}
	p.bad = append(p.bad, p.loops()...)
	if !trusting {
		p.bad = append(p.bad, p.hoarded()...)
		p.bad = append(p.bad, p.deadlocks()...)
	}
	if len(p.bad) == 0 {
		p.advise()
	}
	return p.plan
}

// newPlanner walks the graph, and has yet to look at the whole.
func newPlanner(leaves []*leaf, trusting bool) *planner {
	p := &planner{names: map[*node]string{}, seen: map[*node]int{}, taken: map[string]*node{}}
	p.trusting = trusting
	if len(leaves) == 0 {
		p.bad = append(p.bad, "flow: the pipeline has no sink")
	}
	for _, l := range leaves {
		p.visit(l.node)
	}
	return p
}

// name returns a node's name.
func (p *plan) name(n *node) string { return p.names[n] }

// finding says what is wrong with a node, with its name and line.
func (p *plan) finding(n *node, text string) string {
	return fmt.Sprintf("flow: %s (%s): %s", p.name(n), n.Line(), text)
}

// usedUp is what is wrong with a part in its second run.
func (n *node) usedUp() string {
	if n.kind == engine.Source {
		return "it serves one run and has had it; use Open for a source that each run has of its own"
	}
	return "it serves one run and has had it"
}

// planner is the state of a walk.
type planner struct {
	plan
	seen   map[*node]int // how often each node was reached from downstream
	taken  map[string]*node
	supply supplies
	fans   []*node
	order  []*node // each behind what is upstream of it
	count  int     // of named nodes, branches aside
}

func (p *planner) fail(n *node, text string) { p.bad = append(p.bad, p.finding(n, text)) }

func (p *planner) visit(n *node) {
	p.seen[n]++
	if p.seen[n] > 1 {
		switch {
		case n.kind == engine.Sink:
			p.fail(n, "it is in the pipeline twice")
		case n.branches == 0:
			p.fail(n, "its output is consumed twice; use Broadcast or Tee")
		}
		return
	}
	if n.branches > 0 {
		p.fans = append(p.fans, n)
	}
	for _, up := range n.ups {
		p.visit(up)
	}
	p.christen(n)
	p.order = append(p.order, n)
	for _, text := range n.errs {
		p.fail(n, text)
	}
	if text := p.supply.starved(n); text != "" && !p.trusting {
		p.fail(n, text)
	}
	if n.once != nil {
		p.onces = append(p.onces, n)
	}
	for _, side := range n.sides {
		p.visit(side.node)
	}
}

// christen gives the node its name. Edges have names of their own.
func (p *planner) christen(n *node) {
	name := n.name
	switch {
	case n.of != nil && !n.edge:
		p.names[n] = p.names[n.of]
		return
	case n.of != nil && name == "":
		name = p.names[n.of] + ".again"
	case n.branch > 0:
		name = p.names[n.ups[0]] + "." + strconv.Itoa(n.branch)
	case name == "":
		name = n.op + "#" + strconv.Itoa(p.count+1)
	}
	if n.branch == 0 && n.of == nil {
		p.count++
	}
	p.names[n] = name
	key := name
	if n.edge {
		key = "edge " + name
	}
	if other := p.taken[key]; other != nil {
		p.fail(n, fmt.Sprintf("the name %q is taken (%s)", name, other.Line()))
		return
	}
	p.taken[key] = n
}
