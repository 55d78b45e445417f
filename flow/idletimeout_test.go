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

func TestIdleTimeout(t *testing.T) {
	for _, c := range []struct {
		name string
		at   []time.Duration
		want []int
		end  time.Duration
		idle bool
	}{
		{"nothing", nil, nil, 0, false},
		{"busy enough", ms(0, 99, 198, 297), ints(4), 297 * time.Millisecond, false},
		{"a pause", ms(0, 50, 300), ints(2), 150 * time.Millisecond, true},
		{"before the first", ms(300), nil, 100 * time.Millisecond, true},
	} {
		inBubble(t, c.name, func(t *testing.T) {
			b, got := time.Now(), newSeen[int]()
			err := flow.From(timetable(c.at...)).IdleTimeout(100 * time.Millisecond).ForEach(got.each).Run(t.Context())
			equal(t, "elapsed", time.Since(b), c.end)
			equalSlices(t, "values", got.values(), c.want)
			if !c.idle {
				must(t, err)
				return
			}
			wantError(t, err, flow.ErrIdle)
			wantStage(t, err, "idletimeout#2")
		})
	}
}

func TestIdleTimeoutIsLikeItsReference(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		at := drawTimes(r)
		want, idle := len(at), false
		for i := len(at) - 1; i > 0; i-- {
			if at[i]-at[i-1] > 100*time.Millisecond {
				want, idle = i, true
			}
		}
		if at[0] > 100*time.Millisecond {
			want, idle = 0, true
		}
		synctest.Test(t, func(t *testing.T) {
			got := newSeen[int]()
			err := flow.From(timetable(at...)).IdleTimeout(100 * time.Millisecond).ForEach(got.each).Run(t.Context())
			if !slices.Equal(got.values(), ints(want)) || (err != nil) != idle {
				r.Fatalf("got %v, %v, want %d values, and an error: %v", got.values(), err, want, idle)
			}
		})
	})
}

func TestIdleTimeoutDoesNotCountTimeDownstream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := newSeen[int]()
		must(t, flow.From(timetable(ms(0, 1050)...)).IdleTimeout(100*time.Millisecond).ForEach(func(ctx context.Context, i int) error {
			must(t, got.each(ctx, i))
			return nap(ctx, time.Second)
		}).Run(t.Context()))
		equalSlices(t, "times", got.times(), ms(0, 1050))
	})
}

func TestIdleTimeoutAndClaims(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *flow.Run){
		"timeout": func(t *testing.T, r *flow.Run) { t.Helper(); wantError(t, r.Wait(), flow.ErrIdle) },
		"drain":   func(t *testing.T, r *flow.Run) { t.Helper(); must(t, r.Drain(t.Context())) },
		"stop":    stopped,
	} {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(100)
			b.stays = true
			r := start(t, flow.FromItems(b).IdleTimeout(time.Minute).To(stage.Discard[int]()))
			synctest.Wait()
			end(t, r)
			b.once(t)
			equalSlices(t, "done", b.kind(stage.Done), ints(100))
		})
	}
}

func TestIdleTimeoutWhoseConsumerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(100)
		got, err := flow.FromItems(b).IdleTimeout(time.Minute).Take(3).Collect(t.Context(), 5)
		must(t, err)
		equalSlices(t, "values", got, ints(3))
		b.once(t)
		equalSlices(t, "done", b.kind(stage.Done), ints(3))
	})
}

// A dear item among cheap ones must not be held together with many others, also where the edge is read with a limit.
func TestIdleTimeoutKeepsChunksShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(1000)
		b.stays = true
		r := start(t, flow.FromItems(b).Buffer(1000, flow.Block).IdleTimeout(time.Hour).ForEach(func(ctx context.Context, i int) error {
			if i >= 700 {
				return nap(ctx, time.Second)
			}
			return nil
		}))
		time.Sleep(290*time.Second + time.Millisecond)
		synctest.Wait()
		if s := edgeStats(t, r, "buffer#2"); s.Depth < 9 {
			t.Errorf("%d items wait in the edge, want all but the one that is worked on", s.Depth)
		}
		stopped(t, r)
		b.once(t)
	})
}

func TestIdleTimeoutAllocatesNothing(t *testing.T) {
	allocatesNothing(t, pushes(func(f flow.Flow[int]) flow.Flow[int] { return f.IdleTimeout(time.Hour) }))
}

func TestIdleTimeoutRefusesWrongArguments(t *testing.T) {
	refused(t, discard(flow.FromSlice(ints(1)).IdleTimeout(0)), "idletimeout#2", "d must be > 0, got 0s")
}
