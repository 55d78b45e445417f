package flow_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// sum adds up what a report counts.
func sum(r flow.Report) int64 {
	return r.Done + r.Skipped + r.Failed + r.GivenBack + r.Dropped + r.Unknown
}

// The report adds up: in a graph that neither filters nor multiplies, what the source gave is done, skipped, failed, given back,
// dropped or unknown, however the run ends.
func TestReportAddsUp(t *testing.T) {
	skip := flow.OnError(flow.Skip)
	shapes := map[string]func(flow.Flow[int]) flow.Pipeline{
		"fused": func(f flow.Flow[int]) flow.Pipeline { return discard(f.Map(twice).Tap(func(int) {}).TryMap(same)) },
		"edges": func(f flow.Flow[int]) flow.Pipeline {
			return discard(f.Buffer(7, flow.Block).Map(twice).Buffer(3, flow.Block))
		},
		"parallel": func(f flow.Flow[int]) flow.Pipeline { return discard(f.Parallel(3, failAt(70, errA), skip)) },
		"unordered": func(f flow.Flow[int]) flow.Pipeline {
			return discard(f.Parallel(3, failAt(70, errA), skip, flow.Unordered))
		},
		"drop newest": func(f flow.Flow[int]) flow.Pipeline { return f.Buffer(5, flow.DropNewest).ForEach(tick) },
		"drop oldest": func(f flow.Flow[int]) flow.Pipeline { return f.Buffer(5, flow.DropOldest).ForEach(tick) },
		"expired": func(f flow.Flow[int]) flow.Pipeline {
			return f.Edge(flow.Edge[int]{Capacity: 50, MaxWait: 20 * time.Millisecond}).ForEach(tick)
		},
		"gather":        func(f flow.Flow[int]) flow.Pipeline { return f.To(stage.Discard[int](), flow.Gather(7, time.Second)) },
		"workers":       func(f flow.Flow[int]) flow.Pipeline { return f.ForEach(tick, flow.Workers(3)) },
		"merge":         func(f flow.Flow[int]) flow.Pipeline { return discard(flow.Merge(f, flow.FromSlice[int](nil))) },
		"take":          func(f flow.Flow[int]) flow.Pipeline { return discard(f.Buffer(9, flow.Block).Take(60)) },
		"failing":       func(f flow.Flow[int]) flow.Pipeline { return discard(f.Buffer(9, flow.Block).TryMap(failAt(55, errA))) },
		"failing sink":  func(f flow.Flow[int]) flow.Pipeline { return f.To(&pushLog{answer: failingFrom(55)}) },
		"skipping sink": func(f flow.Flow[int]) flow.Pipeline { return f.To(&pushLog{answer: failingFrom(55)}, skip) },
		"panic in map": func(f flow.Flow[int]) flow.Pipeline {
			return discard(f.Buffer(9, flow.Block).Map(func(i int) int {
				if i == 55 {
					panic("boom")
				}
				return i
			}))
		},
		"panic in parallel": func(f flow.Flow[int]) flow.Pipeline {
			return discard(f.Parallel(3, func(_ context.Context, i int) (int, error) {
				if i == 55 {
					panic("boom")
				}
				return i, nil
			}))
		},
	}
	addsUp(t, shapes)
}

// addsUp runs each shape to its end, stops it and drains it in the middle, and checks that the report has every item of the source once.
func addsUp(t *testing.T, shapes map[string]func(flow.Flow[int]) flow.Pipeline) {
	t.Helper()
	for name, shape := range shapes {
		for end, finish := range map[string]func(*flow.Run){
			"end":   func(*flow.Run) {},
			"stop":  func(r *flow.Run) { time.Sleep(35 * time.Millisecond); r.Stop() },
			"drain": func(r *flow.Run) { time.Sleep(35 * time.Millisecond); _ = r.Drain(context.Background()) },
		} {
			inBubble(t, name+", "+end, func(t *testing.T) {
				n := 0
				src := flow.FromFunc(func(context.Context) (int, error) {
					if n == 100 {
						return 0, stage.ErrEnd
					}
					if n++; n%30 == 0 {
						time.Sleep(10 * time.Millisecond)
					}
					return n - 1, nil
				}, flow.Name("src"))
				r := start(t, shape(src))
				finish(r)
				_ = r.Wait()
				out := stageStats(t, r, "src").Out
				if got := sum(r.Report()); got != out || out != int64(n) {
					t.Fatalf("the source gave %d items (%d by its count), the report says %d: %+v", n, out, got, r.Report())
				}
			})
		}
	}
}

func tick(ctx context.Context, _ int) error { return nap(ctx, time.Millisecond) }

func failingFrom(k int) func([]int) error {
	return func(vs []int) error {
		if vs[len(vs)-1] >= k && vs[0] <= k {
			return errA
		}
		return nil
	}
}

// S30: stages and edges are counted, fused ones too: in, out, skipped, failed.
func TestS30Counts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, flow.FromSlice(ints(100), flow.Name("src")).
			Filter(even, flow.Name("even")).
			FlatMap(func(i int) []int { return []int{i, i} }, flow.Name("two")).
			Skip(10, flow.Name("skip")).
			TryMap(failAt(40, errA), flow.Name("try"), flow.OnError(flow.Skip)).
			Buffer(5, flow.Block, flow.Name("line")).
			Batch(9, 0, flow.Name("nine")).
			To(stage.Discard[[]int](), flow.Name("sink")))
		must(t, r.Wait())
		for _, want := range []flow.StageStats{
			{Name: "src", Out: 100},
			{Name: "even", In: 100, Out: 50},
			{Name: "two", In: 50, Out: 100},
			{Name: "skip", In: 100, Out: 90},
			{Name: "try", In: 90, Out: 88, Skipped: 2},
			{Name: "nine", In: 88, Out: 10},
			{Name: "sink", In: 10, Out: 10},
		} {
			st := stageStats(t, r, want.Name)
			if st.In != want.In || st.Out != want.Out || st.Skipped != want.Skipped || st.Failed != 0 {
				t.Errorf("%s: in %d out %d skipped %d failed %d, want %d %d %d 0", st.Name, st.In, st.Out, st.Skipped, st.Failed, want.In, want.Out, want.Skipped)
			}
		}
		e := edgeStats(t, r, "line")
		if e.In != 88 || e.Out != 88 || e.Depth != 0 || e.MaxDepth > 5 {
			t.Errorf("line: %+v", e)
		}
	})
}

// S30: how long a producer was blocked and a consumer starved, and how long items waited, in exact virtual time.
func TestS30TimesOfAnEdge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		r := start(t, flow.FromFunc(func(ctx context.Context) (int, error) {
			if n++; n > 6 {
				return 0, stage.ErrEnd
			}
			return n, nil
		}).Buffer(2, flow.Block, flow.Name("line")).ForEach(func(ctx context.Context, _ int) error {
			return nap(ctx, 10*time.Second)
		}))
		must(t, r.Wait())
		e := edgeStats(t, r, "line")
		equal(t, "blocked", e.Blocked, 40*time.Second) // until the last has gone in and the end is seen
		equal(t, "starved", e.Starved, 0)
		equal(t, "longest depth", e.MaxDepth, 2)
		equal(t, "elapsed", r.Stats().Elapsed, 60*time.Second)
	})
}
