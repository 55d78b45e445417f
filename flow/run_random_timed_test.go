package flow_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// timed are the operators whose result depends on when values come. The reference checks what they promise, at exact times, and goes
// on with what came out.
func timed() map[string]operator {
	return map[string]operator{
		"throttle": {func(w *world, f stream, o *op) stream {
			o.at = w.point("throttle")
			return o.at.watch(f.Throttle(o.n, o.per()))
		}, func(w *world, in []datum, o *op) []datum {
			return w.paced(in, o, func(datum) int64 { return 1 })
		}},
		"throttlecost": {func(w *world, f stream, o *op) stream {
			o.at = w.point("throttlecost")
			return o.at.watch(f.ThrottleCost(w.weight, int64(o.n), o.per()))
		}, func(w *world, in []datum, o *op) []datum {
			return w.paced(in, o, func(d datum) int64 { return int64(d.v % 5) })
		}},
		"debounce": {func(w *world, f stream, o *op) stream {
			o.at = w.point("debounce")
			return o.at.watch(f.Debounce(o.per()))
		}, (*world).debounced},
		"sample": {func(w *world, f stream, o *op) stream {
			o.at = w.point("sample")
			return o.at.watch(f.Sample(o.per()))
		}, (*world).sampled},
		"idletimeout": {func(w *world, f stream, o *op) stream {
			o.at = w.point("idletimeout")
			w.idles = append(w.idles, o)
			return o.at.watch(f.IdleTimeout(o.limit(), flow.Name(o.at.name)))
		}, identity},
		"keepalive": {func(w *world, f stream, o *op) stream {
			o.at = w.point("keepalive")
			return o.at.watch(f.KeepAlive(o.limit(), func() datum { return w.beat(o) }))
		}, (*world).alive},
		"conflate": {func(w *world, f stream, o *op) stream {
			o.at = w.point("conflate")
			one := f.Map(func(d datum) datum { d.of = 1; return d })
			return o.at.watch(one.Conflate(func(a, b datum) datum { w.must(); return a.with(b) }))
		}, (*world).conflated},
	}
}

// per is the time of an operator with a pace, limit that of one which waits for nothing to come.
func (o *op) per() time.Duration   { return time.Duration(o.m%10+1) * time.Millisecond }
func (o *op) limit() time.Duration { return time.Duration(o.m+10) * time.Millisecond }

// paced checks the promise of Throttle by a bucket in units of 1/per tokens: never more than n, and what passes was there.
func (w *world) paced(in []datum, o *op, cost func(datum) int64) []datum {
	got, at := o.at.got.values(), o.at.got.times()
	n, per := int64(o.n), int64(o.per())
	level, last := n*per, time.Duration(0)
	for i, d := range got {
		level, last = min(level+int64(at[i]-last)*n, n*per), at[i]
		if c := cost(d); level < min(c, n)*per && c > 0 {
			w.wrong(fmt.Errorf("%s: value %d passes at %v, too early for %d each %v", o.at.name, i, at[i], n, o.per()))
			break
		}
		level -= cost(d) * per
	}
	return w.observe(o.at, in, inOrder)
}

// thinned checks an operator that lets values go, which are done, and keeps the last one. Another value is early if it comes
// less than apart behind the one before it by some.
func (w *world) thinned(in []datum, o *op, some int, apart time.Duration) []datum {
	got, at := o.at.got.values(), o.at.got.times()
	if _, bad := match(got, in, inOrder); bad != nil {
		w.wrong(fmt.Errorf("%s: %w", o.at.name, bad))
	}
	if w.exact && len(in) > 0 && (len(got) == 0 || !alike(got[len(got)-1], in[len(in)-1])) {
		w.wrong(fmt.Errorf("%s: the last value of %v did not come", o.at.name, brief(in)))
	}
	for i := some; i < len(got)-1; i++ { // the last one may come with the end
		if at[i]-at[i-some] < apart {
			w.wrong(fmt.Errorf("%s: value %d came at %v, and one by %d before it at %v", o.at.name, i, at[i], some, at[i-some]))
		}
	}
	return got
}

// debounced: what is handed on was the last for per, which begins when the one before has been.
func (w *world) debounced(in []datum, o *op) []datum { return w.thinned(in, o, 1, o.per()) }

// sampled: there is a tick between two values, so there are no three within the time of one.
func (w *world) sampled(in []datum, o *op) []datum { return w.thinned(in, o, 2, o.per()+1) }

// idle checks a run that an IdleTimeout has ended: nothing had passed it for its time.
func (w *world) idle(err error) {
	w.s.seen.note("idle")
	e, _ := errors.AsType[*stage.Error](err)
	i := slices.IndexFunc(w.idles, func(o *op) bool { return e != nil && o.at.name == e.Stage })
	if i < 0 {
		w.wrong(fmt.Errorf("the error of an IdleTimeout without one: %w", err))
		return
	}
	o, last := w.idles[i], time.Duration(0)
	if at := o.at.got.times(); len(at) > 0 {
		last = at[len(at)-1]
	}
	if w.ended-last < o.limit() {
		w.wrong(fmt.Errorf("%s: idle for %v at %v, and its limit is %v", o.at.name, w.ended-last, w.ended, o.limit()))
	}
}

// beat makes a value of a KeepAlive's own, which no other point has.
func (w *world) beat(o *op) datum {
	w.must()
	d := datum{v: idSpan*o.at.number + len(o.at.own.values())}
	_ = o.at.own.each(nil, d) //nolint:staticcheck // it has no use for a context
	return d
}

// alive checks a KeepAlive: its own values come when nothing has passed for its time, and all others as they are.
func (w *world) alive(in []datum, o *op) []datum {
	got, at, own := o.at.got.values(), o.at.got.times(), o.at.own.values()
	var others []datum
	beats, last := 0, time.Duration(0)
	for i, d := range got {
		switch {
		case beats == len(own) || !alike(d, own[beats]):
			others = append(others, d)
		case at[i]-last < o.limit():
			w.wrong(fmt.Errorf("%s: a value of its own at %v, %v behind another, want %v", o.at.name, at[i], at[i]-last, o.limit()))
		default:
			beats++
			w.s.seen.note("beat")
		}
		last = at[i]
	}
	missing, bad := match(others, in, inOrder)
	if bad != nil {
		w.wrong(fmt.Errorf("%s: %w", o.at.name, bad))
	}
	w.lacking(o.at.name, missing)
	w.lacking(o.at.name+", of its own", own[beats:])
	return got
}

// with merges another value into d.
func (d datum) with(next datum) datum {
	return datum{v: (31*d.v + next.v) % 1009, ids: slices.Concat(d.ids, next.ids), of: d.of + next.of}
}

// conflated checks a Conflate: each value is made of some that followed one another, and no value is left out.
func (w *world) conflated(in []datum, o *op) []datum {
	got, rest := o.at.got.values(), in
	for _, d := range got {
		if d.of < 1 || d.of > len(rest) {
			w.wrong(fmt.Errorf("%s: %v is made of %d values, and there are %d", o.at.name, d, d.of, len(rest)))
			return got
		}
		want := rest[0]
		for _, next := range rest[1:d.of] {
			want = want.with(next)
		}
		if d.of > 1 {
			w.s.seen.note("conflated")
		}
		if !alike(d, want) {
			w.wrong(fmt.Errorf("%s: got %v, want %v", o.at.name, d, want))
		}
		rest = rest[d.of:]
	}
	w.lacking(o.at.name, rest)
	return got
}
