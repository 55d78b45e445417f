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

func debounced(f flow.Flow[int]) flow.Flow[int] { return f.Debounce(100 * time.Millisecond) }

func TestDebounceWaitsForQuiet(t *testing.T) {
	for _, c := range []struct {
		name string
		at   []time.Duration
		want []int
		when []time.Duration
	}{
		{"nothing", nil, nil, nil},
		{"one, and the end", ms(0), []int{0}, ms(0)},
		{"far apart", ms(0, 200, 400), ints(3), ms(100, 300, 400)},
		{"a burst", ms(0, 50, 149, 400), []int{2, 3}, ms(249, 400)},
		{"many at once", ms(0, 0, 0, 0, 500), []int{3, 4}, ms(100, 500)},
		{"never quiet", ms(0, 99, 198, 297), []int{3}, ms(297)},
	} {
		inBubble(t, c.name, func(t *testing.T) {
			vs, at := arrivals(t, c.at, debounced)
			equalSlices(t, "values", vs, c.want)
			equalSlices(t, "times", at, c.when)
		})
	}
}

func TestDebounceIsLikeItsReference(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		at := drawTimes(r)
		var want []int
		var when []time.Duration
		for i := range at {
			switch {
			case i == len(at)-1:
				want, when = append(want, i), append(when, at[i])
			case at[i+1]-at[i] > 100*time.Millisecond:
				want, when = append(want, i), append(when, at[i]+100*time.Millisecond)
			}
		}
		wantArrivals(t, r, at, debounced, want, when)
	})
}

// drawTimes returns the times of a timetable, none of which is a multiple of 100 ms behind another one, unless they are the same.
func drawTimes(r *rapid.T) []time.Duration {
	gaps := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 60).Draw(r, "gaps")
	at := make([]time.Duration, len(gaps))
	for i, gap := range gaps {
		if i > 0 {
			at[i] = at[i-1]
		}
		at[i] += time.Duration(gap) * 49 * time.Millisecond
	}
	return at
}

// wantArrivals fails the test unless what build makes of the timetable is want.
func wantArrivals(t *testing.T, r *rapid.T, at []time.Duration, build func(flow.Flow[int]) flow.Flow[int], want []int, when []time.Duration) {
	var got []int
	var gotWhen []time.Duration
	synctest.Test(t, func(t *testing.T) { got, gotWhen = arrivals(t, at, build) })
	if !slices.Equal(got, want) || !slices.Equal(gotWhen, when) {
		r.Fatalf("got %v at %v, want %v at %v", got, gotWhen, want, when)
	}
}

func TestDebounceSettlesWhatIsReplaced(t *testing.T) {
	latestSettles(t, func(f flow.Flow[int]) flow.Flow[int] { return f.Debounce(time.Hour) })
}

func TestDebounceWithADemandThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := newSeen[int]()
		must(t, debounced(flow.From(timetable(ms(0, 200, 300, 1500)...))).ForEach(func(ctx context.Context, i int) error {
			must(t, got.each(ctx, i))
			return nap(ctx, time.Second)
		}).Run(t.Context()))
		equalSlices(t, "values", got.values(), []int{0, 2, 3})
		equalSlices(t, "times", got.times(), ms(100, 1200, 2200)) // 1 and 2 are taken at 1100
	})
}

// latestSettles tests the claims of a step that keeps the latest value and is not quick to hand it on.
func latestSettles(t *testing.T, build func(flow.Flow[int]) flow.Flow[int]) {
	t.Helper()
	inBubble(t, "at the end", func(t *testing.T) {
		b, got := newBroker(100), newSeen[int]()
		must(t, build(flow.FromItems(b)).ForEach(got.each).Run(t.Context()))
		equalSlices(t, "values", got.values(), []int{99})
		b.once(t)
		equalSlices(t, "done", b.kind(stage.Done), ints(100))
	})
	inBubble(t, "in a drain", func(t *testing.T) {
		b, got := newBroker(100), newSeen[int]()
		b.stays = true
		r := start(t, build(flow.FromItems(b)).ForEach(got.each))
		time.Sleep(time.Second)
		equalSlices(t, "done before", b.kind(stage.Done), ints(99))
		must(t, r.Drain(t.Context()))
		equalSlices(t, "times", got.times(), ms(1000))
		b.once(t)
		equalSlices(t, "done", b.kind(stage.Done), ints(100))
	})
	inBubble(t, "in a stop", func(t *testing.T) {
		b, got := newBroker(100), newSeen[int]()
		b.stays = true
		r := start(t, build(flow.FromItems(b)).ForEach(got.each))
		time.Sleep(time.Second)
		stopped(t, r)
		equalSlices(t, "values", got.values(), nil)
		b.once(t)
		equalSlices(t, "given back", b.kind(stage.Failed), []int{99})
		equal(t, "report", r.Report().GivenBack, 1)
	})
	inBubble(t, "with an error upstream", func(t *testing.T) {
		b := newBroker(100)
		err := build(flow.FromItems(b).Map(func(i int) int {
			if i == 99 {
				panic(errThrown)
			}
			return i
		})).To(stage.Discard[int]()).Run(t.Context())
		wantError(t, err, errThrown)
		b.once(t)
		equal(t, "the last message", b.outcome(t, 99).Kind, stage.Failed)
	})
	inBubble(t, "with a consumer that leaves", func(t *testing.T) {
		b := newBroker(100)
		b.stays = true
		r := start(t, flow.Join(build(flow.FromItems(b)).Buffer(1, flow.Block).Take(1).To(stage.Discard[int]())))
		must(t, r.Wait())
		b.once(t)
		equalSlices(t, "done", b.kind(stage.Done), ints(100))
	})
}

func TestDebounceAllocatesNothing(t *testing.T) {
	allocatesNothing(t, func(n int) error {
		var sink tally
		return flow.From(counting(n)).Debounce(time.Hour).To(&sink).Run(context.Background())
	})
}

func TestDebounceRefusesWrongArguments(t *testing.T) {
	refused(t, discard(flow.FromSlice(ints(1)).Debounce(0)), "debounce#2", "quiet must be > 0, got 0s")
}
