package flow_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
	"pgregory.net/rapid"
)

// merged is how the tests see what was merged.
type merged []int

func lists(f flow.Flow[int]) flow.Flow[merged] {
	return f.Map(func(i int) merged { return merged{i} }).
		Conflate(func(waiting, next merged) merged { return append(waiting, next...) })
}

// conflated runs lists of a timetable with a consumer that is busy for a while with each value, and returns what it got and when.
func conflated(t *testing.T, at []time.Duration, busy time.Duration) (got []merged, when []time.Duration) {
	t.Helper()
	began := time.Now()
	must(t, lists(flow.From(timetable(at...))).ForEach(func(ctx context.Context, m merged) error {
		got, when = append(got, m), append(when, time.Since(began))
		return nap(ctx, busy)
	}).Run(t.Context()))
	return got, when
}

func sameLists(got, want []merged) bool {
	return slices.EqualFunc(got, want, func(a, b merged) bool { return slices.Equal(a, b) })
}

func TestConflateMergesWhatWaits(t *testing.T) {
	for _, c := range []struct {
		name string
		at   []time.Duration
		busy time.Duration
		want []merged
		when []time.Duration
	}{
		{"nothing", nil, 0, nil, nil},
		{"a consumer that is idle", ms(1, 20, 40), 10 * time.Millisecond, []merged{{0}, {1}, {2}}, ms(1, 20, 40)},
		{"one that is busy", ms(1, 3, 5, 7, 9, 12, 13), 5 * time.Millisecond, []merged{{0}, {1, 2}, {3, 4}, {5, 6}}, ms(1, 6, 11, 16)},
		{"many at once, for an idle one", ms(1, 1, 1, 1), time.Second, []merged{{0}, {1, 2, 3}}, ms(1, 1001)},
		{"many at once, for a busy one", ms(1, 2, 2, 2, 1500), time.Second, []merged{{0}, {1, 2, 3}, {4}}, ms(1, 1001, 2001)},
	} {
		inBubble(t, c.name, func(t *testing.T) {
			got, when := conflated(t, c.at, c.busy)
			if !sameLists(got, c.want) {
				t.Fatalf("got %v, want %v", got, c.want)
			}
			equalSlices(t, "times", when, c.when)
		})
	}
}

func TestConflateIsLikeItsReference(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		at := drawTimes(r)
		for i := range at {
			at[i] += 3 * time.Millisecond // behind the start, when the consumer is there
		}
		busy := time.Duration(rapid.IntRange(0, 5).Draw(r, "busy"))*20*time.Millisecond + 1
		var want []merged
		var when []time.Duration
		free := time.Duration(0)
		for i := 0; i < len(at); {
			next := max(at[i], free) // when the consumer gets the next value
			m := merged{i}
			for i++; i < len(at) && at[i] <= next && next > at[m[0]]; i++ {
				m = append(m, i)
			}
			want, when, free = append(want, m), append(when, next), next+busy
		}
		synctest.Test(t, func(t *testing.T) {
			got, gotWhen := conflated(t, at, busy)
			if !sameLists(got, want) || !slices.Equal(gotWhen, when) {
				r.Fatalf("got %v at %v, want %v at %v", got, gotWhen, want, when)
			}
		})
	})
}

func TestConflateNeverHoldsBackItsUpstream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := slices.Repeat(ms(1), 10_000)
		r := start(t, flow.From(timetable(at...)).Conflate(add).ForEach(hang))
		time.Sleep(time.Second)
		equal(t, "items in", stageStats(t, r, "conflate#2").In, 10_000)
		e := edgeStats(t, r, "conflate#2.out")
		equal(t, "capacity", e.Capacity, 1)
		equal(t, "depth", e.Depth, 1)
		stopped(t, r)
		if e = edgeStats(t, r, "conflate#2.out"); e.In != e.Out+int64(e.Depth) {
			t.Errorf("In = %d, want Out + Depth = %d + %d", e.In, e.Out, e.Depth)
		}
	})
}

func TestConflateCarriesTheClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(20_000)
		b.meta = func(i int) stage.Meta { return stage.Meta{ID: strconv.Itoa(i), Key: "k", Attempt: 1 + i%3} }
		pushes, total := 0, 0
		r := start(t, flow.FromItems(b).Conflate(add).ToItems(stage.ItemSinkFunc(func(ctx context.Context, items []stage.Item[int]) error {
			for _, it := range items {
				pushes++
				total += it.Value
				equal(t, "key", it.Meta().Key, "k")
			}
			return nap(ctx, time.Second)
		})))
		time.Sleep(500 * time.Millisecond)
		equal(t, "done while the first is at work", len(b.kind(stage.Done)), 0)
		must(t, r.Wait())
		equal(t, "total", total, 20_000*19_999/2)
		equal(t, "at most two pushes", pushes <= 2, true)
		b.once(t)
		equal(t, "done", len(b.kind(stage.Done)), 20_000)
	})
}

// A value whose message another branch has failed must not spoil those that are merged with it.
func TestConflateKeepsOutcomesApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(3)
		branches := flow.FromItems(b).Throttle(1, time.Second).Broadcast(2)
		slow := branches[0].Conflate(add).ForEach(func(ctx context.Context, _ int) error { return nap(ctx, time.Minute) })
		picky := branches[1].Via(viaFunc(func(ctx context.Context, in *stage.In[int], _ *stage.Out[int]) error {
			for it, err := range in.All(ctx) {
				if err != nil {
					return err
				}
				if it.Value == 1 {
					in.Keep(it).Fail(errThrown)
				}
			}
			return nil
		})).To(stage.Discard[int]())
		must(t, flow.Join(slow, picky).Run(t.Context()))
		b.once(t)
		equalSlices(t, "failed", b.kind(stage.Failed), []int{1})
		equalSlices(t, "done", b.kind(stage.Done), []int{0, 2})
	})
}

func TestConflateGivesBackWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(100)
		b.stays = true
		r := start(t, flow.FromItems(b).Conflate(add).ForEach(hang))
		time.Sleep(time.Minute)
		stopped(t, r)
		b.once(t)
		equal(t, "failed", len(b.kind(stage.Failed)), 100)
	})
}

func TestConflateDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, total := newBroker(100), 0
		b.stays = true
		r := start(t, flow.FromItems(b).Conflate(add).ForEach(func(ctx context.Context, i int) error {
			total += i
			return nap(ctx, time.Second)
		}))
		synctest.Wait()
		must(t, r.Drain(t.Context()))
		equal(t, "total", total, 100*99/2)
		b.once(t)
		equalSlices(t, "done", b.kind(stage.Done), ints(100))
	})
}

func TestConflateWhoseConsumerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(100)
		b.stays, b.most = true, 10
		got, err := flow.FromItems(b).Conflate(add).Take(1).Collect(t.Context(), 5)
		must(t, err)
		equal(t, "values", len(got), 1)
		b.once(t)
	})
}

func TestConflateInFrontOfAnEdge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []merged
		must(t, lists(flow.From(timetable(ms(1, 2, 3, 4, 5, 6)...))).Buffer(1, flow.Block).ForEach(func(ctx context.Context, m merged) error {
			got = append(got, m)
			return nap(ctx, time.Second)
		}).Run(t.Context()))
		if want := []merged{{0}, {1}, {2, 3, 4, 5}}; !sameLists(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestConflateWithUserCodeThatDoesNotReturn(t *testing.T) {
	for _, tr := range troubles() {
		inBubble(t, tr.name, func(t *testing.T) {
			b := newBroker(20)
			merge := func(waiting, next int) int {
				if next >= 7 { // 7 itself may find nothing waiting
					tr.do()
				}
				return waiting + next
			}
			err := flow.FromItems(b).Conflate(merge, flow.Name("bad")).ForEach(hang).Run(t.Context())
			wantStage(t, err, "bad")
			if tr.is != nil {
				wantError(t, err, tr.is)
			}
			b.once(t)
			equal(t, "failed", len(b.kind(stage.Failed)), b.next)
			wantStage(t, flow.FromSlice(ints(20)).Conflate(merge, flow.Name("bad")).ForEach(hang).Run(t.Context()), "bad")
		})
	}
}

// In real time, for the race detector: nothing is lost and nothing comes twice, whatever the pace of the two sides.
func TestConflateLosesNothing(t *testing.T) {
	for name, busy := range map[string]int{"quick": 0, "slow": 2000} {
		t.Run(name, func(t *testing.T) {
			const n = 50_000
			b, last, sum := newBroker(n), -1, 0
			must(t, lists(flow.FromItems(b)).ForEach(func(_ context.Context, m merged) error {
				for _, i := range m {
					equal(t, "next", i, last+1)
					last = i
				}
				for i := range busy {
					sum += i
				}
				return nil
			}).Run(t.Context()))
			equal(t, "last", last, n-1)
			b.once(t)
			equal(t, "done", len(b.kind(stage.Done)), n)
		})
	}
}

func TestConflateAllocatesNothing(t *testing.T) {
	allocatesNothing(t, func(n int) error {
		k := 0
		err := flow.From(counting(n)).Conflate(add).ForEach(func(context.Context, int) error { k++; return nil }).Run(context.Background())
		if k == 0 {
			return errors.New("nothing has come")
		}
		return err
	})
}

func TestConflateRefusesNil(t *testing.T) {
	refused(t, discard(flow.FromSlice(ints(1)).Conflate(nil)), "conflate#2", "function must not be nil")
}
