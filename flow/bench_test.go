package flow_test

import (
	"context"
	"sync"
	"testing"

	"github.com/weir-go/weir/flow"
)

// benchItems is how many items a turn of a benchmark has. What a run costs once is spread over them.
const benchItems = 1 << 16

// benchFlow measures what the operators cost an item, from a source that counts to a sink that counts.
func benchFlow(b *testing.B, name string, operators func(flow.Flow[int]) flow.Flow[int], opts ...flow.SinkOption) {
	b.Helper()
	run := pushes(operators, opts...)
	benchTurns(b, name, func() error { return run(benchItems) })
}

// benchTurns measures turns of benchItems items.
func benchTurns(b *testing.B, name string, turn func() error) {
	b.Helper()
	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := turn(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*benchItems), "ns/item")
	})
}

// benchLoop measures a function on each of the numbers, called through a variable: what a fused step comes down to.
func benchLoop(b *testing.B, fn func(int)) {
	b.Helper()
	benchTurns(b, "loop", func() error {
		for i := range benchItems {
			fn(i)
		}
		return nil
	})
}

// benchChannels measures the numbers on their way through n channels, with a goroutine behind each.
func benchChannels(b *testing.B, n int) {
	b.Helper()
	benchTurns(b, "channels", func() error {
		first := make(chan int, 1024)
		go func() {
			defer close(first)
			for i := range benchItems {
				first <- i
			}
		}()
		ch := first
		for range n - 1 {
			in, out := ch, make(chan int, 1024)
			go func() {
				defer close(out)
				for v := range in {
					out <- twice(v)
				}
			}()
			ch = out
		}
		var got tally
		for range ch {
			got.n++
		}
		return got.want(benchItems)
	})
}

func BenchmarkMap(b *testing.B) {
	benchFlow(b, "weir", func(f flow.Flow[int]) flow.Flow[int] { return f.Map(twice) })
	fn, sum := twice, 0
	benchLoop(b, func(i int) { sum += fn(i) })
}

func BenchmarkFilter(b *testing.B) {
	all := func(int) bool { return true }
	benchFlow(b, "weir", func(f flow.Flow[int]) flow.Flow[int] { return f.Filter(all) })
	kept := 0
	benchLoop(b, func(i int) {
		if all(i) {
			kept++
		}
	})
}

func BenchmarkTryMap(b *testing.B) {
	benchFlow(b, "weir", func(f flow.Flow[int]) flow.Flow[int] { return f.TryMap(same) })
	ctx, fn, sum := context.Background(), same, 0
	benchLoop(b, func(i int) {
		if v, err := fn(ctx, i); err == nil {
			sum += v
		}
	})
}

func BenchmarkFlatMap(b *testing.B) {
	benchFlow(b, "weir", func(f flow.Flow[int]) flow.Flow[int] {
		one := make([]int, 1)
		return f.FlatMap(func(i int) []int {
			one[0] = i
			return one
		})
	})
	benchLoop(b, func(int) {})
}

func BenchmarkBuffer(b *testing.B) {
	for _, edges := range []int{1, 4} {
		b.Run(map[int]string{1: "one edge", 4: "four edges"}[edges], func(b *testing.B) {
			benchFlow(b, "weir", func(f flow.Flow[int]) flow.Flow[int] {
				for range edges - 1 {
					f = f.Buffer(1024, flow.Block).Map(twice)
				}
				return f.Buffer(1024, flow.Block)
			})
			benchChannels(b, edges)
		})
	}
}

func BenchmarkParallel(b *testing.B) {
	const workers = 16
	for _, capacity := range []int{flow.DefaultCapacity, 1024} {
		b.Run(map[bool]string{true: "edges of 1,024", false: "edges of 64"}[capacity == 1024], func(b *testing.B) {
			benchFlow(b, "ordered", func(f flow.Flow[int]) flow.Flow[int] {
				return f.Buffer(capacity, flow.Block).Parallel(workers, same).Buffer(capacity, flow.Block)
			})
			benchFlow(b, "unordered", func(f flow.Flow[int]) flow.Flow[int] {
				return f.Buffer(capacity, flow.Block).Parallel(workers, same, flow.Unordered).Buffer(capacity, flow.Block)
			})
			benchTurns(b, "pool", func() error { return benchPool(workers, capacity) })
		})
	}
}

// benchPool is a goroutine pool over channels.
func benchPool(workers, capacity int) error {
	jobs, results := make(chan int, capacity), make(chan int, capacity)
	go func() {
		defer close(jobs)
		for i := range benchItems {
			jobs <- i
		}
	}()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for v := range jobs {
				u, _ := same(context.Background(), v)
				results <- u
			}
		})
	}
	go func() {
		wg.Wait()
		close(results)
	}()
	var got tally
	for range results {
		got.n++
	}
	return got.want(benchItems)
}

func BenchmarkMerge(b *testing.B) {
	benchTurns(b, "weir", func() error {
		half := benchItems / 2
		return counted(flow.Merge(flow.From(counting(half)), flow.From(counting(half))), benchItems)
	})
	benchChannels(b, 1)
}

func BenchmarkBroadcast(b *testing.B) {
	benchTurns(b, "weir", func() error {
		branches := flow.From(counting(benchItems)).Broadcast(2)
		return flow.Join(branches[0].To(&tally{}), branches[1].To(&tally{})).Run(context.Background())
	})
	benchChannels(b, 1)
}

func BenchmarkGather(b *testing.B) {
	benchFlow(b, "weir", func(f flow.Flow[int]) flow.Flow[int] { return f }, flow.Gather(256, 0))
	benchChannels(b, 1)
}

func BenchmarkBatch(b *testing.B) {
	benchTurns(b, "weir", func() error {
		return flow.From(counting(benchItems)).Batch(256, 0).
			ForEach(func(context.Context, []int) error { return nil }).Run(context.Background())
	})
	benchChannels(b, 1)
}

func BenchmarkInletOffer(b *testing.B) {
	for _, onFull := range []flow.Policy{flow.DropNewest, flow.DropOldest, flow.Reject} {
		want := map[flow.Policy]error{flow.DropNewest: flow.ErrDropped, flow.Reject: errFull}[onFull]
		benchTurns(b, onFull.String(), func() error { return offers(onFull, benchItems, want) })
	}
	ch := make(chan int, 16)
	for range cap(ch) {
		ch <- 0
	}
	dropped := 0
	benchLoop(b, func(i int) {
		select {
		case ch <- i:
		default:
			dropped++
		}
	})
}

// BenchmarkRun is what a run costs that hardly does anything. An item of it is a run.
func BenchmarkRun(b *testing.B) {
	values := ints(10)
	for _, c := range []struct {
		name string
		p    flow.Pipeline
	}{
		{"fused", flow.FromSlice(values).Map(twice).Map(twice).Map(twice).To(&tally{})},
		{"three edges", flow.FromSlice(values).Buffer(64, flow.Block).Map(twice).Buffer(64, flow.Block).Map(twice).
			Buffer(64, flow.Block).To(&tally{})},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.p.Run(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+", graph only", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.p.Check(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
