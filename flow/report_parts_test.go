package flow_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// onePasses hands its items on; it fails at the item k, with what fail does.
func onePasses(k int, fail func() error) stage.Stage[int, int] {
	return stage.StageFunc(func(ctx context.Context, in *stage.In[int], out *stage.Out[int]) error {
		for it, err := range in.All(ctx) {
			if err != nil {
				return err
			}
			if it.Value == k && fail != nil {
				return fail()
			}
			if err := out.Emit(ctx, it); err != nil || it.Value == k {
				return err
			}
		}
		return nil
	})
}

// The report adds up behind every operator that neither lets go nor multiplies, however the run ends.
func TestReportAddsUpBehindEveryOperator(t *testing.T) {
	key := func(i int) int { return i % 5 }
	less := func(a, b int) int { return a - b }
	none := func() flow.Flow[int] { return flow.FromSlice[int](nil) }
	slow := func(f flow.Flow[int]) flow.Pipeline { return f.ForEach(tick) }
	shapes := map[string]func(flow.Flow[int]) flow.Pipeline{
		"scan":       func(f flow.Flow[int]) flow.Pipeline { return slow(f.Scan(0, func(_, i int) int { return i })) },
		"flatmap":    func(f flow.Flow[int]) flow.Pipeline { return slow(f.FlatMap(func(i int) []int { return []int{i} })) },
		"throttle":   func(f flow.Flow[int]) flow.Pipeline { return slow(f.Throttle(3, 5*time.Millisecond)) },
		"distinct":   func(f flow.Flow[int]) flow.Pipeline { return slow(f.Distinct(4, func(i int) int { return i })) },
		"concat":     func(f flow.Flow[int]) flow.Pipeline { return slow(none().Concat(f.Buffer(3, flow.Block), none())) },
		"besteffort": func(f flow.Flow[int]) flow.Pipeline { return slow(f.BestEffort()) },
		"bykey":      func(f flow.Flow[int]) flow.Pipeline { return slow(f.ParallelByKey(3, key, same)) },
		"via":        func(f flow.Flow[int]) flow.Pipeline { return slow(f.Via(onePasses(-1, nil))) },
		"groupby": func(f flow.Flow[int]) flow.Pipeline {
			return slow(f.GroupBy(flow.Groups[int]{Max: 3}, key, func(int) stage.Stage[int, int] { return onePasses(-1, nil) }))
		},
		"expand": func(f flow.Flow[int]) flow.Pipeline {
			return slow(f.Expand(func(ctx context.Context, i int, emit func(int) error) error { return emit(i) }))
		},
		"idletimeout":   func(f flow.Flow[int]) flow.Pipeline { return slow(f.IdleTimeout(time.Hour)) },
		"keepalive":     func(f flow.Flow[int]) flow.Pipeline { return slow(f.KeepAlive(time.Hour, func() int { return 0 })) },
		"split":         func(f flow.Flow[int]) flow.Pipeline { a, b := f.Split(even); return slow(flow.Merge(a, b)) },
		"partition":     func(f flow.Flow[int]) flow.Pipeline { return slow(flow.Merge(f.Partition(3, key)...)) },
		"balance":       func(f flow.Flow[int]) flow.Pipeline { return slow(flow.Merge(f.Balance(3)...)) },
		"mergepriority": func(f flow.Flow[int]) flow.Pipeline { return slow(flow.MergePriority(none(), f)) },
		"mergesorted":   func(f flow.Flow[int]) flow.Pipeline { return slow(f.MergeSorted(less, none())) },
		"interleave":    func(f flow.Flow[int]) flow.Pipeline { return slow(f.Interleave(2, none())) },
		"foreachbatch": func(f flow.Flow[int]) flow.Pipeline {
			return f.ForEachBatch(7, time.Second, func(ctx context.Context, _ []int) error { return tick(ctx, 0) })
		},
		"with": func(f flow.Flow[int]) flow.Pipeline { return slow(f.With(discard(none()))) },
		"deaf via": func(f flow.Flow[int]) flow.Pipeline {
			return slow(f.Via(onePasses(55, func() error { return errA })))
		},
		"panic in via": func(f flow.Flow[int]) flow.Pipeline {
			return slow(f.Via(onePasses(55, func() error { panic("boom") })))
		},
		"early via": func(f flow.Flow[int]) flow.Pipeline {
			return slow(f.Via(onePasses(55, nil)))
		},
	}
	addsUp(t, shapes)
}

// What a stage has in its hands when it ends is counted once, whether it is the current item, one that it keeps, or both, and so is what
// it has combined and not handed on.
func TestReportCountsWhatAStageHas(t *testing.T) {
	type outcome = func(out *stage.Out[int], kept []stage.Item[int]) error
	combined := func(kept []stage.Item[int]) stage.Item[int] { return stage.Combine(0, kept...) }
	for name, c := range map[string]struct {
		end               outcome
		keepsLast         bool
		failed, givenBack int64 // of the four items that it has taken; what it combines is one
	}{
		"fails":               {func(*stage.Out[int], []stage.Item[int]) error { return errA }, false, 1, 3},
		"fails, all kept":     {func(*stage.Out[int], []stage.Item[int]) error { return errA }, true, 1, 3},
		"panics":              {func(*stage.Out[int], []stage.Item[int]) error { panic("boom") }, false, 1, 3},
		"ends its goroutine":  {func(*stage.Out[int], []stage.Item[int]) error { runtime.Goexit(); return nil }, false, 1, 3},
		"returns holding":     {func(*stage.Out[int], []stage.Item[int]) error { return nil }, false, 0, 3},
		"combined, not given": {func(_ *stage.Out[int], k []stage.Item[int]) error { combined(k); return errA }, true, 1, 0},
		"kept ones are ended": {func(_ *stage.Out[int], k []stage.Item[int]) error { k[0].Done(); k[1].Fail(errA); return errA }, false, 1, 1},
		"is interrupted while emitting": {func(out *stage.Out[int], k []stage.Item[int]) error {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_ = out.Emit(context.Background(), stage.Item[int]{Value: 1})
			synctest.Wait() // the sink has it
			_ = out.Emit(context.Background(), stage.Item[int]{Value: 2})
			if err := out.Emit(ctx, combined(k)); !errors.Is(err, context.Canceled) {
				return errB
			}
			return errA
		}, true, 0, 2}, // and what waits in the edge
	} {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(4)
			b.stays, b.most = true, 1
			r := start(t, flow.FromItems(b).Via(stage.StageFunc(func(ctx context.Context, in *stage.In[int], out *stage.Out[int]) error {
				var kept []stage.Item[int]
				for range 4 {
					it, err := in.Next(ctx)
					if err != nil {
						return err
					}
					if it.Value < 3 || c.keepsLast {
						kept = append(kept, in.Keep(it))
					}
				}
				return c.end(out, kept)
			}), flow.Name("stage")).Edge(flow.Edge[int]{Capacity: 1}).ForEach(func(ctx context.Context, _ int) error {
				<-ctx.Done()
				time.Sleep(time.Second) // the edge ends meanwhile
				return nil
			}))
			if err := r.Wait(); err == nil {
				t.Fatal("Wait() = nil, want an error")
			}
			equal(t, "failed in the report", r.Report().Failed, c.failed)
			equal(t, "failed at the stage", stageStats(t, r, "stage").Failed, c.failed)
			equal(t, "given back", r.Report().GivenBack, c.givenBack)
		})
	}
}
