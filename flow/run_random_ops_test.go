package flow_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/stage"
)

// op is one operator of a random graph. A scenario runs once, so the op also keeps what is noted about it.
type op struct {
	kind string
	n, m int     // 1 to 9, 0 to 90
	subs [][]*op // branches, the side of a Tee, or what is behind another source

	source string // kind of the other source

	at      *point   // behind it
	outs    []*point // of its branches
	other   *source
	side    *end
	letters *end
	refused *seen[datum] // values of which an edge that was full refused something
	beside  *seen[int]
}

func (o *op) String() string {
	if len(o.subs) == 0 {
		return fmt.Sprintf("%s(%d,%d)", o.kind, o.n, o.m)
	}
	return fmt.Sprintf("%s(%d,%d)%s%v", o.kind, o.n, o.m, o.source, o.subs)
}

// operator is how an op is built, and what it does to a sequence.
type operator struct {
	build func(w *world, f stream, o *op) stream
	ref   func(w *world, in []datum, o *op) []datum
}

// allOperators returns all there are, by kind.
func allOperators() map[string]operator {
	all := map[string]operator{}
	for _, group := range []map[string]operator{steps(), states(), timed(), edges(), forks(), joins()} {
		maps.Copy(all, group)
	}
	return all
}

// leaving reports whether o may end its input early, forking whether it gives an item to one of several branches, or to all.
func leaving(o *op) bool {
	return slices.Contains([]string{"take", "takewhile", "zip", "zipwith"}, o.kind)
}
func forking(o *op) bool { return o.kind == "fork" || o.kind == "tee" }

// drawer draws a graph.
type drawer struct {
	*rapid.T
	leavers bool // operators that end their input early may occur
}

func (d *drawer) chain(depth int) (ops []*op) {
	possible := slices.DeleteFunc(kinds(allOperators()), func(kind string) bool {
		o := &op{kind: kind}
		return leaving(o) && !d.leavers || depth == 0 && (forking(o) || joining(o))
	})
	for range rapid.IntRange(0, 6).Draw(d.T, "length") {
		o := &op{
			kind: rapid.SampledFrom(possible).Draw(d.T, "kind"),
			n:    rapid.IntRange(1, 9).Draw(d.T, "n"), m: rapid.IntRange(0, 90).Draw(d.T, "m"),
		}
		switch {
		case o.kind == "fork":
			for range rapid.IntRange(1, 3).Draw(d.T, "branches") {
				o.subs = append(o.subs, d.chain(depth-1))
			}
		case o.kind == "tee" || joining(o):
			o.subs = [][]*op{d.chain(depth - 1)}
		}
		if joining(o) {
			o.source = d.source()
		}
		ops = append(ops, o)
	}
	return ops
}

// source draws the kind of a source, and every other time one whose messages are acknowledged.
func (d *drawer) source() string {
	if rapid.Bool().Draw(d.T, "messages") {
		return "items"
	}
	return rapid.SampledFrom(kinds(sourceKinds())).Draw(d.T, "source")
}

// chain appends operators to f.
func (w *world) chain(f stream, ops []*op) stream {
	for _, o := range ops {
		w.s.seen.note("operator " + o.kind)
		f = w.table[o.kind].build(w, f, o)
	}
	return f
}

// eachOf is an operator that makes some values of one.
func eachOf(build func(w *world, f stream, o *op) stream, fn func(o *op, d datum) []datum) operator {
	return operator{build, func(_ *world, in []datum, o *op) (out []datum) {
		for _, d := range in {
			out = append(out, fn(o, d)...)
		}
		return out
	}}
}

func identity(_ *world, in []datum, _ *op) []datum { return in }

func (o *op) add(d datum) datum      { d.v += o.n; return d }
func (o *op) keeps(d datum) bool     { return d.v%(o.n+1) != 0 }
func (o *op) goesOn(d datum) bool    { return (d.v+1)%(o.m+2) != 0 }
func (o *op) copies(d datum) []datum { return slices.Repeat([]datum{d}, d.v%(o.n%4+1)) }
func (o *op) fold(acc, d datum) datum {
	d.v = (3*acc.v + o.n*d.v) % 1009
	return d
}

// steps are the operators without an edge and without a memory.
func steps() map[string]operator {
	return map[string]operator{
		"map": eachOf(func(w *world, f stream, o *op) stream {
			return f.Map(func(d datum) datum { w.must(); return o.add(d) })
		}, func(o *op, d datum) []datum { return []datum{o.add(d)} }),
		"apply": {func(w *world, f stream, o *op) stream {
			return f.Apply(func(f stream) stream { return f.Tap(func(datum) { w.must() }) })
		}, identity},
		"stamp": {func(w *world, f stream, _ *op) stream {
			return f.Stamp(func(d datum, m stage.Meta) stage.Meta { w.must(); m.Key = strconv.Itoa(d.v % 3); return m })
		}, identity},
		"filter": eachOf(func(w *world, f stream, o *op) stream {
			return f.Filter(func(d datum) bool { w.must(); return o.keeps(d) })
		}, keepOne),
		"filtermap": eachOf(func(w *world, f stream, o *op) stream {
			return f.FilterMap(func(d datum) (datum, bool) { w.must(); return d, o.keeps(d) })
		}, keepOne),
		"flatmap": eachOf(func(w *world, f stream, o *op) stream {
			return f.FlatMap(func(d datum) []datum { w.must(); return o.copies(d) })
		}, (*op).copies),
		"besteffort": eachOf(func(_ *world, f stream, _ *op) stream {
			return f.BestEffort().Map(forgetIDs)
		}, func(_ *op, d datum) []datum { return []datum{forgetIDs(d)} }),
		"trymap": {func(w *world, f stream, o *op) stream {
			fn, opt := w.try(o)
			return f.TryMap(fn, opt, w.fuse(o), w.limit())
		}, (*world).tried},
	}
}

func keepOne(o *op, d datum) []datum {
	if o.keeps(d) {
		return []datum{d}
	}
	return nil
}

// forgetIDs is for what has let go of its claims.
func forgetIDs(d datum) datum { d.ids = nil; return d }

// states are the operators with a memory.
func states() map[string]operator {
	until := func(in []datum, fn func(datum) bool) int {
		if i := slices.IndexFunc(in, fn); i >= 0 {
			return i
		}
		return len(in)
	}
	return map[string]operator{
		"scan": {func(w *world, f stream, o *op) stream {
			return f.Scan(datum{}, func(acc, d datum) datum { w.must(); return o.fold(acc, d) })
		}, func(_ *world, in []datum, o *op) (out []datum) {
			var acc datum
			for _, d := range in {
				acc = o.fold(acc, d)
				out = append(out, acc)
			}
			return out
		}},
		"take": {func(_ *world, f stream, o *op) stream { return f.Take(o.m) }, func(_ *world, in []datum, o *op) []datum { return in[:min(o.m, len(in))] }},
		"skip": {func(_ *world, f stream, o *op) stream { return f.Skip(o.m / 4) }, func(_ *world, in []datum, o *op) []datum { return in[min(o.m/4, len(in)):] }},
		"takewhile": {func(w *world, f stream, o *op) stream {
			return f.TakeWhile(func(d datum) bool { w.must(); return o.goesOn(d) })
		}, func(_ *world, in []datum, o *op) []datum {
			return in[:until(in, func(d datum) bool { return !o.goesOn(d) })]
		}},
		"skipwhile": {func(w *world, f stream, o *op) stream {
			return f.SkipWhile(func(d datum) bool { w.must(); return d.v < o.m/4 })
		}, func(_ *world, in []datum, o *op) []datum {
			return in[until(in, func(d datum) bool { return d.v >= o.m/4 }):]
		}},
		"distinct": {func(w *world, f stream, o *op) stream {
			return f.Distinct(o.n, func(d datum) int { w.must(); return d.v % (o.m + 1) })
		}, func(_ *world, in []datum, o *op) []datum { return o.remember(in, true) }},
		"dedup": {func(w *world, f stream, o *op) stream {
			return f.Dedup(1000*time.Hour, o.n, func(d datum) int { w.must(); return d.v % (o.m + 1) })
		}, func(_ *world, in []datum, o *op) []datum { return o.remember(in, false) }},
	}
}

// remember lets values go whose key is among the last n. With refresh a repeat makes its key the latest.
func (o *op) remember(in []datum, refresh bool) (out []datum) {
	var keys []int
	for _, d := range in {
		k := d.v % (o.m + 1)
		i := slices.Index(keys, k)
		if i < 0 {
			out = append(out, d)
		}
		if i >= 0 && refresh {
			keys = slices.Delete(keys, i, i+1)
		}
		if i < 0 || refresh {
			keys = append(keys, k)
		}
		if len(keys) > o.n {
			keys = keys[1:]
		}
	}
	return out
}

// dawdle takes a while for some items.
func dawdle(ctx context.Context, d datum) error {
	if d.v%5 == 0 {
		return nap(ctx, time.Duration(d.v%3)*time.Millisecond)
	}
	return nil
}
