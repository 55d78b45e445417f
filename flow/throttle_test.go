package flow_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
	"pgregory.net/rapid"
)

func ms(n ...int) []time.Duration {
	ds := make([]time.Duration, len(n))
	for i, n := range n {
		ds[i] = time.Duration(n) * time.Millisecond
	}
	return ds
}

// timetable is a source of numbers from 0, each at a time after the first pull, in order. At one time it gives all that there are.
func timetable(at ...time.Duration) stage.Source[int] {
	var began time.Time
	next := 0
	return stage.SourceFunc(func(ctx context.Context, dst []int) (int, error) {
		if began.IsZero() {
			began = time.Now()
		}
		if next == len(at) {
			return 0, stage.ErrEnd
		}
		if err := nap(ctx, time.Until(began.Add(at[next]))); err != nil {
			return 0, err
		}
		n := 0
		for n < len(dst) && next < len(at) && time.Since(began) >= at[next] {
			dst[n] = next
			n, next = n+1, next+1
		}
		return n, nil
	})
}

// arrivals runs the flow that build makes of a timetable, and returns what came and when.
func arrivals(t *testing.T, at []time.Duration, build func(flow.Flow[int]) flow.Flow[int]) ([]int, []time.Duration) {
	t.Helper()
	got := newSeen[int]()
	must(t, build(flow.From(timetable(at...))).ForEach(got.each).Run(t.Context()))
	return got.values(), got.times()
}

func TestThrottleKeepsThePace(t *testing.T) {
	for _, c := range []struct {
		name     string
		n        int
		per      time.Duration
		at, want []time.Duration
	}{
		{"one at a time", 1, time.Second, ms(0, 0, 0), ms(0, 1000, 2000)},
		{"the first n at once", 3, 3 * time.Second, ms(0, 0, 0, 0, 0), ms(0, 0, 0, 1000, 2000)},
		{"a pause fills the bucket", 2, time.Second, ms(0, 0, 2000, 2000, 2000), ms(0, 0, 2000, 2000, 2500)},
		{"a short pause fills a part", 2, time.Second, ms(0, 0, 750, 750, 750), ms(0, 0, 750, 1000, 1500)},
		{"slower than the pace", 1, 100 * time.Millisecond, ms(0, 150, 300, 450), ms(0, 150, 300, 450)},
	} {
		inBubble(t, c.name, func(t *testing.T) {
			vs, at := arrivals(t, c.at, func(f flow.Flow[int]) flow.Flow[int] { return f.Throttle(c.n, c.per) })
			equalSlices(t, "values", vs, ints(len(c.at)))
			equalSlices(t, "times", at, c.want)
		})
	}
}

func TestThrottleDoesNotDrift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		must(t, discard(flow.FromSlice(ints(7*1000+1)).Throttle(7, time.Second)).Run(t.Context()))
		want := 999*time.Second + time.Second/7 + 1 // 6994 thirds behind the first seven, rounded up
		equal(t, "elapsed", time.Since(began), want)
	})
}

func TestThrottleEndsWithItsUpstream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		must(t, discard(flow.FromSlice(ints(3)).Throttle(3, time.Hour)).Run(t.Context()))
		equal(t, "elapsed", time.Since(began), 0)
	})
}

func TestThrottleHoldsBackTheSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &endless{}
		r := start(t, discard(flow.From(src).Throttle(10, 10*time.Second)))
		time.Sleep(5*time.Second + time.Millisecond)
		synctest.Wait()
		equal(t, "values pulled", src.next, 10+5+1)
		equal(t, "items out", stageStats(t, r, "throttle#2").Out, 15)
		if s := stageStats(t, r, "throttle#2"); s.Backpressured < 0.99 {
			t.Errorf("Backpressured = %v, want the time that it waits", s.Backpressured)
		}
		stopped(t, r)
	})
}

func TestThrottleStopsAtOnceAndGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(10)
		r := start(t, flow.FromItems(b).Throttle(3, time.Hour).To(stage.Discard[int]()))
		time.Sleep(time.Minute)
		began := time.Now()
		stopped(t, r)
		equal(t, "time to stop", time.Since(began), 0)
		b.once(t)
		equalSlices(t, "done", b.kind(stage.Done), ints(3))
		equalSlices(t, "given back", b.kind(stage.Failed), []int{3})
		equal(t, "report", r.Report().GivenBack, 1)
	})
}

func TestThrottleKeepsThePaceInADrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(6)
		b.stays = true
		r := start(t, flow.FromItems(b).Buffer(10, flow.Block).Throttle(2, 2*time.Second).To(stage.Discard[int]()))
		synctest.Wait()
		began := time.Now()
		must(t, r.Drain(t.Context()))
		equal(t, "time to drain", time.Since(began), 4*time.Second)
		b.once(t)
		equalSlices(t, "done", b.kind(stage.Done), ints(6))
	})
}

func TestThrottleWhoseConsumerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(100)
		began := time.Now()
		got, err := flow.FromItems(b).Throttle(1, time.Second).Buffer(1, flow.Block).Take(2).Collect(t.Context(), 5)
		must(t, err)
		equalSlices(t, "values", got, ints(2))
		equal(t, "elapsed", time.Since(began), time.Second)
		b.once(t)
		equalSlices(t, "done", b.kind(stage.Done), ints(2))
	})
}

func TestThrottleCost(t *testing.T) {
	for _, c := range []struct {
		name  string
		n     int64
		costs []int64
		want  []time.Duration
	}{
		{"as Throttle", 2, []int64{1, 1, 1, 1}, ms(0, 0, 500, 1000)},
		{"what is free does not wait", 1, []int64{1, 0, 0, 1, 0}, ms(0, 0, 0, 1000, 1000)},
		{"a dear one waits for its cost", 4, []int64{3, 4, 1}, ms(0, 750, 1000)},
		{"debt", 2, []int64{5, 1, 6, 1}, ms(0, 2000, 3000, 5500)},
	} {
		inBubble(t, c.name, func(t *testing.T) {
			cost := func(i int) int64 { return c.costs[i] }
			vs, at := arrivals(t, make([]time.Duration, len(c.costs)), func(f flow.Flow[int]) flow.Flow[int] {
				return f.ThrottleCost(cost, c.n, time.Second)
			})
			equalSlices(t, "values", vs, ints(len(c.costs)))
			equalSlices(t, "times", at, c.want)
		})
	}
}

func TestThrottleIsLikeABucket(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(r, "n")
		gaps := rapid.SliceOfN(rapid.IntRange(0, 40), 1, 60).Draw(r, "gaps in ms")
		const each = 12 * time.Millisecond
		at, want := make([]time.Duration, len(gaps)), make([]time.Duration, len(gaps))
		var now, full time.Duration // when the bucket is full again
		for i, gap := range gaps {
			if i > 0 {
				at[i] = at[i-1] + time.Duration(gap)*time.Millisecond
			}
			now = max(at[i], now)
			full = max(full, now) + each
			now = max(now, full-time.Duration(n)*each)
			want[i] = now
		}
		var got []time.Duration
		synctest.Test(t, func(t *testing.T) {
			_, got = arrivals(t, at, func(f flow.Flow[int]) flow.Flow[int] { return f.Throttle(n, time.Duration(n)*each) })
		})
		if !slices.Equal(got, want) {
			r.Fatalf("times = %v, want %v", got, want)
		}
	})
}

func TestThrottleCostWithUserCodeThatDoesNotReturn(t *testing.T) {
	userCodeFails(t, func(f flow.Flow[int], bad func(int)) flow.Pipeline {
		return discard(f.ThrottleCost(func(i int) int64 { bad(i); return 1 }, 100, time.Second, flow.Name("bad")))
	})
}

func TestThrottleCostThatIsNegative(t *testing.T) {
	err := discard(flow.FromSlice(ints(3)).ThrottleCost(func(i int) int64 { return int64(1 - i) }, 5, time.Second)).Run(t.Context())
	wantStage(t, err, "throttlecost#2")
	if e, _ := errors.AsType[*stage.Error](err); e.Err.Error() != "cost must be >= 0, got -1" {
		t.Fatalf("got error %v, want one that tells the cost", err)
	}
}

func TestThrottleAllocatesNothing(t *testing.T) {
	allocatesNothing(t, pushes(func(f flow.Flow[int]) flow.Flow[int] {
		return f.Throttle(1<<40, time.Second).ThrottleCost(func(int) int64 { return 1 }, 1<<40, time.Second)
	}))
}

func TestThrottleRefusesWrongArguments(t *testing.T) {
	f := flow.FromSlice(ints(1))
	refused(t, discard(f.Throttle(0, 0)), "throttle#2", "n must be >= 1, got 0", "per must be > 0, got 0s")
	refused(t, discard(f.ThrottleCost(nil, -1, -time.Second)), "cost must not be nil", "n must be >= 1, got -1", "per must be > 0, got -1s")
}
