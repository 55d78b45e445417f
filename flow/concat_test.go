package flow_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
	"pgregory.net/rapid"
)

func TestConcatKeepsTheOrderOfFlows(t *testing.T) {
	slice := func(vs ...int) flow.Flow[int] { return flow.FromSlice(vs) }
	for name, c := range map[string]struct {
		f    flow.Flow[int]
		want []int
	}{
		"no other":           {slice(1, 2).Concat(), []int{1, 2}},
		"two":                {slice(1, 2).Concat(slice(3)), []int{1, 2, 3}},
		"empty ones":         {slice().Concat(slice(), slice(1), slice(), slice(2), slice()), []int{1, 2}},
		"nothing at all":     {slice().Concat(slice(), slice()), nil},
		"one in the other":   {slice(1).Concat(slice(2).Concat(slice(3)), slice(4)), []int{1, 2, 3, 4}},
		"limited ones":       {slice(1, 2, 3).Take(2).Concat(slice(4, 5, 6).TakeWhile(below(5)), slice(7).Take(0)), []int{1, 2, 4}},
		"edges":              {slice(1, 2).Buffer(1, flow.Block).Concat(slice(3).Parallel(2, same), slice(4)), []int{1, 2, 3, 4}},
		"in front of a step": {slice(1).Concat(slice(2)).Map(twice), []int{2, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				got, err := c.f.Collect(t.Context(), 10)
				must(t, err)
				equalSlices(t, "values", got, c.want)
			}
		})
	}
}

func TestConcatIsLikeAppend(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, f := drawFlow(t)
		var more []flow.Flow[int]
		for range rapid.IntRange(0, 4).Draw(t, "more") {
			vs, g := drawFlow(t)
			want, more = append(slices.Clip(want), vs...), append(more, g)
		}
		wantCollected(t, f.Concat(more...), want)
	})
}

func TestConcatDoesNotPullBeforeTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan int)
		fused, ahead := &endless{}, &endless{}
		f := flow.FromChan(gate).Concat(
			flow.From(fused).Map(twice).Take(3),
			flow.From(ahead).Buffer(10, flow.Block, flow.Name("ahead")).Take(2),
		)
		got := newSeen[int]()
		r := start(t, f.ForEach(got.each))
		gate <- 7
		synctest.Wait()
		equal(t, "read from the fused source", fused.next, 0)
		equal(t, "waiting in the edge", edgeStats(t, r, "ahead").Depth, 10)
		equal(t, "read in front of the edge", ahead.next, 10)
		close(gate)
		must(t, r.Wait())
		equalSlices(t, "values", got.values(), []int{7, 0, 2, 4, 0, 1})
	})
}

func TestConcatInADrainEndsWhatHasNotBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, later := newBroker(5), newBroker(20)
		b.stays, later.stays = true, true
		fused := &endless{}
		got := newSeen[int]()
		r := start(t, flow.FromItems(b).Concat(flow.From(fused), flow.FromItems(later).Buffer(8, flow.Block)).ForEach(got.each))
		synctest.Wait()
		must(t, r.Drain(t.Context()))
		equalSlices(t, "values", got.values(), append(ints(5), ints(8)...))
		equal(t, "read from the source that had not begun", fused.next, 0)
		b.once(t)
		later.once(t)
		equal(t, "acknowledged of what waited", len(later.kind(stage.Done)), 8)
	})
}

func TestConcatGivesBackWhatWaitsForItsTurn(t *testing.T) {
	for name, end := range map[string]func(*flow.Run){"left early": func(*flow.Run) {}, "stopped": (*flow.Run).Stop} {
		inBubble(t, name, func(t *testing.T) {
			b, later := newBroker(100), newBroker(100)
			later.stays = true
			f := flow.FromItems(b).Buffer(10, flow.Block).Concat(flow.FromItems(later).Buffer(20, flow.Block), flow.FromSlice(ints(3)))
			r := start(t, f.Take(4).ForEach(func(ctx context.Context, _ int) error { return nap(ctx, time.Second) }))
			synctest.Wait()
			end(r)
			_ = r.Wait()
			b.once(t)
			later.once(t)
			equal(t, "read for later", later.next, 20)
			equal(t, "given back", len(later.kind(stage.Failed)), 20)
			if name == "left early" {
				equalSlices(t, "acknowledged", b.kind(stage.Done), ints(4))
			}
		})
	}
}

// A flow that is a branch must not make the messages of another one count as done when they are given back.
func TestConcatOfABranchLosesNothingOfTheOther(t *testing.T) {
	for name, shape := range map[string]func(f, branch flow.Flow[int]) flow.Flow[int]{
		"branch last":  func(f, branch flow.Flow[int]) flow.Flow[int] { return f.Concat(branch) },
		"branch first": func(f, branch flow.Flow[int]) flow.Flow[int] { return branch.Take(0).Concat(f) },
	} {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(100)
			b.stays = true
			triples := flow.FromItems(b).FlatMap(func(i int) []int { return []int{i, i, i} })
			branches := flow.FromSlice(ints(5)).Broadcast(2)
			must(t, flow.Join(discard(shape(triples, branches[0]).Take(4)), discard(branches[1])).Run(t.Context()))
			b.once(t)
			equalSlices(t, "acknowledged", b.kind(stage.Done), ints(1))
		})
	}
}

func TestConcatOfMessagesAndPlainValues(t *testing.T) {
	b := newBroker(10)
	var ids []string
	must(t, flow.FromSlice(ints(3)).Concat(flow.FromItems(b), flow.FromSlice(ints(2))).
		ToItems(stage.ItemSinkFunc(func(_ context.Context, items []stage.Item[int]) error {
			for _, it := range items {
				ids = append(ids, it.Meta().ID)
			}
			return nil
		})).Run(t.Context()))
	equal(t, "IDs", strings.Join(ids, ","), ",,,0,1,2,3,4,5,6,7,8,9,,")
	b.once(t)
	equal(t, "acknowledged", len(b.kind(stage.Done)), 10)
}

func TestConcatStopsAtAnErrorBeforeItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(5)
		b.stays = true
		failing := flow.FromSlice(ints(9)).TryMap(failAt(3, errA), flow.Name("bad")).Buffer(9, flow.Block)
		err := discard(flow.FromItems(b).Concat(failing)).Run(t.Context())
		wantStage(t, err, "bad")
		wantError(t, err, errA)
		b.once(t)
	})
}

func TestConcatWithUserCodeThatDoesNotReturn(t *testing.T) {
	userCodeFails(t, func(f flow.Flow[int], bad func(int)) flow.Pipeline {
		return discard(flow.FromSlice([]int{-1, -2}).Concat(f.Tap(bad, flow.Name("bad")), flow.FromSlice(ints(3))))
	})
	t.Run("goes on", func(t *testing.T) {
		for _, tr := range troubles() {
			fail := func(_ context.Context, i int) (int, error) {
				if i%3 == 0 {
					tr.do()
				}
				return i, nil
			}
			part := func() flow.Flow[int] { return flow.FromSlice(ints(10)).TryMap(fail, flow.OnError(flow.Skip)) }
			got, err := part().Concat(part(), flow.FromSlice(ints(2))).Collect(t.Context(), 20)
			must(t, err)
			equalSlices(t, tr.name, got, []int{1, 2, 4, 5, 7, 8, 1, 2, 4, 5, 7, 8, 0, 1})
		}
	})
}

func TestConcatInTheGraph(t *testing.T) {
	g := discard(flow.FromSlice(ints(1), flow.Name("a")).Map(twice, flow.Name("b")).Concat(
		flow.FromSlice(ints(1), flow.Name("c")),
		flow.FromSlice(ints(1), flow.Name("d")).Buffer(3, flow.Block, flow.Name("edge")),
		flow.FromSlice(ints(1), flow.Name("e")).Buffer(3, flow.Block, flow.Name("other")).Map(twice, flow.Name("f")),
	).Map(twice, flow.Name("end"))).Graph()
	want := [][2]string{{"a", "b"}, {"b", "concat#9"}, {"c", "concat#9"}, {"f", "concat#9"}, {"concat#9", "end"}, {"end", "to#11"}}
	equalSlices(t, "neighbours", g.Fused, want)
	for _, e := range g.Edges {
		to := map[string]string{"edge": "concat#9", "other": "f"}[e.Name]
		equalSlices(t, "what reads from "+e.Name, e.To, []string{to})
	}
}

func TestConcatTellsTheTimesOfItsSourcesApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(d time.Duration, name string) flow.Flow[int] {
			n := 0
			return flow.FromFunc(func(ctx context.Context) (int, error) {
				if n++; n > 5 {
					return 0, stage.ErrEnd
				}
				return n, nap(ctx, d)
			}, flow.Name(name))
		}
		r := start(t, discard(slow(time.Second, "a").Concat(slow(3*time.Second, "b"))))
		must(t, r.Wait())
		equal(t, "busy", stageStats(t, r, "a").Busy, 0.25)
		equal(t, "busy", stageStats(t, r, "b").Busy, 0.75)
		equal(t, "values", stageStats(t, r, "concat#3").Out, 10)
	})
}

func TestConcatAllocatesNothing(t *testing.T) {
	allocatesNothing(t, func(n int) error {
		var sink tally
		err := flow.From(counting(n / 2)).Concat(flow.From(counting(n - n/2))).To(&sink).Run(context.Background())
		return errors.Join(err, sink.want(n))
	})
}

func TestConcatRefusesWhatIsConsumedTwice(t *testing.T) {
	f := flow.FromSlice(ints(1))
	refused(t, discard(f.Concat(f)), "its output is consumed twice")
	refused(t, discard(f.Concat(flow.Flow[int]{})), "the zero Flow has no source")
}
