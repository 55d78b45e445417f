package flow_test

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// A source is never asked for more than fits: at each pull, the demand is at most the free room of the blocking edge, whatever
// steps stand in between, and what was pulled is never more than what was delivered, what the edge holds, and the chunks in hand.
func TestDemandNeverExceedsTheRoom(t *testing.T) {
	const capacity = 5
	shapes := map[string]func(flow.Flow[int]) flow.Flow[int]{
		"alone":    func(f flow.Flow[int]) flow.Flow[int] { return f },
		"map":      func(f flow.Flow[int]) flow.Flow[int] { return f.Map(twice) },
		"filter":   func(f flow.Flow[int]) flow.Flow[int] { return f.Filter(func(i int) bool { return i%3 == 0 }) },
		"flatmap":  func(f flow.Flow[int]) flow.Flow[int] { return f.FlatMap(func(i int) []int { return []int{i} }) },
		"trymap":   func(f flow.Flow[int]) flow.Flow[int] { return f.TryMap(same) },
		"skipping": func(f flow.Flow[int]) flow.Flow[int] { return f.TryMap(failAt(3, errA), flow.OnError(flow.Skip)) },
		"stamp":    func(f flow.Flow[int]) flow.Flow[int] { return f.Stamp(keyed) },
		"take":     func(f flow.Flow[int]) flow.Flow[int] { return f.Take(1 << 40) },
		"many": func(f flow.Flow[int]) flow.Flow[int] {
			return f.Skip(3).Map(twice).Tap(func(int) {}).Filter(even).TryMap(same)
		},
	}
	for name, shape := range shapes {
		for _, slow := range []time.Duration{0, time.Millisecond} {
			inBubble(t, fmt.Sprint(name, " ", slow), func(t *testing.T) {
				var r *flow.Run
				next, pulls := 0, 0
				ready := make(chan struct{})
				src := stage.SourceFunc(func(ctx context.Context, dst []int) (int, error) {
					<-ready
					if next > 3000 {
						return 0, stage.ErrEnd
					}
					pulls++
					e := r.Stats().Edges[0]
					if free := capacity - e.Depth; len(dst) > free {
						t.Errorf("pull %d asks for %d while %d fit", pulls, len(dst), free)
					}
					for i := range dst {
						dst[i] = next
						next++
					}
					return len(dst), nil
				})
				r = start(t, shape(flow.From(src)).Buffer(capacity, flow.Block).ForEach(func(ctx context.Context, _ int) error {
					if slow == 0 {
						return nil
					}
					return nap(ctx, slow)
				}))
				close(ready)
				must(t, r.Wait())
			})
		}
	}
}

// S18: with a weight bound demand is an estimate from the mean weight; without one a full edge stops the reading at the source.
func TestS18FullEdgeStopsTheReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &endless{}
		r := start(t, flow.From(src).Map(twice).Buffer(5, flow.Block, flow.Name("line")).ForEach(hang))
		time.Sleep(time.Hour)
		synctest.Wait()
		equal(t, "read", src.next, 5+1)
		stopped(t, r)
	})
	inBubble(t, "by weight", func(t *testing.T) {
		src := &endless{}
		r := start(t, flow.From(src).Edge(flow.Edge[int]{
			Name: "line", Capacity: 100, MaxWeight: 50, Weight: func(int) int64 { return 10 },
		}).ForEach(hang))
		time.Sleep(time.Hour)
		synctest.Wait()
		equal(t, "waiting", edgeStats(t, r, "line").Depth, 5)
		if src.next > 1+5+1 { // one in the sink's hand, one at most in the producer's
			t.Fatalf("%d items were read, want at most 7", src.next)
		}
		stopped(t, r)
	})
}

// Dear items are taken one at a time: two workers need exactly half of the time of one, and no worker sits on what the other
// could do.
func TestDearItemsAreShared(t *testing.T) {
	dear := func(ctx context.Context, i int) (int, error) { return i, nap(ctx, 10*time.Millisecond) }
	shapes := map[string]func(flow.Flow[int]) flow.Pipeline{
		"ordered":   func(f flow.Flow[int]) flow.Pipeline { return discard(f.Parallel(2, dear)) },
		"unordered": func(f flow.Flow[int]) flow.Pipeline { return discard(f.Parallel(2, dear, flow.Unordered)) },
		"behind a big edge": func(f flow.Flow[int]) flow.Pipeline {
			return discard(f.Buffer(1000, flow.Block).Parallel(2, dear))
		},
		"foreach": func(f flow.Flow[int]) flow.Pipeline {
			return f.ForEach(func(ctx context.Context, i int) error { return nap(ctx, 10*time.Millisecond) }, flow.Workers(2))
		},
		"sink": func(f flow.Flow[int]) flow.Pipeline {
			return f.To(stage.SinkFunc(func(ctx context.Context, vs []int) error {
				return nap(ctx, time.Duration(len(vs))*10*time.Millisecond)
			}), flow.Workers(2))
		},
	}
	for name, shape := range shapes {
		inBubble(t, name, func(t *testing.T) {
			began := time.Now()
			must(t, shape(flow.FromSlice(ints(20))).Run(t.Context()))
			equal(t, "time", time.Since(began), 100*time.Millisecond)
		})
	}
}

// Cheap items before dear ones have made chunks large. A worker still takes no more than its share of what waits.
func TestDearItemsBehindCheapOnes(t *testing.T) {
	for name, opts := range map[string][]flow.ParallelOption{"ordered": nil, "unordered": {flow.Unordered}} {
		inBubble(t, name, func(t *testing.T) {
			fn := func(ctx context.Context, i int) (int, error) {
				if i < 1000 {
					return i, nil
				}
				return i, nap(ctx, 10*time.Millisecond)
			}
			began := time.Now()
			must(t, discard(flow.FromSlice(ints(1032)).Buffer(2000, flow.Block).Parallel(2, fn, opts...)).Run(t.Context()))
			// 32 dear items for two workers: 160 ms, and a last chunk of 16 that one of them may have alone.
			if took := time.Since(began); took > 240*time.Millisecond {
				t.Fatalf("it took %v, want at most 240ms", took)
			}
		})
	}
}

// One slow item does not delay those in another lane: another worker's, or another branch's as far as the edges reach.
func TestSlowItemDoesNotDelayOtherLanes(t *testing.T) {
	inBubble(t, "unordered workers", func(t *testing.T) {
		got := newSeen[int]()
		must(t, flow.FromSlice(ints(100)).Parallel(2, func(ctx context.Context, i int) (int, error) {
			if i == 0 {
				return i, nap(ctx, time.Hour)
			}
			return i, nil
		}, flow.Unordered).ForEach(got.each).Run(t.Context()))
		at := got.times()
		equal(t, "last item", got.values()[99], 0)
		equal(t, "when the last but one came", at[98], 0)
	})
	inBubble(t, "branches", func(t *testing.T) {
		got := newSeen[int]()
		bs := flow.FromSlice(ints(50)).Broadcast(2)
		r := start(t, flow.Join(bs[0].Buffer(50, flow.Block).ForEach(hang), bs[1].ForEach(got.each)))
		synctest.Wait()
		equalSlices(t, "the free branch", got.values(), ints(50))
		stopped(t, r)
	})
}

// No item waits for a chunk to fill: what a source gives before it falls silent for an hour is at the sink at once, whatever
// stands in between.
func TestNoItemWaitsForAChunkToFill(t *testing.T) {
	silent := map[string]func() flow.Flow[int]{
		"source": func() flow.Flow[int] { return flow.From(then(1)) },
		"items": func() flow.Flow[int] {
			b := newBroker(1)
			b.stays = true
			return flow.FromItems(b).Map(func(i int) int { return i + 1 })
		},
		"func": func() flow.Flow[int] {
			n := 0
			return flow.FromFunc(func(ctx context.Context) (int, error) {
				if n++; n == 1 {
					return 1, nil
				}
				return 0, hang(ctx, 0)
			})
		},
		"sequence": func() flow.Flow[int] {
			return flow.FromSeq(iter.Seq[int](func(yield func(int) bool) {
				if yield(1) {
					time.Sleep(time.Hour)
				}
			}))
		},
		"channel": func() flow.Flow[int] {
			ch := make(chan int, 1)
			ch <- 1
			return flow.FromChan(ch)
		},
		"inlet": func() flow.Flow[int] {
			in := flow.NewInlet(flow.Edge[int]{Capacity: 5})
			_, _ = in.Offer(context.Background(), 1)
			return in.Flow()
		},
	}
	shapes := map[string]func(flow.Flow[int]) flow.Flow[int]{
		"nothing":   func(f flow.Flow[int]) flow.Flow[int] { return f },
		"map":       func(f flow.Flow[int]) flow.Flow[int] { return f.Map(func(i int) int { return i }) },
		"filter":    func(f flow.Flow[int]) flow.Flow[int] { return f.Filter(func(int) bool { return true }) },
		"flatmap":   func(f flow.Flow[int]) flow.Flow[int] { return f.FlatMap(func(i int) []int { return []int{i} }) },
		"trymap":    func(f flow.Flow[int]) flow.Flow[int] { return f.TryMap(same) },
		"buffer":    func(f flow.Flow[int]) flow.Flow[int] { return f.Buffer(100, flow.Block) },
		"parallel":  func(f flow.Flow[int]) flow.Flow[int] { return f.Parallel(4, same) },
		"unordered": func(f flow.Flow[int]) flow.Flow[int] { return f.Parallel(4, same, flow.Unordered) },
		"merge":     func(f flow.Flow[int]) flow.Flow[int] { return flow.Merge(f, flow.From(stage.SourceFunc(blocked))) },
		"broadcast": func(f flow.Flow[int]) flow.Flow[int] {
			bs := f.Broadcast(2)
			return flow.Merge(bs[0], bs[1].Filter(func(int) bool { return false }))
		},
		"batch": func(f flow.Flow[int]) flow.Flow[int] { return f.Batch(1, 0).Map(func(b []int) int { return b[0] }) },
		"everything": func(f flow.Flow[int]) flow.Flow[int] {
			return f.Map(func(i int) int { return i }).Buffer(9, flow.Block).Parallel(3, same).Filter(func(int) bool { return true }).Buffer(3, flow.DropOldest, flow.SettleDropped(flow.Ack)).TryMap(same)
		},
	}
	for from, source := range silent {
		for name, shape := range shapes {
			inBubble(t, from+" "+name, func(t *testing.T) {
				got := newSeen[int]()
				r := start(t, shape(source()).ForEach(got.each))
				time.Sleep(time.Minute)
				synctest.Wait()
				equalSlices(t, "items", got.values(), []int{1})
				equalSlices(t, "times", got.times(), []time.Duration{0})
				r.Stop()
				_ = r.Wait()
				time.Sleep(2 * time.Hour) // an iterator can't be interrupted
			})
		}
	}
}

// No finished item waits for the rest of its chunk where items are dear: each is at the sink when it is done.
func TestNoDearItemWaitsForItsChunk(t *testing.T) {
	for _, warm := range []int{0, 1000} {
		inBubble(t, fmt.Sprint("after ", warm, " cheap ones"), func(t *testing.T) {
			var mu sync.Mutex
			finished := map[int]time.Time{}
			worst := time.Duration(0)
			must(t, flow.FromSlice(ints(warm+40)).
				TryMap(func(ctx context.Context, i int) (int, error) {
					if i >= warm {
						_ = nap(ctx, 10*time.Millisecond)
					}
					mu.Lock()
					finished[i] = time.Now()
					mu.Unlock()
					return i, nil
				}).
				Buffer(100, flow.Block).
				ForEach(func(_ context.Context, i int) error {
					mu.Lock()
					defer mu.Unlock()
					worst = max(worst, time.Since(finished[i]))
					return nil
				}).Run(t.Context()))
			limit := time.Duration(0)
			if warm > 0 {
				limit = 16 * 10 * time.Millisecond // until the step looks at the clock
			}
			if worst > limit {
				t.Fatalf("an item waited for %v after it was done, want at most %v", worst, limit)
			}
		})
	}
}
