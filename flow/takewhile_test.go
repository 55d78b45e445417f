package flow_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
	"pgregory.net/rapid"
)

func below(n int) func(int) bool { return func(i int) bool { return i < n } }

func TestTakeWhileReadsNothingBehindTheValueItRefuses(t *testing.T) {
	calls := 0
	counts := func(_ context.Context, i int) (int, error) {
		calls++
		return i, nil
	}
	shapes := map[string]func(flow.Flow[int]) flow.Flow[int]{
		"at the source":     func(f flow.Flow[int]) flow.Flow[int] { return f },
		"behind a map":      func(f flow.Flow[int]) flow.Flow[int] { return f.Map(func(i int) int { return i }) },
		"behind a trymap":   func(f flow.Flow[int]) flow.Flow[int] { return f.TryMap(counts) },
		"behind a filter":   func(f flow.Flow[int]) flow.Flow[int] { return f.Filter(func(int) bool { return true }) },
		"behind a flatmap":  func(f flow.Flow[int]) flow.Flow[int] { return f.FlatMap(func(i int) []int { return []int{i} }) },
		"behind its like":   func(f flow.Flow[int]) flow.Flow[int] { return f.TakeWhile(below(5000)) },
		"in front of edges": func(f flow.Flow[int]) flow.Flow[int] { return f },
	}
	for name, shape := range shapes {
		inBubble(t, name, func(t *testing.T) {
			for _, n := range []int{0, 1, 2, 7, 100, 1000} {
				calls = 0
				src := &endless{}
				f := shape(flow.From(src)).TakeWhile(below(n))
				if name == "in front of edges" {
					f = f.Buffer(10, flow.Block).Parallel(2, same)
				}
				got, err := f.Collect(t.Context(), n)
				must(t, err)
				equalSlices(t, "values", got, ints(n))
				equal(t, "values read", src.next, n+1)
				if name == "behind a trymap" {
					equal(t, "calls in front", calls, n+1)
				}
			}
		})
	}
}

func TestTakeWhileGivesBackWhatItDidNotExamine(t *testing.T) {
	shapes := map[string]func(flow.Flow[int]) flow.Flow[int]{
		"one edge":  func(f flow.Flow[int]) flow.Flow[int] { return f.Buffer(50, flow.Block) },
		"two edges": func(f flow.Flow[int]) flow.Flow[int] { return f.Buffer(9, flow.Block).Buffer(50, flow.Block) },
		"no edge":   func(f flow.Flow[int]) flow.Flow[int] { return f },
		"a step between": func(f flow.Flow[int]) flow.Flow[int] {
			return f.Buffer(50, flow.Block).FlatMap(func(i int) []int { return []int{i} })
		},
	}
	for name, shape := range shapes {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(90)
			b.stays = true
			began := time.Now()
			r := start(t, shape(flow.FromItems(b)).TakeWhile(below(20), flow.Name("while")).
				ForEach(func(context.Context, int) error { synctest.Wait(); return nil }))
			must(t, r.Wait())
			equal(t, "time", time.Since(began), 0)
			b.once(t)
			equalSlices(t, "acknowledged", b.kind(stage.Done), ints(21))
			equal(t, "given back", len(b.kind(stage.Failed)), b.next-21)
			equal(t, "report", r.Report().GivenBack, int64(b.next-21))
			st := stageStats(t, r, "while")
			equal(t, "examined", st.In, 21)
			equal(t, "handed on", st.Out, 20)
			if name == "no edge" {
				equal(t, "read", b.next, 21)
			} else if b.next < 50 {
				t.Fatalf("only %d messages were read: nothing waited in an edge", b.next)
			}
		})
	}
}

// Directly behind an edge it takes chunks, and the pulls of what is behind it are as large.
func TestTakeWhileBehindAnEdgeTakesChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pushes := 0
		in := flow.NewInlet(flow.Edge[int]{Capacity: 300})
		for i := range 300 {
			_, err := in.Offer(t.Context(), i)
			must(t, err)
		}
		r := start(t, in.Flow().TakeWhile(below(250)).To(stage.SinkFunc(func(context.Context, []int) error {
			pushes++
			return nil
		})))
		must(t, r.Wait())
		if pushes > 30 {
			t.Fatalf("%d pushes of 250 values, want chunks", pushes)
		}
	})
}

func TestTakeWhileInABranchIsDoneWithTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(300)
		bs := flow.FromItems(b).Broadcast(2)
		must(t, flow.Join(
			bs[0].TakeWhile(below(5)).To(stage.Discard[int]()),
			bs[1].ForEach(func(ctx context.Context, _ int) error { return nap(ctx, time.Millisecond) }),
		).Run(t.Context()))
		b.once(t)
		equal(t, "acknowledged", len(b.kind(stage.Done)), 300)
	})
}

func TestTakeWhileWithUserCodeThatDoesNotReturn(t *testing.T) {
	for name, shape := range map[string]func(flow.Flow[int]) flow.Flow[int]{
		"at the source":  func(f flow.Flow[int]) flow.Flow[int] { return f },
		"behind an edge": func(f flow.Flow[int]) flow.Flow[int] { return f.Buffer(20, flow.Block) },
	} {
		t.Run(name, func(t *testing.T) {
			userCodeFails(t, func(f flow.Flow[int], bad func(int)) flow.Pipeline {
				return discard(shape(f).TakeWhile(func(i int) bool { bad(i); return true }, flow.Name("bad")))
			})
		})
	}
	t.Run("SkipWhile", func(t *testing.T) {
		userCodeFails(t, func(f flow.Flow[int], bad func(int)) flow.Pipeline {
			return discard(f.SkipWhile(func(i int) bool { bad(i); return true }, flow.Name("bad")))
		})
	})
}

func TestSkipWhileAsksNoMoreOnceItHasHandedOn(t *testing.T) {
	for name, c := range map[string]struct{ vs, want []int }{
		"nothing":          {nil, nil},
		"all are skipped":  {[]int{1, 1, 1}, nil},
		"none is skipped":  {[]int{2, 1, 1}, []int{2, 1, 1}},
		"one comes later":  {[]int{1, 1, 2, 1}, []int{2, 1}},
		"the last is kept": {[]int{1, 2}, []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			f := flow.FromSlice(c.vs).SkipWhile(func(i int) bool { return i == 1 })
			for range 2 { // the second run begins anew
				got, err := f.Collect(t.Context(), 10)
				must(t, err)
				equalSlices(t, "values", got, c.want)
			}
		})
	}
}

func TestSkipWhileIsDoneWithWhatItSkips(t *testing.T) {
	b := newBroker(300)
	kept := stage.NewCollector[int](300)
	must(t, flow.FromItems(b).SkipWhile(below(120)).To(kept).Run(t.Context()))
	equalSlices(t, "values", kept.Items(), ints(300)[120:])
	b.once(t)
	equal(t, "acknowledged", len(b.kind(stage.Done)), 300)
}

func TestTakeWhileAndSkipWhileSplitASequence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vs, f := drawFlow(t)
		least := rapid.IntRange(0, 10).Draw(t, "least")
		i := slices.IndexFunc(vs, func(v int) bool { return v >= least })
		if i < 0 {
			i = len(vs)
		}
		wantCollected(t, f.TakeWhile(below(least)), vs[:i])
		wantCollected(t, f.SkipWhile(below(least)), vs[i:])
	})
}

func TestTakeWhileAndSkipWhileAllocateNothing(t *testing.T) {
	all := func(int) bool { return true }
	none := func(int) bool { return false }
	for name, step := range map[string]func(flow.Flow[int]) flow.Flow[int]{
		"TakeWhile":                func(f flow.Flow[int]) flow.Flow[int] { return f.TakeWhile(all) },
		"TakeWhile behind an edge": func(f flow.Flow[int]) flow.Flow[int] { return f.Buffer(1024, flow.Block).TakeWhile(all) },
		"SkipWhile":                func(f flow.Flow[int]) flow.Flow[int] { return f.SkipWhile(none) },
	} {
		t.Run(name, func(t *testing.T) { allocatesNothing(t, pushes(step)) })
	}
}

func TestTakeWhileAndSkipWhileRefuseNil(t *testing.T) {
	f := flow.FromSlice(ints(1))
	refused(t, discard(f.TakeWhile(nil).SkipWhile(nil)), "takewhile#2", "skipwhile#3", "function must not be nil")
}

func BenchmarkTakeWhile(b *testing.B) {
	all := func(int) bool { return true }
	benchFlow(b, "weir", func(f flow.Flow[int]) flow.Flow[int] { return f.TakeWhile(all) })
	benchFlow(b, "edge", func(f flow.Flow[int]) flow.Flow[int] { return f.Buffer(1024, flow.Block).TakeWhile(all) })
	benchLoop(b, func(i int) { _ = all(i) })
}
