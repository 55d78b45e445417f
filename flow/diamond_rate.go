package flow

import (
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"slices"
)

// passing are the operators that hand on one item for each, as long as nothing fails, in the order of the input or not.
var passing = map[string]bool{
	"map": true, "tap": true, "stamp": true, "scan": true, "trymap": true, "with": true, "besteffort": true, "throttle": true,
	"throttlecost": true, "idletimeout": true, "parallel": true, "parallelbykey": true, "take": true, "takewhile": true, "skip": true,
}

// uneven are the operators that hand on a number of items that nobody knows before.
var uneven = map[string]string{
	"filter": "lets items go", "filtermap": "lets items go", "skipwhile": "lets items go", "distinct": "lets items go", "dedup": "lets items go",
	"debounce": "lets items go", "sample": "lets items go", "conflate": "makes one item of several", "batchweight": "makes batches of any size",
	"keepalive": "adds items", "loop": "gets items again that went round", "primedloop": "gives pairs", "flatmap": "makes any number of items of one", "expand": "makes any number of items of one",
}

// lagging are the uneven operators of which the last item always comes through, or that add one only where none came.
var lagging = map[string]bool{"debounce": true, "sample": true, "conflate": true, "keepalive": true}

// flattening says what a FlatMap from T to U behind the node up is: of slices, and from batches back to their elements. The type tells
// it; that the function does hand on each element is taken for granted.
func flattening[T, U any](up *node) (ofSlices, flattens bool) {
	var v T
	_, same := any(v).([]U)
	return reflect.TypeFor[T]().Kind() == reflect.Slice, same && (up.op == "batch" || up.op == "batchweight")
}

// rate is how many items come out of a node in the long run: a sum of shares of numbers that nobody knows, those of what comes out
// of a source, a Filter, or one branch of a Split. nil is a rate of which even that is not known.
type rate map[*node]*big.Rat

func (r rate) equal(other rate) bool {
	return maps.EqualFunc(r, other, func(a, b *big.Rat) bool { return a.Cmp(b) == 0 })
}

// add adds k·other to r.
func (r rate) add(k *big.Rat, other rate) {
	for n, share := range other {
		share = new(big.Rat).Mul(k, share)
		if old := r[n]; old != nil {
			share.Add(share, old)
		}
		if r[n] = share; share.Sign() == 0 {
			delete(r, n)
		}
	}
}

func unknown(n *node) rate { return rate{n: big.NewRat(1, 1)} }

// rate returns the rate of a node.
func (d *diamonds) rate(n *node) rate {
	r, done := d.rates[n]
	if !done {
		r = d.newRate(n)
		d.rates[n] = r
	}
	return r
}

func (d *diamonds) newRate(n *node) rate {
	switch {
	case len(n.ups) == 0, n.loop != nil, n.loses, n.op == "batch" && n.fills <= 0:
		return unknown(n)
	case n.branch > 0:
		return d.branchRate(n)
	case len(n.ups) > 1:
		return d.joinRate(n)
	case n.flattens:
		return d.rate(n.ups[0].ups[0])
	case n.slices:
		return nil // often a batch that a function has worked on
	case uneven[n.op] != "":
		return unknown(n)
	}
	r := d.rate(n.ups[0])
	switch {
	case r == nil:
		return nil
	case n.op == "batch":
		share := rate{}
		share.add(big.NewRat(1, int64(n.fills)), r)
		return share
	case n.edge, passing[n.op]:
		return r
	}
	return nil
}

// branchRate is the rate of an output of a fan-out. Those of a Split or Partition add up to what it gets.
func (d *diamonds) branchRate(n *node) rate {
	fan := n.ups[0]
	all := d.rate(fan.ups[0])
	switch {
	case all == nil:
		return nil
	case copying[fan.op]:
		return all
	case !routing[fan.op]:
		return nil
	case n.branch < fan.branches:
		return unknown(n)
	}
	rest := maps.Clone(all)
	for branch := range d.down {
		if branch.branch > 0 && branch.ups[0] == fan && branch != n {
			rest.add(big.NewRat(-1, 1), unknown(branch))
		}
	}
	return rest
}

// joinRate is the rate of a node with several inputs.
func (d *diamonds) joinRate(n *node) rate {
	one := big.NewRat(1, 1)
	sum := rate{}
	for _, up := range n.ups {
		r := d.rate(up)
		if r == nil || matching[n.op] && !r.equal(d.rate(n.ups[0])) {
			return nil
		}
		sum.add(one, r)
	}
	switch n.op {
	case "zip", "zipwith":
		return d.rate(n.ups[0])
	case "interleave":
		return sum
	case "merge", "mergepriority", "mergesorted":
		if len(sum) == 1 {
			return sum
		}
	}
	return nil
}

// differ reports whether the rates of a and b are known not to be the same.
func (d *diamonds) differ(a, b *node) bool {
	left, right := d.rate(a), d.rate(b)
	return left != nil && right != nil && !left.equal(right)
}

// unequal says what is wrong with branches that do not give a matching join equally many items.
func (d *diamonds) unequal(fan, a, b *node) string {
	left, right := d.rate(a), d.rate(b)
	then := ": once one of them is full, the other gets no more"
	causes := d.causes(left, right)
	lags := func(n *node) bool { return n.lags || lagging[n.op] }
	if !d.blocks(fan, a) || !d.blocks(fan, b) || !slices.ContainsFunc(causes, func(n *node) bool { return !lags(n) }) {
		then = ": from then on its items do not belong together"
	}
	if x, y := ratio(left, right); x != nil {
		return fmt.Sprintf("but for %s of the first come %s of the second", x, y) + then + "; batch both of them, or flatten the batches"
	}
	var texts []string
	for _, n := range causes {
		texts = append(texts, d.at(n)+" "+cause(n))
	}
	return "but do not give equally many items, because " + list(texts) + then
}

// ratio returns how many items come at the rate a for how many at the rate b, nil where that is not known.
func ratio(a, b rate) (x, y *big.Int) {
	if len(a) != 1 || len(b) != 1 {
		return nil, nil
	}
	for n, share := range a {
		if b[n] != nil {
			q := new(big.Rat).Quo(share, b[n])
			return q.Num(), q.Denom()
		}
	}
	return nil, nil
}

// causes returns the nodes that make one rate differ from the other.
func (d *diamonds) causes(a, b rate) (causes []*node) {
	diff := maps.Clone(a)
	diff.add(big.NewRat(-1, 1), b)
	for _, n := range d.order {
		if diff[n] != nil && (len(n.ups) > 0 || len(diff) == 1) {
			causes = append(causes, n)
		}
	}
	if other := slices.DeleteFunc(slices.Clone(causes), func(n *node) bool { return n.loop != nil }); len(other) > 0 {
		return other // what comes in is as little to blame as a source
	}
	return causes
}

func cause(n *node) string {
	switch {
	case n.edge:
		return "drops items"
	case n.branch > 0:
		return "gets only some of them"
	case n.loses:
		return "lets failing items go"
	case n.op == "batch":
		return "makes batches of any size"
	}
	return uneven[n.op]
}
