package flow

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"

	"github.com/weir-go/weir/internal/engine"
)

// legalForms is how a loop can be written.
const legalForms = "use Gated(k), Lossy(capacity, policy) or a PrimedLoop"

// loops returns what is wrong with the loops of the graph.
func (p *planner) loops() []string {
	found := p.undeclared()
	var d *diamonds
	reported := map[*node]bool{}
	for _, n := range p.order {
		if n.of == nil || n != n.of.loop.exit {
			continue
		}
		if p.seen[n.of] == 0 {
			p.christen(n.of) // nothing is made of what comes in
		}
		if d == nil {
			d = p.newDiamonds()
		}
		a := newCircuit(d, n.of.loop, reported)
		a.look()
		found = append(found, a.found...)
	}
	return found
}

// effect returns the name of a stage that is on the way round and NonIdempotent, "" if there is none.
func (l *loop) effect(b *build) string {
	seen := map[*node]bool{}
	var find func(n *node) string
	find = func(n *node) string {
		if n == l.entry || seen[n] {
			return ""
		}
		if seen[n] = true; n.effect {
			return b.name(n)
		}
		for _, up := range n.ups {
			if name := find(up); name != "" {
				return name
			}
		}
		return ""
	}
	return find(l.back)
}

// circuit is what a loop has in it.
type circuit struct {
	*diamonds
	l        *loop
	inside   map[*node]bool
	readers  map[*node][]*node
	reported map[*node]bool // that something is wrong with, by any loop
	found    []string
}

func newCircuit(d *diamonds, l *loop, reported map[*node]bool) *circuit {
	a := &circuit{diamonds: d, l: l, inside: map[*node]bool{}, readers: map[*node][]*node{}, reported: reported}
	for _, n := range d.order {
		for _, up := range n.ups {
			a.readers[up] = append(a.readers[up], n)
		}
		a.inside[n] = n == l.entry || n != l.exit && slices.ContainsFunc(n.ups, func(up *node) bool { return a.inside[up] })
	}
	return a
}

// wrong records a finding about n.
func (a *circuit) wrong(n *node, format string, args ...any) {
	a.found = append(a.found, a.finding(n, fmt.Sprintf(format, args...)))
}

// once is wrong for what several loops may find.
func (a *circuit) once(n *node, format string, args ...any) {
	if !a.reported[n] {
		a.reported[n] = true
		a.wrong(n, format, args...)
	}
}

// look records what is wrong.
func (a *circuit) look() {
	if !a.whole() || a.trusting {
		return
	}
	if a.l.formless {
		a.wrong(a.l.entry, "it has no form: what goes round would fill the edges until nothing moves; %s", legalForms)
	}
	a.strangers()
	a.kept()
	if a.l.primed {
		a.lost()
		return
	}
	a.multiplied()
	a.endless()
}

// whole reports whether what the body returned is made of what it got.
func (a *circuit) whole() bool {
	out, again := a.inside[a.l.exit.ups[0]], a.inside[a.l.back]
	if !out {
		a.wrong(a.l.entry, "what leaves it is not made of what its body gets")
	}
	if !again {
		a.wrong(a.l.entry, "what goes round again is not made of what its body gets")
	}
	return out && again
}

// strangers finds joins that let items into the loop which have not come in through its gate.
func (a *circuit) strangers() {
	g := a.gains()
	for _, n := range a.order {
		if !a.inside[n] || len(n.ups) < 2 || n.op == "zip" || n.op == "zipwith" || g.out(n) == 0 {
			continue
		}
		for i, up := range n.ups {
			if a.inside[up] {
				continue
			}
			if n.op == "mergepriority" {
				a.once(n, "it is fed by its own loop %s, and prefers one to the other: what comes in by its input %d could starve; merge that in front of the Loop", a.at(a.l.entry), i+1)
			} else {
				a.once(n, "its input %d lets items into the loop %s past what bounds it: merge them in front of the Loop", i+1, a.at(a.l.entry))
			}
			break
		}
	}
}

// kept finds what would keep the last items for ever, because the end of a loop comes when nothing is inside.
func (a *circuit) kept() {
	for _, n := range a.order {
		switch {
		case !a.inside[n] || !n.gathers && n.fills <= 1:
		case a.l.primed && n.fills > a.l.form.k && a.returns(n):
			a.once(n, "it waits for %d items, but the loop %s never has more than %d inside: give it a maxWait, a size of at most %d, or the loop more initial values",
				n.fills, a.at(a.l.entry), a.l.form.k, a.l.form.k)
		case !a.l.primed:
			a.once(n, "it keeps items until more come, and the loop %s does not end before it lets them go: give it a maxWait, or put it behind the Loop", a.at(a.l.entry))
		}
	}
}

// returns reports whether something of what comes to n goes round. What is kept beside that way does not keep a primed loop waiting.
func (a *circuit) returns(n *node) bool {
	return n == a.l.back || n != a.l.exit && slices.ContainsFunc(a.readers[n], a.returns)
}

// multiplied finds what makes several of one item that go round, where their number is not counted.
func (a *circuit) multiplied() {
	edge := a.l.edge
	if edge.yields {
		return
	}
	g := a.gains()
	if g.out(a.l.entry) <= 1 {
		return
	}
	var texts []string
	for _, n := range a.order {
		if n != a.l.entry && n != a.l.back && a.inside[n] && g.multiplies(n) {
			texts = append(texts, a.at(n)+" "+multiplies(n))
		}
	}
	a.wrong(a.l.entry, "%s counts what it lets in, but %s, and all of them may go round: write %s.Children(limit), or an edge at the end of again that drops or rejects",
		a.l.form.call, list(texts), a.l.form.call)
}

func multiplies(n *node) string {
	switch {
	case copying[n.op]:
		return "copies them"
	case n.op == "keepalive":
		return uneven[n.op]
	}
	return "may make many of one"
}

// endless finds a loop that nothing ever leaves for good.
func (a *circuit) endless() {
	again := a.rate(a.l.back.ups[0])
	if a.l.edge.loses || !again.equal(rate{a.l.entry: big.NewRat(1, 1)}) || a.stops(a.l.back) {
		return
	}
	a.wrong(a.l.entry, "whatever comes in goes round for ever, and nothing new comes in once %d are inside: let items leave on the way (Filter, Split), or use Lossy, or a PrimedLoop", a.l.form.k)
}

// stops reports whether there is a Take between the loop's entry and n.
func (a *circuit) stops(n *node) bool {
	if n == a.l.entry || !a.inside[n] {
		return false
	}
	return n.op == "take" || n.op == "takewhile" || slices.ContainsFunc(n.ups, a.stops)
}

// lost finds what makes a primed loop lose or gain values.
func (a *circuit) lost() {
	if a.l.form.k == 0 {
		a.wrong(a.l.entry, "it has no initial values: the first item would wait for one for ever")
	}
	if need, has := a.l.form.k, a.l.edge.count; has < need && !a.l.edge.yields {
		a.wrong(a.l.entry, "its values must fit into its feedback edge: edge %q needs %d, has %d (%s)", a.name(a.l.edge), need, has, a.l.edge.Line())
	}
	one := rate{a.l.entry: big.NewRat(1, 1)}
	again := a.rate(a.l.back.ups[0])
	switch {
	case again.equal(one):
	case again == nil:
		a.wrong(a.l.entry, "it must hand on one value for each, and how many come round is not known behind %s", a.unclear())
	default:
		var texts []string
		for _, n := range a.causes(one, again) {
			if n != a.l.entry {
				texts = append(texts, a.at(n)+" "+cause(n))
			}
		}
		a.wrong(a.l.entry, "it must hand on one value for each, or it ends up without any and stands still, but %s", list(texts))
	}
}

// unclear names the first node inside behind which no rate is known.
func (a *circuit) unclear() string {
	for _, n := range a.order {
		if a.inside[n] && n.branch == 0 && a.rate(n) == nil && slices.ContainsFunc(n.ups, func(up *node) bool { return a.inside[up] && a.rate(up) != nil }) {
			return a.at(n)
		}
	}
	return a.at(a.l.back.ups[0])
}

// gains says how many of the items that go round an item at a node may become, at most: 0, 1, or 2 for any number.
type gains struct {
	*circuit
	known   map[*node]int
	assumed map[*node]int // of what goes round in an inner loop, by its entry
}

const many = 2

func (a *circuit) gains() *gains { return &gains{circuit: a, known: map[*node]int{}} }

// out is the gain behind n.
func (g *gains) out(n *node) int {
	gain, known := g.known[n]
	if !known {
		for _, c := range g.readers[n] {
			gain = max(gain, g.into(c, n))
		}
		g.known[n] = gain
	}
	return gain
}

// multiplying are the operators that may make many items of one, or of none.
var multiplying = map[string]bool{"flatmap": true, "expand": true, "via": true, "groupby": true, "keepalive": true}

// into is the gain in front of c, for what comes from n.
func (g *gains) into(c, n *node) int {
	switch {
	case c == g.l.back:
		return 1
	case c == g.l.exit || !g.inside[c] || c.kind == engine.Sink:
		return 0
	case c.op == "loop.again":
		return g.assumed[c.of]
	case c.loop != nil && c.loop != g.l && !c.loop.primed:
		return g.inner(c)
	case (c.op == "zip" || c.op == "zipwith") && g.partner(c) != n:
		return 0 // the pair counts for the other one
	case c.branches > 0:
		gain := 0
		for _, branch := range g.readers[c] {
			if one := g.out(branch); copying[c.op] {
				gain += one
			} else {
				gain = max(gain, one)
			}
		}
		return min(gain, many)
	case multiplying[c.op] && !c.flattens && g.out(c) > 0:
		return many
	}
	return g.out(c)
}

// partner returns the first input of a join that comes from the loop.
func (g *gains) partner(join *node) *node {
	i := slices.IndexFunc(join.ups, func(up *node) bool { return g.inside[up] })
	return join.ups[max(i, 0)]
}

// inner is the gain of a loop inside: the least one with which what goes round in it gains no more than what comes in.
func (g *gains) inner(entry *node) int {
	for gain := 0; ; gain++ {
		in := &gains{circuit: g.circuit, known: map[*node]int{}, assumed: maps.Clone(g.assumed)}
		if in.assumed == nil {
			in.assumed = map[*node]int{}
		}
		in.assumed[entry] = gain
		if in.out(entry) <= gain || gain == many {
			return gain
		}
	}
}

// multiplies reports whether n is one of those that make many items of one.
func (g *gains) multiplies(n *node) bool {
	in, out := 0, 0
	if len(n.ups) > 0 {
		in = g.into(n, n.ups[0])
	}
	switch {
	case n.branches > 0:
		for _, branch := range g.readers[n] {
			out = max(out, g.out(branch))
		}
	case n.loop != nil && !n.loop.primed:
		return in > g.out(n.loop.exit)
	default:
		out = g.out(n)
	}
	return in > out || multiplying[n.op] && !n.flattens && out > 0
}

// looped records that a loop lets in more than the shortest way round holds.
func (b *build) looped(l *loop, g *engine.Gate) {
	if l.edge.yields || l.form.k == engine.Unlimited {
		return
	}
	room := g.Room()
	if room == math.MaxInt || l.form.k <= room {
		return
	}
	b.fail(l.entry, fmt.Sprintf("it lets %d in, but the edges of the shortest way round hold no more than %d, and nothing moves once they are full: edge %q needs %d, has %d (%s)",
		l.form.k, room, b.name(l.edge), l.edge.count+l.form.k-room, l.edge.count, l.edge.Line()))
}

// undeclared finds circles that are not loops: a hub that is fed with what comes from it.
func (p *planner) undeclared() (found []string) {
	if p.trusting {
		return nil
	}
	fed := map[*node]map[any]bool{} // the hubs that what comes to a node comes from
	feeds := map[any]map[any]bool{} // and those that they feed
	for _, n := range p.order {
		from := map[any]bool{}
		for _, up := range n.ups {
			maps.Copy(from, fed[up])
		}
		if n.hub != nil && n.kind != engine.Sink {
			from[n.hub] = true
		}
		fed[n] = from
		if n.hub != nil && n.kind == engine.Sink {
			for hub := range from {
				if feeds[hub] == nil {
					feeds[hub] = map[any]bool{}
				}
				feeds[hub][n.hub] = true
			}
		}
	}
	for _, n := range p.order {
		if n.hub != nil && n.kind == engine.Sink && leadsTo(feeds, n.hub, n.hub, map[any]bool{}) {
			found = append(found, p.finding(n, "it feeds a hub from which its own items come, in the same run: a circle that nothing bounds; write it as a Loop: "+legalForms))
		}
	}
	return found
}

// leadsTo reports whether there is a way between hubs.
func leadsTo(feeds map[any]map[any]bool, from, to any, seen map[any]bool) bool {
	for next := range feeds[from] {
		if next == to {
			return true
		}
		if !seen[next] {
			seen[next] = true
			if leadsTo(feeds, next, to, seen) {
				return true
			}
		}
	}
	return false
}
