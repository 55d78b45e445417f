package flow_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// keys returns how many keys an attacker sends: few in everyday runs, ten million in a soak. GroupBy gets a tenth of that: it starts a stage
// for each.
func keys(few int) int {
	if *soak > 0 {
		return 10_000_000
	}
	return few
}

// Each value has a key of its own, so a table that grew with them would show. What the heap holds behind the last of them is what it
// held behind the first tenth.
func TestMemoryIsFlatForAnyNumberOfKeys(t *testing.T) {
	key := func(i int) int { return i }
	quick := func(_ context.Context, i int) (int, error) { return i, nil }
	alone := func(int) stage.Stage[int, int] {
		return stage.StageFunc(func(ctx context.Context, in *stage.In[int], out *stage.Out[int]) error {
			for it, err := range in.All(ctx) {
				if err != nil {
					return err
				}
				if err := out.Emit(ctx, it.With(it.Value)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for name, c := range map[string]struct {
		keys int
		by   func(flow.Flow[int]) flow.Flow[int]
	}{
		"Distinct":      {keys(100_000), func(f flow.Flow[int]) flow.Flow[int] { return f.Distinct(1000, key) }},
		"Dedup":         {keys(100_000), func(f flow.Flow[int]) flow.Flow[int] { return f.Dedup(time.Hour, 1000, key) }},
		"ParallelByKey": {keys(50_000), func(f flow.Flow[int]) flow.Flow[int] { return f.ParallelByKey(4, key, quick) }},
		"GroupBy":       {keys(40_000) / 10, func(f flow.Flow[int]) flow.Flow[int] { return f.GroupBy(flow.Groups[int]{Max: 16}, key, alone) }},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after uint64
			next := 0
			numbers := stage.SourceFunc(func(_ context.Context, dst []int) (int, error) {
				switch next {
				case c.keys / 10:
					before = heap()
				case c.keys:
					after = heap()
					return 0, stage.ErrEnd
				}
				n := 0
				for n < len(dst) && (n == 0 || next != c.keys/10) && next < c.keys {
					dst[n] = next
					n, next = n+1, next+1
				}
				return n, nil
			})
			passed := 0
			must(t, c.by(flow.From(numbers)).ForEach(func(context.Context, int) error { passed++; return nil }).Run(t.Context()))
			equal(t, "passed", passed, c.keys)
			flat(t, before, after)
		})
	}
}

// heap returns how many bytes of the heap are in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// flat fails the test when the heap has grown by more than a tenth, and what one run differs from the next by.
func flat(t *testing.T, before, after uint64) {
	t.Helper()
	const slack = 128 << 10
	if after > before+before/10+slack {
		t.Errorf("%d bytes are in use, and were %d", after, before)
	}
}
