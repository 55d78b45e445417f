package flow

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// holding follows what a source has given, and adds up what stages behind it may keep at one time, each of them waiting for more,
// however long that takes. It counts items of the source. Where it is not known how many items there are of one, it takes
// it that nothing is kept.
type holding struct {
	*planner
	readers map[*node][]*node
	keepers []*node // in the order in which they were found
}

// batching is what has been done to the items that come to a node.
type batching struct {
	unit    int // items of the source in each
	granule int // they come in multiples of this
	copied  bool
}

// hoarded finds sources that leave fewer items unsettled than stages behind them may keep for ever. Those of a single stage are
// what starved says.
func (p *planner) hoarded() (found []string) {
	readers := map[*node][]*node{}
	for _, n := range p.order {
		for _, up := range n.ups {
			readers[up] = append(readers[up], n)
		}
	}
	for _, src := range p.order {
		if len(src.ups) > 0 || src.inFlight <= 0 {
			continue
		}
		h := &holding{planner: p, readers: readers}
		kept := h.behind(src, batching{unit: 1, granule: 1}, map[*node]bool{})
		if limit := h.limit(); kept > 0 && limit < math.MaxInt && kept >= limit && !slices.ContainsFunc(h.keepers, p.tooLarge) {
			found = append(found, h.text(src, kept, limit))
		}
	}
	return found
}

// tooLarge reports whether n waits for more than there will ever be, which starved has found.
func (p *planner) tooLarge(n *node) bool { return p.supply.starved(n) != "" }

// behind returns how many items may be kept behind n. A stage that two ways lead to counts once.
func (h *holding) behind(n *node, b batching, seen map[*node]bool) int {
	sum := 0
	if !copying[n.op] {
		for _, reader := range h.readers[n] {
			sum = saturated(sum, h.at(reader, b, seen))
		}
		return sum
	}
	b.copied = true
	before := maps.Clone(seen)
	for _, branch := range h.readers[n] { // the same items in all of them
		one := maps.Clone(before)
		sum = max(sum, h.at(branch, b, one))
		maps.Copy(seen, one)
	}
	return sum
}

// at returns how many items may be kept at n and behind it.
func (h *holding) at(n *node, b batching, seen map[*node]bool) int {
	if seen[n] {
		return 0
	}
	seen[n] = true
	switch {
	case n.flattens:
		batch := n.ups[0]
		if batch.fills > 1 {
			b.unit /= batch.fills
		}
		b.granule = max(batch.fills, 1)
		return h.behind(n, b, seen)
	case expanding[n.op], b.copied && len(n.ups) > 1 && n.op != "zip" && n.op != "zipwith": // perhaps many of one
		return 0
	case n.op == "take" && n.count < math.MaxInt/b.unit:
		b.granule = 1
		return min(h.behind(n, b, seen), n.count*b.unit)
	case n.fills > 1:
		h.keepers = append(h.keepers, n)
		own := saturated(0, n.keeps(b.granule), b.unit)
		b.unit, b.granule = saturated(0, n.fills, b.unit), 1
		return saturated(own, h.behind(n, b, seen))
	case !n.edge && !passing[n.op] || n.op == "skip":
		b.granule = 1
	}
	return h.behind(n, b, seen)
}

// keeps returns how many items the workers of n have at most while none of them has enough. Where items are elements of batches of the size
// granule, the messages of a batch settle together: one element keeps them all.
func (n *node) keeps(granule int) int {
	if n.fills <= 1 {
		return 0
	}
	most := n.fills - divisor(n.fills, granule)
	return saturated(0, (most+granule-1)/granule, granule, max(n.workers, 1))
}

// divisor returns the greatest common divisor of two numbers.
func divisor(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// waitsFor says how many items n waits for.
func (n *node) waitsFor() string {
	if n.workers > 1 {
		return fmt.Sprintf("each of its %d workers waits for %d items", n.workers, n.fills)
	}
	return fmt.Sprintf("it waits for %d items", n.fills)
}

// fitting returns how many items n may wait for where there are never more than most.
func (n *node) fitting(most int) int { return (most-1)/max(n.workers, 1) + 1 }

// saturated returns sum + the product of the factors, or the largest number.
func saturated(sum int, factors ...int) int {
	product := 1
	for _, f := range factors {
		if f != 0 && product > math.MaxInt/f {
			return math.MaxInt
		}
		product *= f
	}
	if sum > math.MaxInt-product {
		return math.MaxInt
	}
	return sum + product
}

// limit returns how many items all sources of the stages that keep some leave unsettled.
func (h *holding) limit() int {
	sources := map[*node]bool{}
	seen := map[*node]bool{}
	var find func(n *node)
	find = func(n *node) {
		if seen[n] {
			return
		}
		if seen[n] = true; len(n.ups) == 0 {
			sources[n] = true
		}
		for _, up := range n.ups {
			find(up)
		}
	}
	for _, n := range h.keepers {
		find(n)
	}
	return h.supply.sum(slices.Collect(maps.Keys(sources)))
}

// text says who keeps what.
func (h *holding) text(src *node, kept, limit int) string {
	var names []string
	for _, n := range h.keepers {
		names = append(names, fmt.Sprintf("%s (%s)", h.name(n), n.Line()))
	}
	return h.finding(src, fmt.Sprintf("it gives no more than %d until some of them have settled, but %s may keep %d until more come: give them a maxWait, smaller sizes, or the source a limit of at least %d",
		limit, list(names), kept, saturated(1, kept)))
}
