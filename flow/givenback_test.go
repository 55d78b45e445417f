package flow_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// fate is a run of 40 messages, one of the ways in which they can end.
type fate struct {
	run    func(t *testing.T, f flow.Flow[int])
	blamed []int // the messages that have failed themselves
	doubt  bool  // others may be blamed as well: nobody knows which it was
	none   bool  // nothing is left to be given back
}

// GivenBack is said of every message that the engine gives back, for whatever reason, and not of those whose own processing has
// failed.
func TestWhatIsGivenBackIsNotToBlame(t *testing.T) {
	all := map[string]fate{}
	for _, endings := range []map[string]fate{
		endingsByFailure(), endingsByPanic(), endingsByStop(), endingsByLeaving(), endingsOfBranches(), endingsOfStages(), endingsOfEdges(),
	} {
		maps.Copy(all, endings)
	}
	for name, e := range all {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(40)
			b.stays = true
			e.run(t, flow.FromItems(b))
			checkBlame(t, b, e)
		})
	}
}

// checkBlame checks which of the failed messages were given back.
func checkBlame(t *testing.T, b *broker, e fate) {
	t.Helper()
	b.once(t)
	back := 0
	for i := range b.next {
		switch o := b.outcome(t, i); {
		case slices.Contains(e.blamed, i):
			if o.Kind != stage.Failed || o.GivenBack {
				t.Errorf("message %d ended as %+v, want failed and not given back", i, o)
			}
		case o.Kind == stage.Failed && !o.GivenBack && !e.doubt:
			t.Errorf("message %d ended as %+v, want done or given back", i, o)
		case o.Kind == stage.Failed:
			back++
		case o.GivenBack:
			t.Errorf("message %d ended as %+v, want only failed ones to be given back", i, o)
		}
	}
	if (back == 0) != e.none {
		t.Errorf("%d of %d messages were given back, want that it is none: %v", back, b.next, e.none)
	}
}

// fails runs p, which is to fail with errA.
func fails(t *testing.T, p flow.Pipeline) {
	t.Helper()
	wantError(t, p.Run(t.Context()), errA)
}

// breaks runs p, whose user code does not return.
func breaks(t *testing.T, p flow.Pipeline) {
	t.Helper()
	if err := p.Run(t.Context()); err == nil {
		t.Fatal("Run() = nil, want the error of the code that did not return")
	}
}

// stops stops p when everything is waiting.
func stops(t *testing.T, p flow.Pipeline) {
	t.Helper()
	r := start(t, p)
	synctest.Wait()
	stopped(t, r)
}

// drainsInVain drains p, which does not get done.
func drainsInVain(t *testing.T, p flow.Pipeline) {
	t.Helper()
	r := start(t, p)
	synctest.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	wantError(t, r.Drain(ctx), flow.ErrStopped)
}

// failsThird is a sink that fails with err for a push that has item 3 in it.
func failsThird(err func(at int) error) stage.Sink[int] {
	return stage.SinkFunc(func(_ context.Context, vs []int) error {
		if at := slices.Index(vs, 3); at >= 0 {
			return err(at)
		}
		return nil
	})
}

func endingsByFailure() map[string]fate {
	third := func(at int) error { return &stage.BatchError{Items: []stage.ItemError{{Index: at, Err: errA}}} }
	bad := func(ctx context.Context, i int) error { _, err := failAt(7, errA)(ctx, i); return err }
	return map[string]fate{
		"an error in a step": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) {
			fails(t, discard(f.Buffer(30, flow.Block).TryMap(failAt(7, errA))))
		}},
		"an error in an ordered Parallel": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) {
			fails(t, f.Parallel(3, failAt(7, errA)).ForEach(hang))
		}},
		"an error in an unordered Parallel": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) {
			fails(t, f.Parallel(3, failAt(7, errA), flow.Unordered).ForEach(hang))
		}},
		"an error in a ParallelByKey": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) {
			fails(t, f.ParallelByKey(3, func(i int) int { return i }, failAt(7, errA)).ForEach(hang))
		}},
		"an error in an Expand": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) {
			fails(t, f.Buffer(30, flow.Block).Expand(func(ctx context.Context, i int, emit func(int) error) error {
				return cmp.Or(emit(i), bad(ctx, i))
			}).ForEach(func(context.Context, int) error { return nil }))
		}},
		"an error in a ForEach": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) {
			fails(t, f.Buffer(30, flow.Block).ForEach(bad))
		}},
		"item 3 of a push of 10": {blamed: []int{3}, run: func(t *testing.T, f flow.Flow[int]) {
			fails(t, f.To(failsThird(third), flow.Gather(10, 0)))
		}},
		"items 3 and 6 of a push of 10": {blamed: []int{3, 6}, run: func(t *testing.T, f flow.Flow[int]) {
			fails(t, f.To(failsThird(func(int) error {
				return &stage.BatchError{Items: []stage.ItemError{{Index: 3, Err: errA}, {Index: 6, Err: errB}}}
			}), flow.Gather(10, 0)))
		}},
		"a push of 10 as a whole": {blamed: ints(10), run: func(t *testing.T, f flow.Flow[int]) {
			fails(t, f.To(failsThird(func(int) error { return errA }), flow.Gather(10, 0)))
		}},
		"an element of a batch": {blamed: []int{3}, run: func(t *testing.T, f flow.Flow[int]) {
			fails(t, f.Buffer(30, flow.Block).Batch(10, 0).ForEach(func(_ context.Context, vs []int) error {
				return third(slices.Index(vs, 3))
			}))
		}},
		"one of the values that a message has become": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) {
			fails(t, f.Buffer(30, flow.Block).FlatMap(func(i int) []int { return []int{i, i + 100, i + 200} }).
				Buffer(30, flow.Block).TryMap(failAt(107, errA)).ForEach(func(context.Context, int) error { return nil }))
		}},
		"a retry that a stop cuts off": {run: func(t *testing.T, f flow.Flow[int]) {
			stops(t, f.TryMap(failAt(0, errA), retryForEver()).To(stage.Discard[int]()))
		}},
	}
}

func endingsByPanic() map[string]fate {
	boom := func(i int) int {
		if i == 7 {
			panic("boom")
		}
		return i
	}
	exit := func(i int) int {
		if i == 7 {
			runtime.Goexit()
		}
		return i
	}
	call := func(fn func(int) int) func(context.Context, int) (int, error) {
		return func(_ context.Context, i int) (int, error) { return fn(i), nil }
	}
	wide := func(f flow.Flow[int]) flow.Flow[int] { return f.Buffer(30, flow.Block) }
	return map[string]fate{
		"a panic in Map":    {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) { breaks(t, discard(wide(f).Map(boom))) }},
		"a panic in TryMap": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) { breaks(t, discard(wide(f).TryMap(call(boom)))) }},
		"a Goexit in Map": {blamed: []int{7}, doubt: true, run: func(t *testing.T, f flow.Flow[int]) {
			breaks(t, discard(wide(f).Map(exit)))
		}},
		"a Goexit in TryMap": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) {
			breaks(t, discard(wide(f).TryMap(call(exit))))
		}},
		"a Goexit in a Parallel": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) {
			breaks(t, discard(f.Parallel(3, call(exit))))
		}},
		"a Goexit in a sink": {blamed: ints(10), run: func(t *testing.T, f flow.Flow[int]) {
			breaks(t, f.To(failsThird(func(int) error { runtime.Goexit(); return nil }), flow.Gather(10, 0)))
		}},
		"a panic in the key of a Partition": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) {
			bs := wide(f).Partition(2, boom)
			breaks(t, flow.Join(discard(bs[0]), discard(bs[1])))
		}},
		"a panic in the weight of a batch": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) {
			breaks(t, f.BatchWeight(1000, func(i int) int64 { return int64(boom(i)) }, 0).To(stage.Discard[[]int]()))
		}},
		"a panic in the weight of an edge": {blamed: []int{7}, doubt: true, run: func(t *testing.T, f flow.Flow[int]) {
			breaks(t, f.Edge(flow.Edge[int]{Capacity: 30, MaxWeight: 999, Weight: func(i int) int64 { return int64(boom(i)) }}).ForEach(hang))
		}},
		"a Goexit in the weight of an edge": {blamed: []int{7}, doubt: true, run: func(t *testing.T, f flow.Flow[int]) {
			breaks(t, f.Edge(flow.Edge[int]{Capacity: 30, MaxWeight: 999, Weight: func(i int) int64 { return int64(exit(i)) }}).ForEach(hang))
		}},
		"a panic in the weight of what Expand emits": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) {
			breaks(t, emitted(wide(f), boom, emitHere).ForEach(hang))
		}},
		"a Goexit in the weight of what Expand emits": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) {
			breaks(t, emitted(wide(f), exit, emitHere).ForEach(hang))
		}},
		"a panic in the weight of what a goroutine of Expand emits": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) {
			breaks(t, emitted(wide(f), boom, emitBeside, flow.OnError(flow.Skip)).ForEach(hang))
		}},
		"a Goexit in the weight of what a goroutine of Expand emits": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) {
			breaks(t, emitted(wide(f), exit, emitBeside).ForEach(hang))
		}},
		"a Goexit in the weight of what Expand emits, with Skip": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) {
			breaks(t, emitted(wide(f), exit, emitHere, flow.OnError(flow.Skip)).ForEach(hang))
		}},
		"a panic in the weight of a branch": {blamed: []int{7}, doubt: true, run: func(t *testing.T, f flow.Flow[int]) {
			yes, no := f.Split(func(i int) bool { return !even(i) })
			edge := flow.Edge[int]{Capacity: 30, MaxWeight: 999, Weight: func(i int) int64 { return int64(boom(i)) }}
			breaks(t, flow.Join(yes.Edge(edge).ForEach(hang), no.ForEach(hang)))
		}},
		"a panic in the order of a MergeSorted": {blamed: []int{7}, doubt: true, run: func(t *testing.T, f flow.Flow[int]) {
			compare := func(a, b int) int { boom(min(a, b)); return a - b }
			breaks(t, f.MergeSorted(compare, flow.FromSlice([]int{7})).ForEach(func(context.Context, int) error { return nil }))
		}},
		"a panic in a Zip": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) {
			breaks(t, discard(f.ZipWith(flow.FromSlice(ints(40)), func(a, _ int) int { return boom(a) })))
		}},
		"a panic in a subscriber": {blamed: []int{7}, doubt: true, run: func(t *testing.T, f flow.Flow[int]) {
			p, sub := wide(f).ToSubscriber(&client{each: func(vs []int) int { boom(vs[len(vs)-1]); return len(vs) }})
			sub.Request(8)
			breaks(t, p)
		}},
		"a panic in the body of a loop": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) {
			defer func() { _ = recover() }()
			for i, err := range wide(f).All(t.Context()) {
				must(t, err)
				boom(i)
			}
		}},
	}
}

// emitted puts an edge whose weights are those of weight behind an Expand that emits each value once.
func emitted(f flow.Flow[int], weight func(int) int, emit func(int, func(int) error), opts ...flow.ExpandOption) flow.Flow[int] {
	return f.Expand(func(_ context.Context, i int, to func(int) error) error {
		emit(i, to)
		return nil
	}, opts...).Edge(flow.Edge[int]{Capacity: 30, MaxWeight: 999, Weight: func(i int) int64 { return int64(weight(i)) }})
}

// emitHere and emitBeside emit in the goroutine of the call, and in another one. Neither looks at the error.
func emitHere(i int, emit func(int) error) { _ = emit(i) }

func emitBeside(i int, emit func(int) error) {
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { emitHere(i, emit) })
}

func endingsByStop() map[string]fate {
	endings := map[string]fate{
		"a drain that is late": {run: func(t *testing.T, f flow.Flow[int]) {
			drainsInVain(t, f.Buffer(9, flow.Block).ForEach(hang))
		}},
		"code that does not hear of a stop": {run: func(t *testing.T, f flow.Flow[int]) {
			r := start(t, f.Buffer(9, flow.Block).ForEach(func(context.Context, int) error {
				time.Sleep(time.Hour)
				return nil
			}))
			synctest.Wait()
			r.Stop()
			_ = r.Wait()
			time.Sleep(2 * time.Hour)
		}},
	}
	for name, shape := range map[string]func(f flow.Flow[int]) flow.Pipeline{
		"an edge":    func(f flow.Flow[int]) flow.Pipeline { return f.Buffer(9, flow.Block).ForEach(hang) },
		"a batch":    func(f flow.Flow[int]) flow.Pipeline { return f.Batch(1000, 0).To(stage.Discard[[]int]()) },
		"a gatherer": func(f flow.Flow[int]) flow.Pipeline { return f.To(stage.Discard[int](), flow.Gather(1000, 0)) },
		"a window":   func(f flow.Flow[int]) flow.Pipeline { return discard(f.Parallel(3, hangAt(0))) },
		"lanes":      func(f flow.Flow[int]) flow.Pipeline { return f.ParallelByKey(3, twice, same).ForEach(hang) },
		"a FlatMap": func(f flow.Flow[int]) flow.Pipeline {
			return f.FlatMap(func(int) []int { return ints(5) }).ForEach(hang)
		},
		"a sink":        func(f flow.Flow[int]) flow.Pipeline { return f.To(stage.SinkFunc(hangAll)) },
		"a Conflate":    func(f flow.Flow[int]) flow.Pipeline { return f.Conflate(first).ForEach(hang) },
		"a Zip":         func(f flow.Flow[int]) flow.Pipeline { return discard(f.ZipWith(flow.From(then[int]()), first)) },
		"an Interleave": func(f flow.Flow[int]) flow.Pipeline { return discard(f.Interleave(1, flow.From(then[int]()))) },
		"a subscriber":  func(f flow.Flow[int]) flow.Pipeline { p, _ := f.ToSubscriber(&client{}); return p },
		"a Throttle":    func(f flow.Flow[int]) flow.Pipeline { return discard(f.Throttle(1, time.Hour)) },
		"an Expand": func(f flow.Flow[int]) flow.Pipeline {
			return f.Expand(func(_ context.Context, i int, emit func(int) error) error { return emit(i) }).ForEach(hang)
		},
		"branches": func(f flow.Flow[int]) flow.Pipeline {
			bs := f.Broadcast(2)
			return flow.Join(bs[0].ForEach(hang), bs[1].ForEach(hang))
		},
	} {
		endings["a stop with items in "+name] = fate{run: func(t *testing.T, f flow.Flow[int]) { stops(t, shape(f)) }}
	}
	return endings
}

// hangAt waits for the end of the context at one value.
func hangAt(at int) func(context.Context, int) (int, error) {
	return func(ctx context.Context, i int) (int, error) {
		if i == at {
			return i, hang(ctx, i)
		}
		return i, nil
	}
}

func hangAll(ctx context.Context, _ []int) error { return hang(ctx, 0) }

func endingsByLeaving() map[string]fate {
	return map[string]fate{
		"a Take": {run: func(t *testing.T, f flow.Flow[int]) {
			must(t, discard(f.Buffer(30, flow.Block).Take(5)).Run(t.Context()))
		}},
		"a TakeWhile": {run: func(t *testing.T, f flow.Flow[int]) {
			must(t, discard(f.Buffer(30, flow.Block).TakeWhile(func(i int) bool { return i < 5 })).Run(t.Context()))
		}},
		"a loop that is left": {run: func(t *testing.T, f flow.Flow[int]) {
			for i, err := range f.Buffer(30, flow.Block).All(t.Context()) {
				must(t, err)
				if i == 5 {
					break
				}
			}
		}},
		"the shorter side of a Zip": {run: func(t *testing.T, f flow.Flow[int]) {
			must(t, discard(f.ZipWith(flow.FromSlice(ints(3)), first)).Run(t.Context()))
		}},
		"a subscriber that cancels": {run: func(t *testing.T, f flow.Flow[int]) {
			p, sub := f.Buffer(30, flow.Block).ToSubscriber(&client{})
			sub.Request(5)
			r := start(t, p)
			synctest.Wait()
			sub.Cancel()
			must(t, r.Wait())
		}},
	}
}

func endingsOfBranches() map[string]fate {
	ignore := func(context.Context, int) error { return nil }
	return map[string]fate{
		"a branch that leaves": {none: true, run: func(t *testing.T, f flow.Flow[int]) {
			bs := f.Take(40).Broadcast(2)
			must(t, flow.Join(bs[0].Buffer(9, flow.Block).Take(3).ForEach(ignore), discard(bs[1])).Run(t.Context()))
		}},
		"a branch that fails": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) {
			bs := f.Buffer(30, flow.Block).Broadcast(2)
			fails(t, flow.Join(discard(bs[0].TryMap(failAt(7, errA))), bs[1].ForEach(hang)))
		}},
		"a member of a hub that leaves": {none: true, run: func(t *testing.T, f flow.Flow[int]) {
			hub := flow.NewBroadcastHub[int](2, 200)
			m, leave := attach(t, hub, flow.Edge[int]{Capacity: 9})
			other, _ := attach(t, hub, flow.Edge[int]{Capacity: 50})
			rest := start(t, other.ForEach(ignore))
			r := start(t, f.Take(40).ToHub(hub))
			synctest.Wait()
			leave()
			must(t, r.Wait())
			must(t, rest.Wait())
			must(t, m.ForEach(ignore).Run(t.Context()))
		}},
		"a hub that is stopped": {run: func(t *testing.T, f flow.Flow[int]) {
			hub := flow.NewBroadcastHub[int](1, 9)
			m, _ := attach(t, hub, flow.Edge[int]{Capacity: 9})
			member := start(t, m.ForEach(hang))
			stops(t, f.ToHub(hub))
			wantError(t, member.Wait(), flow.ErrStopped)
		}},
		"a hub without members that drains": {run: func(t *testing.T, f flow.Flow[int]) {
			r := start(t, f.Buffer(9, flow.Block).ToHub(flow.NewBroadcastHub[int](1, 9)))
			synctest.Wait()
			must(t, r.Drain(t.Context()))
		}},
	}
}

// endingsOfStages are those of a custom stage, which has kept items 0 to 4 when it comes to item 5.
func endingsOfStages() map[string]fate {
	via := func(f flow.Flow[int], end func(ctx context.Context, it stage.Item[int], out *stage.Out[int]) error) flow.Pipeline {
		return discard(f.Buffer(30, flow.Block).Via(stage.StageFunc(func(ctx context.Context, in *stage.In[int], out *stage.Out[int]) error {
			for it, err := range in.All(ctx) {
				if err != nil {
					return err
				}
				if it.Value == 5 {
					return end(ctx, it, out)
				}
				in.Keep(it)
			}
			return nil
		})))
	}
	return map[string]fate{
		"a stage that returns and keeps items": {run: func(t *testing.T, f flow.Flow[int]) {
			breaks(t, via(f, func(context.Context, stage.Item[int], *stage.Out[int]) error { return nil }))
		}},
		"a stage that fails and keeps items": {blamed: []int{5}, run: func(t *testing.T, f flow.Flow[int]) {
			fails(t, via(f, func(context.Context, stage.Item[int], *stage.Out[int]) error { return errA }))
		}},
		"a stage that panics and keeps items": {blamed: []int{5}, run: func(t *testing.T, f flow.Flow[int]) {
			breaks(t, via(f, func(context.Context, stage.Item[int], *stage.Out[int]) error { panic("boom") }))
		}},
		"a stage that ends its goroutine and keeps items": {blamed: []int{5}, run: func(t *testing.T, f flow.Flow[int]) {
			breaks(t, via(f, func(context.Context, stage.Item[int], *stage.Out[int]) error { runtime.Goexit(); return nil }))
		}},
		"a stage that is stopped and keeps items": {run: func(t *testing.T, f flow.Flow[int]) {
			stops(t, via(f, func(ctx context.Context, _ stage.Item[int], _ *stage.Out[int]) error { return hang(ctx, 0) }))
		}},
		"a stage that is stopped while it emits": {run: func(t *testing.T, f flow.Flow[int]) {
			stops(t, f.Via(stage.StageFunc(func(ctx context.Context, in *stage.In[int], out *stage.Out[int]) error {
				for it, err := range in.All(ctx) {
					if err = cmp.Or(err, out.Emit(ctx, it)); err != nil {
						return fmt.Errorf("emit: %w", err)
					}
				}
				return nil
			})).ForEach(hang))
		}},
		"a stage whose item fails elsewhere": {blamed: []int{7}, run: func(t *testing.T, f flow.Flow[int]) {
			fails(t, discard(f.Via(stage.StageFunc(func(ctx context.Context, in *stage.In[int], out *stage.Out[int]) error {
				for it, err := range in.All(ctx) {
					if err != nil {
						return err
					}
					if err := out.Emit(ctx, it); err != nil {
						return err
					}
				}
				return nil
			})).TryMap(failAt(7, errA))))
		}},
		"a stage that fails an item": {blamed: []int{5}, run: func(t *testing.T, f flow.Flow[int]) {
			stops(t, f.Via(stage.StageFunc(func(ctx context.Context, in *stage.In[int], out *stage.Out[int]) error {
				for it, err := range in.All(ctx) {
					if err != nil {
						return err
					}
					if kept := in.Keep(it); it.Value == 5 {
						kept.Fail(errA)
					}
				}
				return nil
			})).ForEach(hang))
		}},
	}
}

func endingsOfEdges() map[string]fate {
	return map[string]fate{
		"an edge that drops with Nak": {run: func(t *testing.T, f flow.Flow[int]) {
			stops(t, f.Buffer(3, flow.DropOldest, flow.SettleDropped(flow.Nak(time.Minute))).ForEach(hang))
		}},
		"an edge that drops with Term": {run: func(t *testing.T, f flow.Flow[int]) {
			stops(t, f.Buffer(3, flow.DropNewest, flow.SettleDropped(flow.Term)).ForEach(hang))
		}},
		"an edge that rejects": {run: func(t *testing.T, f flow.Flow[int]) {
			breaks(t, f.Buffer(3, flow.Reject).ForEach(hang))
		}},
		"a branch that rejects": {run: func(t *testing.T, f flow.Flow[int]) {
			bs := f.Broadcast(2)
			breaks(t, flow.Join(bs[0].Buffer(3, flow.Reject).ForEach(hang), discard(bs[1])))
		}},
	}
}

// Whichever function of an edge fails for an item, and however, the item is to blame, and nobody can tell it from those beside it.
func TestAnItemThatAnEdgeCannotTakeIsToBlame(t *testing.T) {
	wrong := map[string]func(good, bad int) int{
		"a panic":        func(int, int) int { panic("boom") },
		"a Goexit":       func(good, _ int) int { runtime.Goexit(); return good },
		"a wrong answer": func(_, bad int) int { return bad },
	}
	for how, fails := range wrong {
		at := func(i, good, bad int) int {
			if i == 7 {
				return fails(good, bad)
			}
			return good
		}
		order := func(d flow.Discipline[int]) flow.Edge[int] { return flow.Edge[int]{Capacity: 30, Discipline: d} }
		edges := map[string]flow.Edge[int]{
			"weight": {Capacity: 30, MaxWeight: 999, Weight: func(i int) int64 { return int64(at(i, 1, -1)) }},
			"cost": {
				Capacity: 50, OnFull: flow.DropNewest, SettleDropped: flow.Nak(0),
				Discipline: flow.ShedLargest(func(i int) int64 { return int64(at(i, 1, -1)) }, time.Second),
			},
			"share": order(flow.FairBy(func(i int) int { return i }, flow.Weights(func(i int) int { return at(i, 1, 0) }))),
		}
		if how != "a wrong answer" { // there is none
			edges["key"] = order(flow.FairBy(func(i int) int { return at(i, i, 0) }))
			edges["class"] = order(flow.ByCriticality(func(i int) stage.Criticality { return stage.Criticality(at(i, int(stage.Critical), 0)) }))
			edges["deadline"] = flow.Edge[int]{Capacity: 30, SettleDropped: flow.Nak(0), Deadline: func(i int) time.Time { at(i, 0, 0); return time.Time{} }}
		}
		for what, edge := range edges {
			inBubble(t, how+" as the "+what, func(t *testing.T) {
				b := newBroker(40)
				b.stays = true
				breaks(t, flow.FromItems(b).Edge(edge).ForEach(hang))
				checkBlame(t, b, fate{blamed: []int{7}, doubt: true})
			})
		}
	}
}

// What a source hands out although a drain has begun is given back.
func TestLateArrivalsAreGivenBackAndNotToBlame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(10)
		poll := stage.ItemSourceFunc(func(ctx context.Context, dst []stage.Item[int]) (int, error) {
			<-ctx.Done()
			return b.PullItems(context.WithoutCancel(ctx), dst)
		})
		r := start(t, discard(flow.FromItems(poll)))
		synctest.Wait()
		must(t, r.Drain(t.Context()))
		checkBlame(t, b, fate{})
	})
}
