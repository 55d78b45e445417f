package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// op is one operator of a random graph: how it is built, and what it does to a sequence.
type op struct {
	kind string
	n    int
	subs [][]op // branches, or the side of a Tee
}

func (o op) String() string {
	if len(o.subs) == 0 {
		return fmt.Sprintf("%s(%d)", o.kind, o.n)
	}
	return fmt.Sprintf("%s%v", o.kind, o.subs)
}

// drawChain draws operators. Those that depend on the order come only where there is one: not behind a Merge.
func drawChain(rt *rapid.T, depth int, ordered bool) (ops []op) {
	for range rapid.IntRange(0, 5).Draw(rt, "length") {
		kinds := []string{"map", "filter", "flatmap", "buffer", "batch", "trymap", "unordered"}
		if ordered {
			kinds = append(kinds, "take", "skip", "parallel", "parallel")
		}
		if depth > 0 {
			kinds = append(kinds, "merge", "tee")
		}
		o := op{kind: rapid.SampledFrom(kinds).Draw(rt, "kind"), n: rapid.IntRange(1, 9).Draw(rt, "n")}
		switch o.kind {
		case "take", "skip":
			o.n = rapid.IntRange(0, 90).Draw(rt, "count")
		case "unordered":
			ordered = false
		case "merge":
			for range rapid.IntRange(1, 3).Draw(rt, "branches") {
				o.subs = append(o.subs, drawChain(rt, depth-1, ordered))
			}
			ordered = false
		case "tee":
			o.subs = [][]op{drawChain(rt, depth-1, ordered)}
		}
		ops = append(ops, o)
	}
	return ops
}

// copies is what FlatMap makes of i.
func (o op) copies(i int) []int { return slices.Repeat([]int{i}, i%(o.n%4+1)) }

// build appends the operators to f. Side pipelines get a sink of their own, which is appended to sides.
func build(f flow.Flow[int], ops []op, sides *[]*seen[int]) flow.Flow[int] {
	for _, o := range ops {
		switch o.kind {
		case "map":
			f = f.Map(func(i int) int { return i + o.n })
		case "filter":
			f = f.Filter(func(i int) bool { return i%(o.n+1) != 0 })
		case "flatmap":
			f = f.FlatMap(o.copies)
		case "take":
			f = f.Take(o.n)
		case "skip":
			f = f.Skip(o.n)
		case "buffer":
			f = f.Buffer(o.n, flow.Block)
		case "trymap":
			f = f.TryMap(same)
		case "parallel":
			f = f.Parallel(o.n, dawdle)
		case "unordered":
			f = f.Parallel(o.n, dawdle, flow.Unordered)
		case "batch":
			f = f.Batch(o.n, time.Duration(o.n%3)*time.Millisecond).FlatMap(func(b []int) []int { return b })
		case "merge":
			bs := f.Broadcast(len(o.subs))
			for i, sub := range o.subs {
				bs[i] = build(bs[i], sub, sides)
			}
			f = flow.Merge(bs...)
		case "tee":
			f = f.Tee(func(side flow.Flow[int]) flow.Pipeline {
				got := newSeen[int]()
				*sides = append(*sides, got)
				return build(side, o.subs[0], sides).ForEach(got.each)
			})
		}
	}
	return f
}

// dawdle takes a while for some items.
func dawdle(ctx context.Context, i int) (int, error) {
	if i%5 == 0 {
		return i, nap(ctx, time.Duration(i%3)*time.Millisecond)
	}
	return i, nil
}

// model is what a stream should give: in this order, or in any.
type model struct {
	vs      []int
	ordered bool
}

// reference does to m what the operators do, one after the other. It appends what side pipelines get to sides.
func reference(m model, ops []op, sides *[]model) model {
	for _, o := range ops {
		var out []int
		switch o.kind {
		case "take":
			out = m.vs[:min(o.n, len(m.vs))]
		case "skip":
			out = m.vs[min(o.n, len(m.vs)):]
		case "unordered":
			out, m.ordered = m.vs, false
		case "merge":
			for _, sub := range o.subs {
				out = append(out, reference(m, sub, sides).vs...)
			}
			m.ordered = false
		case "tee":
			at := len(*sides)
			*sides = append(*sides, model{})
			side := reference(m, o.subs[0], sides)
			(*sides)[at] = side
			out = m.vs
		default:
			for _, v := range m.vs {
				out = append(out, o.each(v)...)
			}
		}
		m.vs = out
	}
	return m
}

// each is what an operator without state makes of one value.
func (o op) each(v int) []int {
	switch {
	case o.kind == "map":
		return []int{v + o.n}
	case o.kind == "filter" && v%(o.n+1) == 0:
		return nil
	case o.kind == "flatmap":
		return o.copies(v)
	default:
		return []int{v}
	}
}

// uses reports whether an operator occurs in the graph.
func uses(ops []op, kind string) bool {
	return slices.ContainsFunc(ops, func(o op) bool {
		return o.kind == kind || slices.ContainsFunc(o.subs, func(sub []op) bool { return uses(sub, kind) })
	})
}

// fits says why got is not what m gives; only the beginning of it, or a part of it, where the run was cut short.
func (m model) fits(got []int, cut bool) error {
	want := m.vs
	if !m.ordered {
		got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	}
	if cut && m.ordered && len(got) <= len(want) {
		want = want[:len(got)]
	}
	if cut && !m.ordered {
		rest := want
		for _, v := range got {
			i, ok := slices.BinarySearch(rest, v)
			if !ok {
				return fmt.Errorf("%d came too often", v)
			}
			rest = rest[i+1:]
		}
		return nil
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("got %s, want %s", brief(got), brief(want))
	}
	return nil
}

// scenario is a random graph with a random source and a random fault.
type scenario struct {
	fault  string
	ops    []op
	items  int
	most   int           // items in one answer of the source
	pause  time.Duration // between them
	slow   time.Duration // of the sink
	at     time.Duration // of a stop or a drain
	failAt int           // call of the sink that fails
}

var errFault = errors.New("the fault")

func drawScenario(rt *rapid.T, fault string) scenario {
	ms := func(most int, name string) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(rt, name)) * time.Millisecond
	}
	return scenario{
		fault: fault, ops: drawChain(rt, 2, true),
		items: rapid.IntRange(0, 200).Draw(rt, "items"), most: rapid.IntRange(0, 20).Draw(rt, "most"),
		pause: ms(2, "pause"), slow: ms(2, "slow"), at: ms(100, "at"), failAt: rapid.IntRange(0, 100).Draw(rt, "failAt"),
	}
}

// run runs the scenario and returns what is wrong.
func (s *scenario) run(ctx context.Context) error {
	b := newBroker(s.items)
	b.most = s.most
	b.stays = s.fault == "drain"
	src := stage.ItemSourceFunc(func(ctx context.Context, dst []stage.Item[int]) (int, error) {
		if err := nap(ctx, s.pause); err != nil {
			return 0, err
		}
		return b.PullItems(ctx, dst)
	})
	var sides []*seen[int]
	got := newSeen[int]()
	p := build(flow.FromItems(src), s.ops, &sides).ForEach(func(ctx context.Context, v int) error {
		if s.fault == "error" && len(got.values()) == s.failAt {
			return errFault
		}
		if err := nap(ctx, s.slow); err != nil {
			return err
		}
		return got.each(ctx, v)
	})
	r, err := p.Start(ctx)
	if err != nil {
		return err
	}
	err = s.finish(r)
	if bad := errors.Join(s.laws(r, b), s.result(err, b, got, sides)); bad != nil {
		return fmt.Errorf("%w\nreport %+v\n%s", bad, r.Report(), r.Graph().Mermaid())
	}
	return nil
}

// finish does what the fault says, and waits for the end.
func (s *scenario) finish(r *flow.Run) error {
	stuck := time.AfterFunc(24*time.Hour, r.Stop) // a graph that is stuck fails as one that was stopped
	defer stuck.Stop()
	switch s.fault {
	case "stop":
		time.Sleep(s.at)
		r.Stop()
	case "drain":
		time.Sleep(s.at)
		return r.Drain(context.Background())
	}
	return r.Wait()
}

// laws checks what holds for every run: L1, every message is settled once; L2, no edge ever held more than its capacity, and none
// loses count. (L4, nothing is left over, is checked by the bubble.)
func (s *scenario) laws(r *flow.Run, b *broker) error {
	errs := []error{b.problem()}
	for _, e := range r.Stats().Edges {
		if e.MaxDepth > e.Capacity || e.In != e.Out+int64(e.Depth)+e.Dropped.Total() {
			errs = append(errs, fmt.Errorf("edge %s: depth up to %d of %d, in %d, out %d, held %d", e.Name, e.MaxDepth, e.Capacity, e.In, e.Out, e.Depth))
		}
	}
	return errors.Join(errs...)
}

// result compares what came out with the reference.
func (s *scenario) result(err error, b *broker, got *seen[int], sides []*seen[int]) error {
	cut := s.fault == "stop" && err != nil
	input := ints(s.items)
	if s.fault == "drain" { // what came too late was given back
		input = input[:b.next]
		if late := b.kind(stage.Failed); len(late) > 0 && !uses(s.ops, "take") {
			input = input[:late[0]]
		}
		cut = uses(s.ops, "take")
	}
	var want []model
	main := reference(model{input, true}, s.ops, &want)
	switch {
	case s.fault == "error" && len(main.vs) > s.failAt:
		cut = true
		if !errors.Is(err, errFault) || len(got.values()) != s.failAt {
			return fmt.Errorf("the run ended with %w behind %d items, want the fault behind %d", err, len(got.values()), s.failAt)
		}
	case s.fault == "stop" && errors.Is(err, flow.ErrStopped):
	case err != nil:
		return fmt.Errorf("the run failed: %w", err)
	case s.fault != "drain" && !uses(s.ops, "take") && len(b.kind(stage.Done)) != s.items:
		return fmt.Errorf("%d of %d messages are done", len(b.kind(stage.Done)), s.items)
	}
	if bad := main.fits(got.values(), cut); bad != nil {
		return fmt.Errorf("at the sink: %w", bad)
	}
	for i, side := range sides {
		if bad := want[i].fits(side.values(), cut); bad != nil {
			return fmt.Errorf("side %d: %w", i, bad)
		}
	}
	return nil
}

// TestRandomGraphs compares random graphs of all operators with a sequential reference, without a fault and with an error of the
// sink, a stop and a drain at a random moment. A failure is shrunk, and printed with the flag that replays it.
func TestRandomGraphs(t *testing.T) {
	for _, fault := range []string{"none", "error", "stop", "drain"} {
		t.Run(fault, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				s := drawScenario(rt, fault)
				var bad error
				synctest.Test(t, func(t *testing.T) { bad = s.run(context.WithoutCancel(t.Context())) })
				if bad != nil {
					rt.Fatalf("%+v\n%s", s, strings.TrimSpace(bad.Error()))
				}
			})
		})
	}
}
