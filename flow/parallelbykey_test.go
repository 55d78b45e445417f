package flow_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/flow"
)

func TestParallelByKeyKeepsTheOrderOfEachKey(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		vs := drawKeyed(rt)
		n := rapid.IntRange(1, 7).Draw(rt, "n")
		var working [21]atomic.Int32
		f := flow.FromSlice(vs).ParallelByKey(n, keyOf, func(_ context.Context, v keyedValue) (keyedValue, error) {
			if working[v.key].Add(1) > 1 {
				t.Errorf("two calls for the key %d at the same time", v.key)
			}
			defer working[v.key].Add(-1)
			if v.at%7 == 3 {
				return v, errA
			}
			return v, nil
		}, flow.OnError(flow.Skip))
		got, err := f.Collect(t.Context(), 300)
		if err != nil {
			rt.Fatalf("Collect() = %v", err)
		}
		last := map[int]int{}
		for _, v := range got {
			if before, ok := last[v.key]; ok && before > v.at {
				rt.Fatalf("key %d: %d came behind %d", v.key, v.at, before)
			}
			last[v.key] = v.at
		}
		if want := len(vs) - (len(vs)+3)/7; len(got) != want {
			rt.Fatalf("%d values came, want %d", len(got), want)
		}
	})
}

// S11: an item that is retried holds back its lane only, and the order of its key is kept.
func TestS11RetryHoldsBackItsLaneOnly(t *testing.T) {
	inBubble(t, "one of 30 keys", func(t *testing.T) {
		got := newSeen[int]()
		failed := false
		must(t, flow.FromSlice(ints(60)).ParallelByKey(8, modulo(30), func(_ context.Context, i int) (int, error) {
			if i == 0 && !failed {
				failed = true
				return i, errA
			}
			return i, nil
		}, flow.OnError(flow.Retry(1, every(10*time.Second)))).ForEach(got.each).Run(t.Context()))
		held := map[bool]int{}
		values, times := got.values(), got.times()
		for i, at := range times {
			held[at == 10*time.Second]++
			if at != 0 && at != 10*time.Second {
				t.Fatalf("%d came at %v, want 0 or 10s", values[i], at)
			}
			if values[i]%30 == 0 {
				equal(t, "time of the key that was retried", at, 10*time.Second)
			}
		}
		equal(t, "values", held[true]+held[false], 60)
		if held[false] == 0 {
			t.Fatal("all keys were held back, want one lane of 8 only")
		}
	})
}

func TestParallelByKeyCallsAtTheSameTime(t *testing.T) {
	inBubble(t, "64 keys, 8 lanes", func(t *testing.T) {
		began := time.Now()
		must(t, discard(flow.FromSlice(ints(64)).ParallelByKey(8, twice, func(ctx context.Context, i int) (int, error) {
			return i, nap(ctx, time.Second)
		})).Run(t.Context()))
		if d := time.Since(began); d >= 40*time.Second {
			t.Fatalf("64 calls of 1 s took %v, want less than 40 s", d)
		}
	})
}

// However slow the function is, no more is read than fits.
func TestParallelByKeyIsBounded(t *testing.T) {
	inBubble(t, "all hang", func(t *testing.T) {
		src := &endless{}
		p := discard(flow.From(src).ParallelByKey(3, twice, func(ctx context.Context, i int) (int, error) { return i, hang(ctx, i) }))
		r := start(t, p)
		synctest.Wait()
		stopped(t, r)
		if most := 3*(flow.DefaultCapacity+1) + 1; src.next > most {
			t.Fatalf("%d values were read, want at most %d: three in hand, three edges, and one that waits", src.next, most)
		}
	})
}

// The edge that the user wrote in front is what the values wait in, and the one behind takes the results.
func TestParallelByKeyGraph(t *testing.T) {
	g := discard(flow.FromSlice(ints(1)).Buffer(5, flow.Block, flow.Name("work")).
		ParallelByKey(2, twice, same, flow.Name("calls")).Buffer(7, flow.Block, flow.Name("results"))).Graph()
	var names []string
	for _, e := range g.Edges {
		names = append(names, e.Name)
	}
	equalSlices(t, "edges", names, []string{"work", "results", "calls.lane.1", "calls.lane.2"})
	equal(t, "goroutines", g.Goroutines, 5)
}
