package flow_test

import (
	"context"
	"math"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
	"pgregory.net/rapid"
)

func itself(i int) int { return i }

func TestDistinctRemembersTheLastKeys(t *testing.T) {
	for name, c := range map[string]struct {
		remember int
		vs, want []int
	}{
		"nothing":                          {3, nil, nil},
		"all are the same":                 {1, []int{4, 4, 4}, []int{4}},
		"one key is remembered":            {1, []int{4, 4, 5, 4}, []int{4, 5, 4}},
		"what comes again stays":           {2, []int{1, 2, 1, 3, 1, 2}, []int{1, 2, 3, 2}},
		"what is not seen for longest":     {3, []int{1, 2, 3, 4, 1}, []int{1, 2, 3, 4, 1}},
		"more is remembered than there is": {100, []int{1, 2, 3, 2, 1, 3}, []int{1, 2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			f := flow.FromSlice(c.vs).Distinct(c.remember, itself)
			for range 2 { // each run has a memory of its own
				got, err := f.Collect(t.Context(), 10)
				must(t, err)
				equalSlices(t, "values", got, c.want)
			}
		})
	}
}

func TestDistinctHandsOnKeysThatAreNotEqualToThemselves(t *testing.T) {
	got, err := flow.FromSlice(ints(100)).Distinct(5, func(int) float64 { return math.NaN() }).Collect(t.Context(), 100)
	must(t, err)
	equalSlices(t, "values", got, ints(100))
}

func TestDistinctIsDoneWithRepeats(t *testing.T) {
	b := newBroker(300)
	f := flow.FromItems(b).Distinct(10, func(i int) int { return i % 10 }).Buffer(4, flow.Block)
	kept := stage.NewCollector[int](300)
	must(t, f.To(kept).Run(t.Context()))
	equalSlices(t, "values", kept.Items(), ints(10))
	b.once(t)
	equal(t, "acknowledged", len(b.kind(stage.Done)), 300)
}

func TestDistinctIsLikeASearchBackwards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vs, f := drawFlow(t)
		remember := rapid.IntRange(1, 12).Draw(t, "remember")
		var want, last []int // last holds the last keys, each where it was seen last
		for _, v := range vs {
			if i := slices.Index(last, v); i >= 0 {
				last = slices.Delete(last, i, i+1)
			} else {
				want = append(want, v)
			}
			last = append(last, v)
			last = last[max(len(last)-remember, 0):]
		}
		wantCollected(t, f.Distinct(remember, itself), want)
	})
}

func TestDistinctAndDedupWithUserCodeThatDoesNotReturn(t *testing.T) {
	for name, step := range map[string]func(flow.Flow[int], func(int) int) flow.Flow[int]{
		"Distinct": func(f flow.Flow[int], key func(int) int) flow.Flow[int] { return f.Distinct(3, key, flow.Name("bad")) },
		"Dedup": func(f flow.Flow[int], key func(int) int) flow.Flow[int] {
			return f.Dedup(time.Hour, 3, key, flow.Name("bad"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			userCodeFails(t, func(f flow.Flow[int], bad func(int)) flow.Pipeline {
				return discard(step(f, func(i int) int { bad(i); return i % 2 }))
			})
		})
	}
}

func TestDistinctStopsAtAKeyThatCantBeCompared(t *testing.T) {
	err := discard(flow.FromSlice(ints(3)).Distinct(3, func(i int) any { return []int{i} }, flow.Name("bad"))).Run(t.Context())
	wantStage(t, err, "bad")
}

func TestDedupLetsRepeatsGoWithinTheirWindow(t *testing.T) {
	type event struct {
		key   int
		after time.Duration // the last one
	}
	const second = time.Second
	for name, c := range map[string]struct {
		remember int
		events   []event
		want     []int // positions
	}{
		"nothing":                           {3, nil, nil},
		"at the same time":                  {3, []event{{1, 0}, {1, 0}, {2, 0}, {1, 0}}, []int{0, 2}},
		"just within":                       {3, []event{{1, 0}, {1, 10*second - 1}}, []int{0}},
		"when the window has passed":        {3, []event{{1, 0}, {1, 10 * second}}, []int{0, 1}},
		"a repeat does not extend it":       {3, []event{{1, 0}, {1, 6 * second}, {1, 6 * second}, {1, 6 * second}}, []int{0, 2}},
		"the oldest is forgotten":           {2, []event{{1, 0}, {2, second}, {3, second}, {1, 0}}, []int{0, 1, 2, 3}},
		"a repeat does not make it younger": {2, []event{{1, 0}, {2, 0}, {1, 0}, {3, 0}, {1, 0}}, []int{0, 1, 3, 4}},
	} {
		inBubble(t, name, func(t *testing.T) {
			at := 0
			f := flow.FromFunc(func(ctx context.Context) (int, error) {
				if at == len(c.events) {
					return 0, stage.ErrEnd
				}
				at++
				return at - 1, nap(ctx, c.events[at-1].after)
			}).Dedup(10*second, c.remember, func(i int) int { return c.events[i].key })
			got, err := f.Collect(t.Context(), 10)
			must(t, err)
			equalSlices(t, "positions", got, c.want)
		})
	}
}

func TestDedupIsDoneWithRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(300)
		b.most = 100 // what comes in one answer comes at the same time
		f := flow.FromItems(stage.ItemSourceFunc(func(ctx context.Context, dst []stage.Item[int]) (int, error) {
			time.Sleep(time.Second)
			return b.PullItems(ctx, dst)
		})).Dedup(time.Minute, 10, func(i int) int { return i % 10 })
		kept := stage.NewCollector[int](300)
		must(t, f.To(kept).Run(t.Context()))
		equalSlices(t, "values", kept.Items()[:10], ints(10))
		b.once(t)
		equal(t, "acknowledged", len(b.kind(stage.Done)), 300)
	})
}

func TestDistinctAndDedupAllocateNothingOnceTheirMemoryIsFull(t *testing.T) {
	for name, step := range map[string]func(flow.Flow[int]) flow.Flow[int]{
		"Distinct, new keys": func(f flow.Flow[int]) flow.Flow[int] { return f.Distinct(1000, itself) },
		"Distinct, strings": func(f flow.Flow[int]) flow.Flow[int] {
			names := make([]string, 5000)
			for i := range names {
				names[i] = strconv.Itoa(i)
			}
			return f.Distinct(100, func(i int) string { return names[i%len(names)] })
		},
		"Dedup, new keys": func(f flow.Flow[int]) flow.Flow[int] { return f.Dedup(time.Hour, 1000, itself) },
	} {
		t.Run(name, func(t *testing.T) { allocatesNothing(t, pushes(step)) })
	}
}

func TestDistinctAndDedupRefuseArguments(t *testing.T) {
	f := flow.FromSlice(ints(1))
	refused(t, discard(f.Distinct(0, itself)), "distinct#2", "remember must be 1 to 2147483647, got 0")
	refused(t, discard(f.Distinct[int](-1, nil)), "remember must be 1 to 2147483647, got -1", "key must not be nil")
	refused(t, discard(f.Dedup[int](0, 0, nil)), "dedup#2", "window must be > 0, got 0s", "remember must be 1 to 2147483647, got 0", "key must not be nil")
}

func BenchmarkDistinct(b *testing.B) {
	benchFlow(b, "new keys", func(f flow.Flow[int]) flow.Flow[int] { return f.Distinct(1000, itself) })
	known := map[int]bool{}
	benchLoop(b, func(i int) { known[i&1023] = true })
}
