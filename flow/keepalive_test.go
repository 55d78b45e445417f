package flow_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
	"pgregory.net/rapid"
)

// beat is what the tests make where nothing comes.
const beat = -1

func kept(f flow.Flow[int]) flow.Flow[int] {
	return f.KeepAlive(100*time.Millisecond, func() int { return beat })
}

func TestKeepAliveFillsPauses(t *testing.T) {
	for _, c := range []struct {
		name string
		at   []time.Duration
		want []int
		when []time.Duration
	}{
		{"nothing", nil, nil, nil},
		{"busy", ms(0, 99, 198), ints(3), ms(0, 99, 198)},
		{"before the first", ms(250), []int{beat, beat, 0}, ms(100, 200, 250)},
		{"a pause", ms(0, 230, 250, 360), []int{0, beat, beat, 1, 2, beat, 3}, ms(0, 100, 200, 230, 250, 350, 360)},
	} {
		inBubble(t, c.name, func(t *testing.T) {
			vs, at := arrivals(t, c.at, kept)
			equalSlices(t, "values", vs, c.want)
			equalSlices(t, "times", at, c.when)
		})
	}
}

func TestKeepAliveIsLikeItsReference(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		at := drawTimes(r)
		var want []int
		var when []time.Duration
		last := time.Duration(0)
		for i, now := range at {
			for last += 100 * time.Millisecond; last < now; last += 100 * time.Millisecond {
				want, when = append(want, beat), append(when, last)
			}
			want, when = append(want, i), append(when, now)
			last = now
		}
		wantArrivals(t, r, at, kept, want, when)
	})
}

func TestKeepAliveNeedsDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := newSeen[int]()
		must(t, kept(flow.From(timetable(ms(0, 700, 1450)...))).ForEach(func(ctx context.Context, i int) error {
			must(t, got.each(ctx, i))
			return nap(ctx, 500*time.Millisecond)
		}).Run(t.Context()))
		equalSlices(t, "values", got.values(), []int{0, beat, 1, 2})
		equalSlices(t, "times", got.times(), ms(0, 500, 1000, 1500))
	})
}

func TestKeepAliveAndClaims(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *flow.Run){
		"drain": func(t *testing.T, r *flow.Run) { t.Helper(); must(t, r.Drain(t.Context())) },
		"stop":  stopped,
	} {
		inBubble(t, name, func(t *testing.T) {
			b, beats := newBroker(100), 0
			b.stays = true
			r := start(t, kept(flow.FromItems(b)).ToItems(stage.ItemSinkFunc(func(_ context.Context, items []stage.Item[int]) error {
				for _, it := range items {
					if it.Value == beat {
						beats++
						equal(t, "metadata", it.Meta(), stage.Meta{})
					}
				}
				return nil
			})))
			time.Sleep(time.Second + time.Millisecond)
			end(t, r)
			equal(t, "beats", beats, 10)
			b.once(t)
			equalSlices(t, "done", b.kind(stage.Done), ints(100))
		})
	}
}

func TestKeepAliveWhoseConsumerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(2)
		b.stays = true
		got, err := kept(flow.FromItems(b)).Take(4).Collect(t.Context(), 5)
		must(t, err)
		equalSlices(t, "values", got, []int{0, 1, beat, beat})
		b.once(t)
	})
}

func TestKeepAliveWithUserCodeThatDoesNotReturn(t *testing.T) {
	for _, tr := range troubles() {
		inBubble(t, tr.name, func(t *testing.T) {
			b := newBroker(5)
			b.stays = true
			err := flow.FromItems(b).KeepAlive(time.Second, func() int { tr.do(); return 0 }, flow.Name("bad")).
				To(stage.Discard[int]()).Run(t.Context())
			wantStage(t, err, "bad")
			if tr.is != nil {
				wantError(t, err, tr.is)
			}
			b.once(t)
			equalSlices(t, "done", b.kind(stage.Done), ints(5))
		})
	}
}

func TestKeepAliveAllocatesNothing(t *testing.T) {
	allocatesNothing(t, pushes(func(f flow.Flow[int]) flow.Flow[int] { return f.KeepAlive(time.Hour, func() int { return beat }) }))
}

func TestKeepAliveRefusesWrongArguments(t *testing.T) {
	refused(t, discard(flow.FromSlice(ints(1)).KeepAlive(0, nil)), "keepalive#2", "every must be > 0, got 0s", "function must not be nil")
}
