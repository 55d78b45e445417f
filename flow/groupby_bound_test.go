package flow_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// However many keys there are, no more than Max stages run, and memory does not grow.
func TestGroupByIsBoundedInKeys(t *testing.T) {
	const keys, most = 100_000, 8
	n := 0
	src := stage.SourceFunc(func(_ context.Context, dst []int) (int, error) {
		if n == keys {
			return 0, stage.ErrEnd
		}
		for i := range dst[:min(len(dst), keys-n)] {
			dst[i] = n
			n++
		}
		return min(len(dst), keys), nil
	})
	var open, worst, goroutines atomic.Int64
	before := runtime.NumGoroutine()
	var heap [2]uint64
	sum := 0
	err := flow.From(src).GroupBy(flow.Groups[int]{Max: most}, func(i int) int { return i }, func(i int) stage.Stage[int, int] {
		if i%1000 == 0 {
			goroutines.Store(max(goroutines.Load(), int64(runtime.NumGoroutine())))
		}
		if i == keys/10 || i == keys-1 {
			heap[min(i/(keys-1), 1)] = liveHeap()
		}
		return stage.StageFunc(func(ctx context.Context, in *inInts, out *outInts) error {
			worst.Store(max(worst.Load(), open.Add(1)))
			defer open.Add(-1)
			return double(ctx, in, out)
		})
	}).ForEach(func(_ context.Context, i int) error {
		sum += i
		return nil
	}).Run(t.Context())
	must(t, err)
	equal(t, "sum", sum, keys*(keys-1))
	if worst.Load() > most {
		t.Fatalf("%d stages at a time, want at most %d", worst.Load(), most)
	}
	if more := goroutines.Load() - int64(before); more > 100 { // those that are on their last lines included
		t.Fatalf("%d goroutines more than before, want 100 at most", more)
	}
	if heap[1] > heap[0]+1<<20 {
		t.Fatalf("%d bytes live behind a tenth of the keys, %d at the end", heap[0], heap[1])
	}
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// However slow the stages are, no more is read than fits, and Graph says how much that is.
func TestGroupByIsBounded(t *testing.T) {
	inBubble(t, "all hang", func(t *testing.T) {
		src := &endless{}
		p := discard(flow.From(src).GroupBy(flow.Groups[int]{Max: 3, Lane: flow.Edge[int]{Capacity: 5}}, modulo(3), running(
			func(ctx context.Context, in *inInts, _ *outInts) error {
				if _, err := in.Next(ctx); err != nil {
					return err
				}
				return hang(ctx, 0)
			}), flow.Name("groups")))
		g := p.Graph()
		i := slices.IndexFunc(g.Edges, func(e flow.GraphEdge) bool { return e.Name == "groups.lanes" })
		equal(t, "capacity of the lanes", g.Edges[i].Capacity, 15)
		equal(t, "goroutines", g.Goroutines, 1+3+1)
		equal(t, "goroutines of the stage", g.Stages[1].Workers, 1+3)
		equal(t, "bound", g.Bound, 15+3+16+flow.DefaultCapacity+256)
		r := start(t, p)
		synctest.Wait()
		equal(t, "open groups", stageStats(t, r, "groups").Groups, 3)
		lanes := edgeStats(t, r, "groups.lanes")
		if lanes.Depth < 13 || lanes.Depth > 15 {
			t.Fatalf("%d items wait in the lanes, want 13 to 15: all full but for what is held back by a full one", lanes.Depth)
		}
		equal(t, "in the lanes", lanes.In, int64(lanes.Depth+3))
		if most := 3*(5+1) + 5; src.next > most {
			t.Fatalf("%d values were read, want at most %d: one in each hand, three lanes, and a chunk", src.next, most)
		}
		stopped(t, r)
		equal(t, "open groups at the end", stageStats(t, r, "groups").Groups, 0)
	})
}

// The time of groups that are gone counts, too.
func TestGroupByShares(t *testing.T) {
	inBubble(t, "one group at a time, half of the time at work", func(t *testing.T) {
		d := newDiary()
		r := start(t, discard(coming(2*time.Second, 10, 20, 30, 40, 50).
			GroupBy(flow.Groups[int]{Max: 1}, tens, d.diligent(time.Second, 0), flow.Name("groups"))))
		time.Sleep(12 * time.Second)
		st := stageStats(t, r, "groups")
		equal(t, "in", st.In, 5)
		// The router lives for 12 s and is idle, the groups for 10 s, of which they work 5.
		equal(t, "busy", fmt.Sprintf("%.3f", st.Busy), fmt.Sprintf("%.3f", 5.0/22))
		equal(t, "idle", fmt.Sprintf("%.3f", st.Idle), fmt.Sprintf("%.3f", 17.0/22))
		stopped(t, r)
	})
}

// An item allocates nothing but what its stage's Emit does.
func TestGroupByAllocations(t *testing.T) {
	for name, c := range map[string]struct {
		group func(int) stage.Stage[int, int]
		most  float64
	}{
		"nothing emitted": {func(int) stage.Stage[int, int] {
			return eachItem(func(context.Context, stage.Item[int], *outInts) error { return nil }, nothing)
		}, 0},
		"emitted": {forwarding, 2},
	} {
		t.Run(name, func(t *testing.T) {
			got := allocsOf(t, 2_000, 22_000, func(n int) error {
				return discard(flow.From(counting(n)).GroupBy(flow.Groups[int]{}, modulo(2), c.group)).Run(context.Background())
			})
			if got > c.most+0.02 { // the lanes' histograms grow a little
				t.Errorf("%.4f allocations an item, want at most %v", got, c.most)
			}
		})
	}
}
