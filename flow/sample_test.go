package flow_test

import (
	"context"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"pgregory.net/rapid"
)

func sampled(f flow.Flow[int]) flow.Flow[int] { return f.Sample(100 * time.Millisecond) }

func TestSampleTakesTheLatestAtEachTick(t *testing.T) {
	for _, c := range []struct {
		name string
		at   []time.Duration
		want []int
		when []time.Duration
	}{
		{"nothing", nil, nil, nil},
		{"one, and the end", ms(50), []int{0}, ms(50)},
		{"one in each", ms(10, 110, 250, 350), ints(4), ms(100, 200, 300, 350)},
		{"many in one", ms(10, 10, 30, 99, 101, 199, 320), []int{3, 5, 6}, ms(100, 200, 320)},
		{"none for some", ms(10, 730, 1090, 1110), ints(4), ms(100, 800, 1100, 1110)},
	} {
		inBubble(t, c.name, func(t *testing.T) {
			vs, at := arrivals(t, c.at, sampled)
			equalSlices(t, "values", vs, c.want)
			equalSlices(t, "times", at, c.when)
		})
	}
}

func TestSampleIsLikeItsReference(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		const every = 100 * time.Millisecond
		at := drawTimes(r)
		for i := range at {
			at[i] += time.Millisecond / 2 // off the ticks: a multiple of 49 and a half is none of 100
		}
		var want []int
		var when []time.Duration
		for i := range at {
			switch tick := at[i] - at[i]%every + every; {
			case i == len(at)-1:
				want, when = append(want, i), append(when, at[i])
			case at[i+1] > tick:
				want, when = append(want, i), append(when, tick)
			}
		}
		wantArrivals(t, r, at, sampled, want, when)
	})
}

func TestSampleSettlesWhatIsReplaced(t *testing.T) {
	latestSettles(t, func(f flow.Flow[int]) flow.Flow[int] { return f.Sample(time.Hour) })
}

func TestSampleWithADemandThatComesLate(t *testing.T) {
	inBubble(t, "ticks pass", func(t *testing.T) {
		got := newSeen[int]()
		must(t, sampled(flow.From(timetable(ms(10, 20, 120, 230, 2000)...))).ForEach(func(ctx context.Context, i int) error {
			must(t, got.each(ctx, i))
			return nap(ctx, 250*time.Millisecond)
		}).Run(t.Context()))
		equalSlices(t, "values", got.values(), []int{1, 3, 4})
		equalSlices(t, "times", got.times(), ms(100, 400, 2000)) // 2 and 3 are taken at 350
	})
}

func TestSampleAllocatesNothing(t *testing.T) {
	allocatesNothing(t, func(n int) error {
		var sink tally
		return flow.From(counting(n)).Sample(time.Hour).To(&sink).Run(context.Background())
	})
}

func TestSampleRefusesWrongArguments(t *testing.T) {
	refused(t, discard(flow.FromSlice(ints(1)).Sample(-1)), "sample#2", "every must be > 0, got -1ns")
}
