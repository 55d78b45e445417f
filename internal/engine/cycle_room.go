package engine

import (
	"math"

	"github.com/weir-go/weir/internal/queue"
)

// Room returns how many items the shortest way round the loop of g holds at least: the sum of the capacities of its edges. With more
// items inside, all edges of that way could be full, and then nothing would ever move again. A way with an edge that does not
// block holds any number: math.MaxInt. An inner loop holds what it lets in, or its own edges, whichever is less.
func (g *Gate) Room() int {
	room := map[*Worker]int{}
	var todo []*Worker
	reach := func(w *Worker, n int) {
		if least, known := room[w]; !known || n < least {
			room[w] = n
			todo = append(todo, w)
		}
	}
	for _, w := range g.in.consumers() {
		reach(w, holds(g.in))
	}
	least := math.MaxInt
	for len(todo) > 0 {
		w := todo[0]
		todo = todo[1:]
		if other := w.gate; other != nil && other != g && other.exit != nil {
			reach(other.exit, plus(room[w], int(other.k)))
		}
		for _, out := range w.outs {
			e := edgeOf(out)
			if e == Edge(g.again) {
				least = min(least, plus(room[w], holds(e)))
				continue
			}
			for _, next := range e.consumers() {
				reach(next, plus(room[w], holds(e)))
			}
		}
	}
	return least
}

// edgeOf returns the edge behind an output.
func edgeOf(out output) Edge {
	if open, ok := out.(openEnd); ok {
		return open.Edge
	}
	e, _ := out.(Edge)
	return e
}

// holds returns how many items an edge holds before a producer has to wait. Where there is a bound by weight that may be one.
func holds(e Edge) int {
	switch info := e.Info(); {
	case info.OnFull != queue.Block:
		return math.MaxInt
	case info.MaxWeight > 0:
		return 1
	default:
		return info.Capacity
	}
}

// plus adds, where math.MaxInt is any number.
func plus(a, b int) int {
	if a >= math.MaxInt-b {
		return math.MaxInt
	}
	return a + b
}
