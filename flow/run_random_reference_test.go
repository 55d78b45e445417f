package flow_test

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// follow does to what a source gave what the operators do, one after the other, and checks each place where values were noted.
func (w *world) follow(src *source, ops []*op) []datum { return w.apply(w.came(src), ops) }

func (w *world) apply(vs []datum, ops []*op) []datum {
	for _, o := range ops {
		vs = w.table[o.kind].ref(w, vs, o)
	}
	return vs
}

// how says in which order values have to come.
type how uint8

const (
	inOrder how = iota
	byKey       // those with the same key
	anyOrder
)

// observe checks what passed a point against what should have come there: nothing else, in order, and all of it where the run was
// not cut short. It returns what the rest of the graph got.
func (w *world) observe(p *point, in []datum, order how) []datum {
	got, dropped := p.got.values(), p.dropped.values()
	missing, bad := match(got, in, order)
	if bad != nil {
		w.wrong(fmt.Errorf("%s: %w", p.name, bad))
	}
	missing, strange := without(missing, dropped)
	if len(strange) > 0 {
		w.wrong(fmt.Errorf("%s: dropped %v, which did not come", p.name, brief(strange)))
	}
	w.lacking(p.name, missing)
	for _, d := range dropped {
		for _, id := range d.ids {
			if o, ok := w.outcome(id); ok && o.Kind == stage.Done && p.ended != nil && p.ended != flow.Ack && !w.resumes() {
				w.wrong(fmt.Errorf("%s: message %d was dropped with %v and is done", p.name, id, p.ended))
			}
		}
	}
	return got
}

// lacking checks values that should have come to a place and did not: not in a run that ended well, and none whose message is
// done.
func (w *world) lacking(where string, missing []datum) {
	if len(missing) > 0 && w.exact {
		w.wrong(fmt.Errorf("%s: %v did not come", where, brief(missing)))
	}
	for _, d := range missing {
		for _, id := range d.ids {
			if o, ok := w.outcome(id); ok && o.Kind == stage.Done && !w.lenient {
				w.wrong(fmt.Errorf("%s: %v did not come, and message %d is done", where, d, id))
			}
		}
	}
}

// compare checks what a sink got.
func (w *world) compare(e *end, want []datum) {
	kept := want[:0:0]
	for _, d := range want {
		if !e.skips(d) {
			kept = append(kept, d)
		}
	}
	order := inOrder
	if e.anyOrder {
		order = anyOrder
	}
	missing, bad := match(e.got.values(), kept, order)
	if bad != nil {
		w.wrong(fmt.Errorf("at the %s: %w", e.kind, bad))
	}
	if !e.partly {
		w.lacking("at the "+e.kind, missing)
	}
}

// match takes the values of got out of want, and returns the rest of it.
func match(got, want []datum, order how) (rest []datum, err error) {
	if order == anyOrder {
		rest, strange := without(want, got)
		if len(strange) > 0 {
			return rest, fmt.Errorf("got %v, which should not have come", brief(strange))
		}
		return rest, nil
	}
	used := make([]bool, len(want))
	from := map[int]int{} // of each key
	for _, d := range got {
		k := 0
		if order == byKey {
			k = laneOf(d)
		}
		i := from[k]
		for i < len(want) && (!alike(d, want[i]) || order == byKey && laneOf(want[i]) != k) {
			i++
		}
		if i == len(want) {
			return nil, fmt.Errorf("got %v, want %v", brief(got), brief(want))
		}
		used[i], from[k] = true, i+1
	}
	for i, d := range want {
		if !used[i] {
			rest = append(rest, d)
		}
	}
	return rest, nil
}

// alike reports whether two values are the same, made of the same messages.
func alike(a, b datum) bool { return a.v == b.v && slices.Equal(a.ids, b.ids) }

// without takes some values out of others, and returns what is left of both.
func without(vs, out []datum) (rest, strange []datum) {
	count := map[string]int{}
	for _, d := range out {
		count[d.String()]++
	}
	for _, d := range vs {
		if s := d.String(); count[s] > 0 {
			count[s]--
		} else {
			rest = append(rest, d)
		}
	}
	for _, d := range out {
		if s := d.String(); count[s] > 0 {
			count[s]--
			strange = append(strange, d)
		}
	}
	return rest, strange
}

// merged checks what several inputs gave to one output: each in order, and all of them together.
func (w *world) merged(p *point, ins [][]datum) []datum {
	got := p.got.values()
	for i, in := range ins {
		var mine []datum
		for _, d := range got {
			if d.mark == i {
				mine = append(mine, d)
			}
		}
		rest, bad := match(mine, in, inOrder)
		if bad != nil {
			w.wrong(fmt.Errorf("%s, input %d: %w", p.name, i, bad))
		}
		w.lacking(fmt.Sprint(p.name, ", input ", i), rest)
	}
	return got
}

// spread checks what several outputs got of one input: nothing twice, and all of it.
func (w *world) spread(ps []*point, in []datum) (outs [][]datum) {
	var all []datum
	for _, p := range ps {
		got := p.got.values()
		if _, bad := match(got, in, inOrder); bad != nil {
			w.wrong(fmt.Errorf("%s: %w", p.name, bad))
		}
		outs, all = append(outs, got), append(all, got...)
	}
	missing, strange := without(in, all)
	if len(strange) > 0 {
		w.wrong(fmt.Errorf("%s and others: %v came twice", ps[0].name, brief(strange)))
	}
	w.lacking(ps[0].name+" and others", missing)
	return outs
}

// settlement is how point p's edge ends what it drops. A source with a checkpoint can't deliver again.
func (w *world) settlement(p *point) flow.Settlement {
	p.ended = []flow.Settlement{flow.Ack, flow.Term, flow.Nak(0)}[p.most%3]
	if w.resumes() && p.most%3 == 2 {
		p.ended = flow.Term
	}
	return p.ended
}

var errValue = errors.New("a bad value")
