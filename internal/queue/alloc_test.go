package queue_test

import (
	"sync"
	"testing"

	"github.com/weir-go/weir/internal/queue"
)

// T32: refusing costs nothing that grows, and is counted exactly.
func TestTenMillionOffersToAFullQueue(t *testing.T) {
	offers := 10_000_000
	if raceEnabled {
		offers /= 10
	}
	const producers, capacity = 64, 100
	q, _, _ := open(queue.Config[int]{Capacity: capacity, OnFull: queue.DropNewest})
	var wg sync.WaitGroup
	allocs := testing.AllocsPerRun(1, func() {
		for range producers {
			wg.Go(func() {
				for i := range offers / producers {
					_ = q.Offer(i, nil)
				}
			})
		}
		wg.Wait()
	})
	in := int64(2 * (offers / producers) * producers) // AllocsPerRun warms up with a run of its own
	if st := q.Stats(); st.In != in || st.Depth != capacity || st.Dropped[queue.DropFull] != in-capacity {
		t.Errorf("In, Depth, Dropped = %d, %d, %v, want %d, %d, %d", st.In, st.Depth, st.Dropped, in, capacity, in-capacity)
	}
	if allocs > 10*producers {
		t.Errorf("%v allocations, want just those of the goroutines", allocs)
	}
}

func TestHotPathsAllocateNothing(t *testing.T) {
	hook := func(int, *queue.Tag, queue.Reason) {}
	weight := func(int) int64 { return 1 }
	chunk, tags := make([]int, 64), make([]*queue.Tag, 64)
	for _, c := range []struct {
		name string
		cfg  queue.Config[int]
	}{
		{"offer, drop newest", queue.Config[int]{OnFull: queue.DropNewest}},
		{"offer, drop newest with a hook", queue.Config[int]{OnFull: queue.DropNewest, Dropped: hook, Tagged: true}},
		{"offer, drop oldest", queue.Config[int]{OnFull: queue.DropOldest}},
		{"offer, drop oldest with a hook", queue.Config[int]{OnFull: queue.DropOldest, Dropped: hook, Tagged: true}},
		{"offer, drop oldest by weight", queue.Config[int]{OnFull: queue.DropOldest, MaxWeight: 50, Weight: weight}},
		{"offer, drop newest by weight", queue.Config[int]{OnFull: queue.DropNewest, MaxWeight: 50, Weight: weight}},
		{"offer, reject", queue.Config[int]{OnFull: queue.Reject}},
		{"offer, block", queue.Config[int]{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.Capacity = 100
			q, _, _ := open(c.cfg)
			if got := testing.AllocsPerRun(500, func() { _ = q.Offer(1, nil) }); got != 0 {
				t.Errorf("%v allocations, want 0", got)
			}
		})
		t.Run("chunks, "+c.name, func(t *testing.T) {
			c.cfg.Capacity, c.cfg.Dropped = 100, nil
			q, in, out := open(c.cfg)
			got := testing.AllocsPerRun(500, func() {
				_, _ = q.Put(in, chunk, tags, nil)
				if c.cfg.OnFull != queue.Block {
					_, _ = q.Put(in, chunk, tags, nil)
				}
				for range 3 {
					if q.Stats().Depth > 0 {
						_, _ = q.Take(out, chunk, tags, nil)
					}
				}
			})
			if got != 0 {
				t.Errorf("%v allocations, want 0", got)
			}
		})
	}
}
