package flow

import (
	"fmt"
	"math"
)

// Advice returns what is not wrong with the blueprint, but of no use: bounds that another bound in front of them always reaches first,
// and, for stages that say with [Expect] what load they are made for, workers that can't do it and edges from which an item would come too
// late. It has one line for each, with names, the line of the program, and what would do. With build errors there is none.
//
// It runs nothing, and is no part of [Pipeline.Check], whose error says that the blueprint can't run: whether advice is followed is the
// program's to decide. A test may print it, or want none:
//
//	if advice := p.Advice(); advice != nil {
//		t.Errorf("%s", strings.Join(advice, "\n"))
//	}
func (p Pipeline) Advice() []string {
	if p.planned == nil {
		p.planned = new(planned) // the zero Pipeline
	}
	return p.planned.of(p.leaves).advice
}

// advise notes bounds that are never reached, and what does not fit the expected load.
func (p *planner) advise() {
	all, unsettled := supplies{gated: true}, supplies{}
	for _, n := range p.order {
		if len(n.ups) == 0 || n.of != nil {
			continue
		}
		most := all.sum(n.ups)
		if most == math.MaxInt || most < 1 {
			continue
		}
		why := "so many are left unsettled by what comes in"
		if entry := gateOf(n); entry != nil && most < unsettled.sum(n.ups) {
			why = fmt.Sprintf("the gate of %s lets in no more", p.name(entry))
		}
		text := ""
		switch {
		case n.edge && n.count > most:
			text = fmt.Sprintf("it has %d places, of which %d are ever taken", n.count, most)
		case n.workers > most:
			text = fmt.Sprintf("it has %d workers, of which %d ever have something to do", n.workers, most)
		case n.gathering > most:
			text = fmt.Sprintf("it gathers %d items, but never gets more than %d", n.gathering, most)
		default:
			continue
		}
		p.advice = append(p.advice, p.finding(n, text+": "+why))
	}
	p.expectations()
}

// gateOf returns the entry of the nearest loop with a gate around n.
func gateOf(n *node) *node {
	seen := map[*node]bool{}
	var find func(n *node) *node
	find = func(n *node) *node {
		if seen[n] {
			return nil
		}
		seen[n] = true
		if n.loop != nil && n.loop.gates() {
			return n
		}
		for _, up := range n.ups {
			if n.op == "loop.out" {
				break // what is in front of it is inside
			}
			if entry := find(up); entry != nil {
				return entry
			}
		}
		return nil
	}
	return find(n)
}

// gates reports whether a bounded number of items is inside the loop: those that come in count, and those that go round.
func (l *loop) gates() bool { return l.form.k > 0 && l.form.k <= maxCapacity }
