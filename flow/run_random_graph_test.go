package flow_test

import (
	"fmt"
	"slices"

	"github.com/weir-go/weir/flow"
)

// forks are the operators with several outputs. All but a Tee come together again.
func forks() map[string]operator {
	return map[string]operator{
		"tee": {func(w *world, f stream, o *op) stream {
			return f.Tee(func(side stream) flow.Pipeline {
				o.side = newEnd(sinks[o.n%len(sinks)], o.m%4+1)
				return w.sink(w.chain(side, o.subs[0]), o.side, o.m%4+1)
			})
		}, func(w *world, in []datum, o *op) []datum {
			w.compare(o.side, w.apply(in, o.subs[0]))
			return in
		}},
		"fork": {(*world).fork, (*world).forked},
	}
}

// fork spreads values over branches, and merges what comes out of them.
func (w *world) fork(f stream, o *op) stream {
	var bs []stream
	switch n := len(o.subs); o.n % 4 {
	case 0:
		bs = f.Broadcast(n)
	case 1:
		bs = f.Partition(n, func(d datum) int { w.must(); return laneOf(d) })
	case 2:
		bs = f.Balance(n)
	case 3:
		if n != 2 {
			bs = f.Broadcast(n)
			break
		}
		yes, no := f.Split(func(d datum) bool { w.must(); return o.keeps(d) })
		bs = []stream{yes, no}
	}
	for i, sub := range o.subs {
		p := w.point("branch")
		o.outs = append(o.outs, p)
		bs[i] = w.chain(p.watch(bs[i]), sub).Map(func(d datum) datum { d.mark = i; return d })
	}
	o.at = w.point("merge")
	if o.m%2 == 0 {
		return o.at.watch(flow.Merge(bs...))
	}
	return o.at.watch(flow.MergePriority(bs...))
}

func (w *world) forked(in []datum, o *op) []datum {
	var outs [][]datum
	if o.n%4 == 0 || o.n%4 == 3 && len(o.subs) != 2 {
		for _, p := range o.outs {
			outs = append(outs, w.observe(p, in, inOrder))
		}
	} else {
		outs = w.spread(o.outs, in)
		w.faithful(o, outs)
	}
	for i, sub := range o.subs {
		outs[i] = w.apply(outs[i], sub)
	}
	return w.merged(o.at, outs)
}

// faithful checks that values are in the right branch.
func (w *world) faithful(o *op, outs [][]datum) {
	home := map[int]int{}
	for i, out := range outs {
		for _, d := range out {
			other, known := home[laneOf(d)]
			switch {
			case o.n%4 == 3 && o.keeps(d) != (i == 0):
				w.wrong(fmt.Errorf("%s: %v is on the wrong side", o.outs[i].name, d))
			case o.n%4 == 1 && known && other != i:
				w.wrong(fmt.Errorf("%s: %v has its key in two branches", o.outs[i].name, d))
			}
			home[laneOf(d)] = i
		}
	}
}

// joining reports whether o reads from another source, too.
func joining(o *op) bool {
	_, is := joins()[o.kind]
	return is
}

// joins are the operators that read from another source, too.
func joins() map[string]operator {
	pair := func(a, b datum) datum { return datum{v: (31*a.v + b.v) % 1009, ids: slices.Concat(a.ids, b.ids)} }
	paired := func(w *world, in []datum, o *op) (out []datum) {
		for i, d := range w.others(o) {
			if i == len(in) {
				break
			}
			out = append(out, pair(in[i], d))
		}
		return out
	}
	return map[string]operator{
		"concat": {func(w *world, f stream, o *op) stream { return f.Concat(w.another(o)) }, func(w *world, in []datum, o *op) []datum {
			return slices.Concat(in, w.others(o))
		}},
		"zip": {func(w *world, f stream, o *op) stream {
			return f.Zip(w.another(o)).Map(func(p flow.Pair[datum, datum]) datum { w.must(); return pair(p.First, p.Second) })
		}, paired},
		"zipwith": {func(w *world, f stream, o *op) stream {
			return f.ZipWith(w.another(o), func(a, b datum) datum { w.must(); return pair(a, b) })
		}, paired},
		"mergesorted": {func(w *world, f stream, o *op) stream {
			return f.MergeSorted(func(a, b datum) int { w.must(); return a.v - b.v }, w.another(o))
		}, func(w *world, in []datum, o *op) (out []datum) {
			other := w.others(o)
			for len(in) > 0 && len(other) > 0 {
				if in[0].v <= other[0].v {
					out, in = append(out, in[0]), in[1:]
				} else {
					out, other = append(out, other[0]), other[1:]
				}
			}
			return slices.Concat(out, in, other)
		}},
		"interleave": {func(w *world, f stream, o *op) stream { return f.Interleave(o.n, w.another(o)) }, func(w *world, in []datum, o *op) (out []datum) {
			turns := [2][]datum{in, w.others(o)}
			for i := 0; len(turns[0])+len(turns[1]) > 0; i = 1 - i {
				k := min(o.n, len(turns[i]))
				out, turns[i] = append(out, turns[i][:k]...), turns[i][k:]
			}
			return out
		}},
	}
}

// another returns what comes from another source.
func (w *world) another(o *op) stream {
	var f stream
	o.other, f = w.source(o.source)
	return w.chain(f, o.subs[0])
}

func (w *world) others(o *op) []datum { return w.follow(o.other, o.subs[0]) }
