package queue_test

import (
	"hash/maphash"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/internal/codel"
	"github.com/weir-go/weir/internal/queue"
)

// Once a queue has grown, no order, and nothing that drops on the way out, allocates.
func TestOrdersAllocateNothing(t *testing.T) {
	for _, kind := range []queue.Kind{queue.FIFO, queue.Newest, queue.Fair, queue.ByRank, queue.Largest} {
		for _, policy := range []queue.Policy{queue.Block, queue.DropNewest, queue.DropOldest, queue.Reject} {
			cfg := laned(kind, 64)
			cfg.OnFull = policy
			cfg.Deadline = func(v thing, _ *queue.Tag) time.Time { return v.deadline }
			if kind != queue.Newest && kind != queue.ByRank {
				cfg.CoDel = codel.Config{Target: 1, Interval: 1}
			}
			q, producer, consumer := open(cfg)
			values, dst := make([]thing, 1), make([]thing, 8)
			id := 0
			turn := func() {
				for range 80 { // more than there is room for
					values[0] = thing{id: id, lane: id % modelLanes, weight: int64(id % 5), deadline: time.Now().Add(time.Duration(id%3) * time.Second)}
					id++
					if policy == queue.Block {
						_ = q.Offer(values[0], nil)
					} else {
						_, _ = q.Put(producer, values, nil, nil)
					}
				}
				for err := error(nil); err == nil; {
					_, err = q.Take(consumer, dst, nil, closedTime)
				}
			}
			turn()
			if n := testing.AllocsPerRun(10, turn); n != 0 {
				t.Errorf("%v, %v: %v allocations in a turn of 80 items, want 0", kind, policy, n)
			}
			only := func() {
				values[0] = thing{id: id, lane: id % modelLanes}
				id++
				_ = q.Offer(values[0], nil)
				_, _ = q.Take(consumer, dst, nil, closedTime)
			}
			only()
			if n := testing.AllocsPerRun(100, only); n != 0 {
				t.Errorf("%v, %v: %v allocations for an item, want 0", kind, policy, n)
			}
		}
	}
}

// closedTime is a time that is up.
var closedTime = func() chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}()

// A million keys, some of them long, share 1,024 lanes: memory does not grow with them, and the counts are right.
func TestAMillionKeys(t *testing.T) {
	keys := 1_000_000
	if raceEnabled {
		keys /= 20
	}
	seed := maphash.MakeSeed()
	long := strings.Repeat("k", 300)
	q, _, consumer := open(queue.Config[string]{
		Name: "e", Capacity: 512, OnFull: queue.DropNewest, Order: queue.Order{Kind: queue.Fair, Lanes: 1024},
		Lane: func(k string, _ *queue.Tag) (int, int) { return int(maphash.String(seed, k) % 1024), 1 },
	})
	used := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	dst := make([]string, 64)
	pass := func(from, to int) {
		for i := from; i < to; i++ {
			k := strconv.Itoa(i)
			if i%1000 == 0 {
				k = long + k
			}
			_ = q.Offer(k, nil)
			if i%128 == 0 {
				if _, err := q.Take(consumer, dst, nil, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	pass(0, keys/10)
	before := used()
	pass(keys/10, keys)
	if grown := used() - before; grown > 1<<20 {
		t.Errorf("memory grew by %d bytes with the keys, want less than a megabyte", grown)
	}
	s := q.Stats()
	if s.In != int64(keys) || s.In != s.Out+sum(s.Dropped)+int64(s.Depth) || s.MaxDepth > 512 {
		t.Errorf("In %d, Out %d, Dropped %v, Depth %d (at most %d): want %d in all and at most 512", s.In, s.Out, s.Dropped, s.Depth, s.MaxDepth, keys)
	}
}

// Whatever the load, nothing that has waited longer than MaxWait is left in a queue that serves the newest first when a consumer has
// come, and nothing is served that has.
func TestNewestFirstStarvesNobodyBeyondMaxWait(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			const maxWait = 50 * time.Millisecond
			cfg := laned(queue.Newest, 40)
			cfg.OnFull, cfg.MaxWait = queue.DropOldest, maxWait
			cfg.Order.Target, cfg.Order.Interval = 5*time.Millisecond, 20*time.Millisecond
			inside := map[int]time.Time{}
			cfg.Dropped = func(v thing, _ *queue.Tag, _ queue.Reason) { delete(inside, v.id) }
			q, _, consumer := open(cfg)
			defer q.Abort(errAbort)
			dst := make([]thing, 1)
			for id := range 300 {
				inside[id] = time.Now()
				_ = q.Offer(thing{id: id}, nil)
				if rapid.IntRange(0, 2).Draw(t, "take") == 0 {
					n, _ := q.Take(consumer, dst, nil, closedTime)
					for id, came := range inside {
						if wait := time.Since(came); wait > maxWait {
							t.Fatalf("item %d has waited %v, want at most %v", id, wait, maxWait)
						}
					}
					if n == 1 {
						delete(inside, dst[0].id)
					}
				}
				time.Sleep(time.Duration(rapid.IntRange(0, 3).Draw(t, "ms")) * time.Millisecond)
			}
		})
	})
}

// It is first in, first out until the queue stands, and again once it does not.
func TestNewestFirstOnlyWhileTheQueueStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := laned(queue.Newest, 100)
		cfg.OnFull = queue.DropOldest
		cfg.Order.Target, cfg.Order.Interval = 10*time.Millisecond, 50*time.Millisecond
		q, _, consumer := open(cfg)
		take := func() int { return mustTake(t, q, consumer, 1)[0].id }
		for id := range 20 {
			_ = q.Offer(thing{id: id}, nil)
		}
		var got []int
		for range 8 {
			time.Sleep(20 * time.Millisecond)
			got = append(got, take())
		}
		if want := []int{0, 1, 2, 19, 18, 17, 16, 15}; !slices.Equal(got, want) {
			t.Errorf("took %v, want %v: 60 ms in order, then the newest first", got, want)
		}
		for q.Stats().Depth > 0 {
			take()
		}
		_ = q.Offer(thing{id: 100}, nil)
		_ = q.Offer(thing{id: 101}, nil)
		if id := take(); id != 100 {
			t.Errorf("took %d first once the queue had cleared, want 100", id)
		}
	})
}

// The dearest pays, of equals the newest or the oldest, unless it is too old to.
func TestTheDearestPays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for policy, want := range map[queue.Policy][]int{queue.DropNewest: {2, 4, 5}, queue.DropOldest: {1, 4, 2}} {
			var dropped []int
			cfg := laned(queue.Largest, 3)
			cfg.OnFull, cfg.Order.Age = policy, time.Second
			cfg.Dropped = func(v thing, _ *queue.Tag, _ queue.Reason) { dropped = append(dropped, v.id) }
			q, _, _ := open(cfg)
			for i, cost := range []int64{1, 5, 5, 3, 9, 5} { // a 5 pays for the 3, the 9 for itself, and one of two that cost 5
				_ = q.Offer(thing{id: i, weight: cost}, nil)
			}
			if !slices.Equal(dropped, want) {
				t.Errorf("%v: dropped %v, want %v", policy, dropped, want)
			}
			time.Sleep(2 * time.Second)
			_ = q.Offer(thing{id: 6, weight: 1}, nil)
			if got := dropped[len(dropped)-1]; got != 6 {
				t.Errorf("%v: dropped %d when all were too old to pay, want 6, which came", policy, got)
			}
		}
	})
}

// When service times triple, what can't be finished in time follows within a few completions.
func TestSlowServiceIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := laned(queue.FIFO, 1000)
		cfg.Deadline = func(v thing, _ *queue.Tag) time.Time { return v.deadline }
		q, producer, consumer := open(cfg)
		dst := make([]thing, 1)
		serve := func(service, deadline time.Duration) bool {
			mustPut(t, q, producer, thing{deadline: time.Now().Add(deadline)})
			n, _ := q.Take(consumer, dst, nil, closedTime)
			if n == 1 {
				time.Sleep(service)
			}
			return n == 1
		}
		for range 200 {
			if !serve(10*time.Millisecond, 20*time.Millisecond) {
				t.Fatal("an item with time enough was dropped")
			}
		}
		completions := 0
		for serve(30*time.Millisecond, 20*time.Millisecond) {
			if completions++; completions > 100 {
				t.Fatal("items that take 30 ms are started with 20 ms to go, 100 completions later")
			}
		}
		t.Logf("noticed behind %d completions", completions)
	})
}

// What the depth has been over time, and what items have waited, agree by Little's law, for any order and whatever was dropped.
func TestLittlesLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rapid.SyncTest(t, func(t *rapid.T) {
			kind := rapid.SampledFrom([]queue.Kind{queue.FIFO, queue.Newest, queue.Fair, queue.ByRank, queue.Largest}).Draw(t, "order")
			cfg := laned(kind, 30)
			cfg.OnFull, cfg.MaxWait = queue.DropOldest, 40*time.Millisecond
			q, _, consumer := open(cfg)
			defer q.Abort(errAbort)
			dst := make([]thing, 4)
			for id := range 200 {
				_ = q.Offer(thing{id: id, lane: id % modelLanes, weight: int64(id % 9)}, nil)
				if rapid.IntRange(0, 3).Draw(t, "take") == 0 {
					_, _ = q.Take(consumer, dst, nil, closedTime)
				}
				time.Sleep(time.Duration(rapid.IntRange(0, 5).Draw(t, "ms")) * time.Millisecond)
			}
			s := q.Stats()
			if d := s.MeanDepth - s.LittleDepth; d > 0.02*s.MeanDepth || d < -0.02*s.MeanDepth {
				t.Fatalf("%v: MeanDepth = %v, LittleDepth = %v, want them within 2 %%", kind, s.MeanDepth, s.LittleDepth)
			}
		})
	})
}

// A backlog of 200 behind 100 a second, while 50 come, is gone in 4 s; while 100 come it stays.
func TestRecovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, _, consumer := open(laned(queue.Fair, 5000))
		dst := make([]thing, 1)
		step := func(arrivals int) { // 20 ms, in which two are finished
			for range arrivals {
				_ = q.Offer(thing{}, nil)
			}
			for range 2 {
				if n, _ := q.Take(consumer, dst, nil, closedTime); n == 1 {
					time.Sleep(10 * time.Millisecond)
				}
			}
		}
		for range 500 {
			step(3)
		}
		if got := q.Stats().Recovery; got >= 0 {
			t.Errorf("Recovery = %v at 150/s against 100/s, want a negative one", got)
		}
		for range 300 {
			step(1)
		}
		s := q.Stats()
		want := time.Duration(float64(s.Depth) / 50 * float64(time.Second))
		if d := s.Recovery - want; s.Depth == 0 || d > want/20 || d < -want/20 {
			t.Errorf("Recovery = %v with %d waiting, want %v", s.Recovery, s.Depth, want)
		}
		if s.OfferedLoad < 0.48 || s.OfferedLoad > 0.52 {
			t.Errorf("OfferedLoad = %v, want 0.5", s.OfferedLoad)
		}
	})
}

func TestOrderNames(t *testing.T) {
	var names []string
	for k := queue.FIFO; k <= queue.Largest+1; k++ {
		names = append(names, k.String())
	}
	if want := []string{"fifo", "newest first", "fair", "by criticality", "shed largest", "kind(5)"}; !slices.Equal(names, want) {
		t.Errorf("names are %q, want %q", names, want)
	}
}
