package flow

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/internal/queue"
)

// Graph describes a pipeline as data: what runs, and where items can wait.
type Graph struct {
	Stages []GraphStage
	Edges  []GraphEdge
	Fused  [][2]string // neighbours in one goroutine, by name

	// Bound is the most items that can be inside at one time: the capacities of all edges, and what each goroutine can have
	// in hand: a chunk, a batch or group that it gathers, results that wait for their order. Elements of a slice that a
	// FlatMap works off, and what user code keeps, are not in it.
	Bound int
	// Goroutines is how many the run has; behind a GroupBy the most that it can have.
	Goroutines int
}

// GraphStage is one stage of a [Graph].
type GraphStage struct {
	Name    string
	Op      string // "map"
	Line    string // file:line that made it
	Workers int    // goroutines that run it; for a GroupBy the most
}

// GraphEdge is one edge of a [Graph].
type GraphEdge struct {
	Name      string
	Line      string   // file:line that wrote it; "" for one that an operator brought
	From, To  []string // stages; From is empty behind an Inlet
	Capacity  int
	OnFull    Policy
	MaxWait   time.Duration
	MaxWeight int64
	Order     string // in which it serves items: "fifo", "newest first", "fair", "by criticality", "shed largest"
}

// Graph returns the graph that a run of the pipeline would have, as far as it can be built: with build errors it is empty, and
// Check says what they are.
func (p Pipeline) Graph() Graph {
	b, err := p.assemble(context.Background(), false)
	if err != nil {
		return Graph{}
	}
	return graphOf(b.run)
}

func graphOf(r *engine.Run) Graph {
	g := Graph{Bound: r.Bound(), Goroutines: len(r.Workers), Fused: r.Fused()}
	for _, st := range r.Stages {
		_, groups := st.Groups()
		g.Goroutines += groups
		g.Stages = append(g.Stages, GraphStage{Name: st.Name, Op: st.Op, Line: st.At.Line(), Workers: len(st.Workers) + groups})
	}
	for _, e := range r.Edges {
		info := e.Info()
		ge := GraphEdge{
			Name: info.Name, From: info.From, To: info.To, Capacity: info.Capacity,
			OnFull: info.OnFull, MaxWait: info.MaxWait, MaxWeight: info.MaxWeight,
			Order: info.Order.String(),
		}
		if info.At != nil {
			ge.Line = info.At.Line()
		}
		g.Edges = append(g.Edges, ge)
	}
	return g
}

// label says what an edge holds and what it does when it is full.
func (e *GraphEdge) label() string {
	if e.Order != queue.FIFO.String() {
		return fmt.Sprintf("%s %d %s %s", e.Name, e.Capacity, e.OnFull, e.Order)
	}
	return fmt.Sprintf("%s %d %s", e.Name, e.Capacity, e.OnFull)
}

// ends returns the pairs of stages that an edge joins. Edges of which one end has no stage get the edge's own name there.
func (e *GraphEdge) ends() (pairs [][2]string) {
	from, to := e.From, e.To
	if len(from) == 0 {
		from = []string{"-> " + e.Name}
	}
	if len(to) == 0 {
		to = []string{e.Name + " ->"}
	}
	for _, f := range from {
		for _, t := range to {
			pairs = append(pairs, [2]string{f, t})
		}
	}
	return pairs
}

// Mermaid returns the graph in Mermaid's notation: thick arrows are edges, with capacity and policy, thin ones join the stages
// of one goroutine.
func (g Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	ids := g.ids()
	for _, name := range ids.names {
		fmt.Fprintf(&b, "  %s[%s]\n", ids.of[name], mermaidQuote(name))
	}
	for _, p := range g.Fused {
		fmt.Fprintf(&b, "  %s --> %s\n", ids.of[p[0]], ids.of[p[1]])
	}
	for _, e := range g.Edges {
		for _, p := range e.ends() {
			fmt.Fprintf(&b, "  %s ==>|%s| %s\n", ids.of[p[0]], mermaidQuote(e.label()), ids.of[p[1]])
		}
	}
	return b.String()
}

// DOT returns the graph in Graphviz's notation: bold arrows are edges, with capacity and policy.
func (g Graph) DOT() string {
	var b strings.Builder
	b.WriteString("digraph weir {\n  rankdir=LR;\n  node [shape=box];\n")
	ids := g.ids()
	for _, name := range ids.names {
		fmt.Fprintf(&b, "  %s [label=%s];\n", ids.of[name], dotQuote(name))
	}
	for _, p := range g.Fused {
		fmt.Fprintf(&b, "  %s -> %s;\n", ids.of[p[0]], ids.of[p[1]])
	}
	for _, e := range g.Edges {
		for _, p := range e.ends() {
			fmt.Fprintf(&b, "  %s -> %s [style=bold, label=%s];\n", ids.of[p[0]], ids.of[p[1]], dotQuote(e.label()))
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// idents gives every stage an identifier that both notations accept.
type idents struct {
	names []string
	of    map[string]string
}

func (g Graph) ids() idents {
	ids := idents{of: map[string]string{}}
	add := func(name string) {
		if _, ok := ids.of[name]; !ok {
			ids.of[name] = "s" + strconv.Itoa(len(ids.names))
			ids.names = append(ids.names, name)
		}
	}
	for _, st := range g.Stages {
		add(st.Name)
	}
	for _, e := range g.Edges {
		for _, p := range e.ends() {
			add(p[0])
			add(p[1])
		}
	}
	return ids
}

// The ways in which the two notations write a character as a number.
func mermaidQuote(s string) string { return quoteLabel(s, "#") }
func dotQuote(s string) string     { return quoteLabel(s, "&#") }

// quoteLabel quotes a label: what is neither a letter, a digit nor harmless is written as its number behind mark. A label can't end its
// quotes, begin a new line, or be taken for markup by what shows the graph, whatever a name is made of.
func quoteLabel(s, mark string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		harmless := strings.ContainsRune(" .,:_->", r) || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z' || r >= utf8.RuneSelf
		if !harmless {
			b.WriteString(mark + strconv.Itoa(int(r)) + ";")
		} else {
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
