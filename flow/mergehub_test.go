package flow_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
)

// T35: 100,000 producers attach. There is a limit to their number, and to what waits for all of them together.
func TestT35MergeHubIsBounded(t *testing.T) {
	inBubble(t, "100,000 producers", func(t *testing.T) {
		const members, capacity = 1000, 16
		hub := flow.NewMergeHub(members, flow.Edge[int]{Name: "hub", Capacity: capacity})
		got := newSeen[int]()
		r := start(t, hub.Flow().ForEach(func(ctx context.Context, v int) error {
			if err := nap(ctx, time.Millisecond); err != nil {
				return err
			}
			return got.each(ctx, v)
		}))
		var in []*flow.Inlet[int]
		for range 100_000 {
			p, err := hub.Attach()
			if err == nil {
				in = append(in, p)
				continue
			}
			wantError(t, err, flow.ErrHubFull)
		}
		equal(t, "producers", len(in), members)
		var wg sync.WaitGroup
		for i, p := range in {
			wg.Go(func() {
				for k := range 3 {
					if _, err := p.Put(t.Context(), 3*i+k); err != nil {
						t.Errorf("Put() = %v, want none", err)
					}
				}
			})
		}
		wg.Wait()
		hub.Close()
		must(t, r.Wait())
		s := edgeStats(t, r, "hub")
		equal(t, "items", s.In, 3*members)
		equal(t, "delivered", len(got.values()), 3*members)
		if s.MaxDepth > capacity {
			t.Fatalf("%d items waited, want at most %d", s.MaxDepth, capacity)
		}
		next := map[int]int{}
		for _, v := range got.values() {
			equal(t, "item of its producer", v%3, next[v/3])
			next[v/3]++
		}
	})
}

func TestMergeHubProducersComeAndGo(t *testing.T) {
	inBubble(t, "a place is free again", func(t *testing.T) {
		hub := flow.NewMergeHub(1, flow.Edge[int]{Capacity: 4})
		got := newSeen[int]()
		r := start(t, hub.Flow().ForEach(got.each))
		for i := range 100 {
			p, err := hub.Attach()
			must(t, err)
			_, err = hub.Attach()
			wantError(t, err, flow.ErrHubFull)
			must(t, p.Do(t.Context(), i))
			p.Close()
			p.Close()
			_, err = p.Offer(t.Context(), i)
			wantError(t, err, flow.ErrClosed)
		}
		equalSlices(t, "values", got.values(), ints(100))
		p, err := hub.Attach()
		must(t, err)
		must(t, r.Drain(t.Context()))
		_, err = p.Put(t.Context(), 1)
		wantError(t, err, flow.ErrClosed)
		p.Close()
		_, err = hub.Attach()
		wantError(t, err, flow.ErrClosed)
	})
	inBubble(t, "a Put that waits hears of the end", func(t *testing.T) {
		hub := flow.NewMergeHub(2, flow.Edge[int]{Capacity: 1})
		p, err := hub.Attach()
		must(t, err)
		_, err = p.Put(t.Context(), 1)
		must(t, err)
		result := make(chan error, 1)
		go func() {
			_, err := p.Put(t.Context(), 2)
			result <- err
		}()
		synctest.Wait()
		hub.Close()
		wantError(t, <-result, flow.ErrClosed)
	})
}

func TestMergeHubBuildErrors(t *testing.T) {
	hub := flow.NewMergeHub(0, flow.Edge[int]{Capacity: 0})
	wantText(t, discard(hub.Flow()).Check(), "(?s)capacity must be 1 to 2147483647, got 0.*members must be >= 1, got 0")
	_, err := hub.Attach()
	wantError(t, err, flow.ErrClosed)
	hub.Close()
	p, err := flow.NewMergeHub(1, flow.Edge[int]{Capacity: 1}).Attach()
	must(t, err)
	wantText(t, discard(p.Flow()).Check(), "use the Flow of the hub")
}
