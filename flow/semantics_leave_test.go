package flow_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// S7: Take limits the demand: it never reads item n+1, whatever stands between it and the source in the same goroutine.
func TestS7TakeNeverReadsOneMore(t *testing.T) {
	shapes := map[string]func(flow.Flow[int]) flow.Flow[int]{
		"at the source":    func(f flow.Flow[int]) flow.Flow[int] { return f },
		"behind a map":     func(f flow.Flow[int]) flow.Flow[int] { return f.Map(twice) },
		"behind a trymap":  func(f flow.Flow[int]) flow.Flow[int] { return f.TryMap(same) },
		"behind a tap":     func(f flow.Flow[int]) flow.Flow[int] { return f.Tap(func(int) {}) },
		"behind a filter":  func(f flow.Flow[int]) flow.Flow[int] { return f.Filter(func(int) bool { return true }) },
		"behind a take":    func(f flow.Flow[int]) flow.Flow[int] { return f.Take(1000) },
		"behind a flatmap": func(f flow.Flow[int]) flow.Flow[int] { return f.FlatMap(func(i int) []int { return []int{i} }) },
	}
	for name, shape := range shapes {
		inBubble(t, name, func(t *testing.T) {
			for _, n := range []int{0, 1, 2, 3, 7, 100, 1000} {
				src := &endless{}
				got, err := shape(flow.From(src)).Take(n).Collect(t.Context(), n)
				must(t, err)
				equal(t, "items", len(got), n)
				equal(t, "items read", src.next, n)
			}
		})
	}
}

// S7: Take stops its upstream at once, through edges, up to a source that is blocked; what waits in the edges is given back,
// not acknowledged.
func TestS7TakeStopsABlockedSource(t *testing.T) {
	shapes := map[string]func(flow.Flow[int]) flow.Flow[int]{
		"one edge": func(f flow.Flow[int]) flow.Flow[int] { return f.Buffer(10, flow.Block) },
		"two edges": func(f flow.Flow[int]) flow.Flow[int] {
			return f.Buffer(10, flow.Block).Map(twice).Buffer(10, flow.Block)
		},
		"parallel": func(f flow.Flow[int]) flow.Flow[int] { return f.Parallel(3, same) },
		"unordered": func(f flow.Flow[int]) flow.Flow[int] {
			return f.Parallel(3, same, flow.Unordered).Buffer(4, flow.Block)
		},
		"merge": func(f flow.Flow[int]) flow.Flow[int] { return flow.Merge(f, flow.From(stage.SourceFunc(blocked))) },
		"batch": func(f flow.Flow[int]) flow.Flow[int] {
			return f.Batch(3, 0).FlatMap(func(b []int) []int { return b }).Buffer(4, flow.Block)
		},
	}
	for name, shape := range shapes {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(18)
			b.stays = true
			began := time.Now()
			r := start(t, shape(flow.FromItems(b)).Take(5).ForEach(func(ctx context.Context, _ int) error {
				return nap(ctx, time.Second)
			}))
			must(t, r.Wait())
			equal(t, "time", time.Since(began), 5*time.Second)
			b.once(t)
			done := len(b.kind(stage.Done))
			if name == "batch" { // the second batch was cut: it comes again as a whole
				equal(t, "acknowledged", done, 3)
			} else {
				equal(t, "acknowledged", done, 5)
			}
			equal(t, "given back", len(b.kind(stage.Failed)), b.next-done)
			if b.next < 6 {
				t.Fatalf("only %d messages were fetched: nothing waited in an edge", b.next)
			}
		})
	}
}

// S8: a branch that leaves early is done with everything it holds and everything that follows, whatever edges it has; the others
// go on. When the last one leaves, the source is stopped.
func TestS8BranchThatLeavesEarly(t *testing.T) {
	branches := map[string]func(flow.Flow[int]) flow.Flow[int]{
		"its own edge": func(f flow.Flow[int]) flow.Flow[int] { return f },
		"two edges":    func(f flow.Flow[int]) flow.Flow[int] { return f.Buffer(8, flow.Block).Map(twice).Buffer(8, flow.Block) },
		"parallel":     func(f flow.Flow[int]) flow.Flow[int] { return f.Parallel(2, same) },
		"batch":        func(f flow.Flow[int]) flow.Flow[int] { return f.Batch(3, 0).Map(func(b []int) int { return len(b) }) },
		"flatmap": func(f flow.Flow[int]) flow.Flow[int] {
			return f.FlatMap(func(i int) []int { return []int{i, i, i} }).Buffer(2, flow.Block)
		},
	}
	for name, branch := range branches {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(300)
			got := newSeen[int]()
			bs := flow.FromItems(b).Broadcast(2)
			must(t, flow.Join(
				branch(bs[0]).Take(2).To(stage.Discard[int]()),
				bs[1].Buffer(4, flow.Block).ForEach(func(ctx context.Context, i int) error {
					must(t, got.each(ctx, i))
					return nap(ctx, time.Millisecond)
				}),
			).Run(t.Context()))
			equalSlices(t, "the other branch", got.values(), ints(300))
			b.once(t)
			equal(t, "acknowledged", len(b.kind(stage.Done)), 300)
		})
	}
	inBubble(t, "all leave", func(t *testing.T) {
		src := &endless{}
		bs := flow.From(src).Broadcast(3)
		must(t, flow.Join(
			bs[0].Take(1).To(stage.Discard[int]()), bs[1].Take(50).To(stage.Discard[int]()), bs[2].Take(0).To(stage.Discard[int]()),
		).Run(t.Context()))
		if src.next > 50+flow.DefaultCapacity+256 {
			t.Fatalf("%d items were read for the 50 that the longest branch took", src.next)
		}
	})
	inBubble(t, "stopped, they fail", func(t *testing.T) {
		b := newBroker(100)
		bs := flow.FromItems(b).Broadcast(2)
		r := start(t, flow.Join(bs[0].Take(1).To(stage.Discard[int]()), bs[1].ForEach(hang)))
		synctest.Wait()
		stopped(t, r)
		b.once(t)
		equal(t, "given back", len(b.kind(stage.Failed)), b.next)
	})
}

// S10: a turn of a loop over All settles its item as done, break and return included. Demand is 1, so leaving loses nothing.
func TestS10LoopOverAll(t *testing.T) {
	inBubble(t, "break", func(t *testing.T) {
		src := &endless{}
		for v, err := range flow.From(src).Map(twice).All(t.Context()) {
			must(t, err)
			if v == 10 {
				break
			}
		}
		equal(t, "items read", src.next, 6)
	})
	inBubble(t, "break behind an edge", func(t *testing.T) {
		b := newBroker(100)
		b.stays = true
		n := 0
		for _, err := range flow.FromItems(b).Buffer(10, flow.Block).All(t.Context()) {
			must(t, err)
			synctest.Wait()
			if n++; n == 4 {
				break
			}
		}
		b.once(t)
		equalSlices(t, "acknowledged", b.kind(stage.Done), ints(4))
		equal(t, "given back", len(b.kind(stage.Failed)), 10)
	})
	inBubble(t, "return", func(t *testing.T) {
		b := newBroker(100)
		func() {
			for v, err := range flow.FromItems(b).All(t.Context()) {
				must(t, err)
				if v == 3 {
					return
				}
			}
		}()
		b.once(t)
		equalSlices(t, "acknowledged", b.kind(stage.Done), ints(4))
		equal(t, "read", b.next, 4)
	})
	inBubble(t, "panic", func(t *testing.T) {
		b := newBroker(100)
		func() {
			defer func() { equal(t, "the panic", recover(), any("boom")) }()
			for v, err := range flow.FromItems(b).Buffer(4, flow.Block).All(t.Context()) {
				must(t, err)
				if v == 3 {
					panic("boom")
				}
			}
		}()
		b.once(t)
		equalSlices(t, "acknowledged", b.kind(stage.Done), ints(3))
		equal(t, "message 3", b.outcome(t, 3).Kind, stage.Failed)
	})
	inBubble(t, "goexit", func(t *testing.T) {
		b := newBroker(100)
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			for v, err := range flow.FromItems(b).Buffer(4, flow.Block).All(t.Context()) {
				must(t, err)
				if v == 3 {
					runtime.Goexit()
				}
			}
		}()
		<-gone
		b.once(t)
		equalSlices(t, "acknowledged", b.kind(stage.Done), ints(3))
	})
	inBubble(t, "to the end, with an error last", func(t *testing.T) {
		var vs []int
		var last error
		for v, err := range flow.FromSlice(ints(10)).TryMap(failAt(7, errA)).All(t.Context()) {
			if last = err; err == nil {
				vs = append(vs, v)
			}
		}
		equalSlices(t, "items", vs, ints(7))
		wantError(t, last, errA)
	})
	inBubble(t, "sequences of sequences", func(t *testing.T) {
		seq := flow.FromSlice(ints(100)).Buffer(3, flow.Block).All(t.Context())
		got, err := flow.FromSeq2(seq).Filter(even).Take(20).Collect(t.Context(), 20)
		must(t, err)
		equal(t, "last", slices.Max(got), 38)
	})
	inBubble(t, "user code in the chain that does not return", func(t *testing.T) {
		b := newBroker(10)
		var last error
		for _, last = range flow.FromItems(b).Map(func(i int) int { panic(errA) }, flow.Name("bad")).All(t.Context()) {
			if last == nil {
				t.Fatal("an item came out")
			}
		}
		wantStage(t, last, "bad")
		if !errors.Is(last, errA) {
			t.Fatalf("got %v, want %v", last, errA)
		}
		b.once(t)
	})
}
