package cases

import (
	"context"
	"sync"
	"time"

	"github.com/weir-go/weir/benchmarks/internal/bench"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// workers is how many goroutines a pool has.
const workers = 16

// ParallelWork is row P3: 2 us of CPU an item.
func ParallelWork(ordered bool) bench.Case {
	c := parallel(2*time.Microsecond, ordered)
	c.Items = 60_000
	if ordered {
		c.Row, c.What, c.Figures = "P3 ordered", "Parallel 16 between edges of 1,024, 2 us of CPU an item, in order", bench.PerNoisyItem(1.1)
	} else {
		c.Row, c.What, c.Figures = "P3 unordered", "Parallel 16 between edges of 1,024, 2 us of CPU an item, unordered", bench.PerNoisyItem(1.0)
	}
	return c
}

// Parallel is row P3b: what the pool itself costs.
func Parallel(ordered bool) bench.Case {
	c := parallel(0, ordered)
	c.Items, c.AllocItems = 300_000, amortised/4
	if ordered {
		c.Row, c.What, c.Figures = "P3b ordered", "Parallel 16 between edges of 1,024, no work, in order", bench.PerItem(1.0)
	} else {
		c.Row, c.What, c.Figures = "P3b unordered", "Parallel 16 between edges of 1,024, no work, unordered", bench.PerItem(0.6)
	}
	return c
}

func parallel(work time.Duration, ordered bool) bench.Case {
	return bench.Case{
		Against: "16 goroutines over channels of 1,024, unordered",
		Weir: func(n int) bench.Trial {
			var t total
			fn := busy(work)
			var opts []flow.ParallelOption
			if !ordered {
				opts = append(opts, flow.Unordered)
			}
			p := flow.From(numbers(n)).Buffer(edge, flow.Block).
				Parallel(workers, func(_ context.Context, v int64) (int64, error) { return fn(v), nil }, opts...).
				Buffer(edge, flow.Block).To(stage.SinkFunc(t.push))
			return bench.Trial{
				Run:    func() error { return p.Run(context.Background()) },
				Verify: func() error { return t.verify(int64(n), sumTo(int64(n))+int64(n), ordered) },
			}
		},
		Baseline: func(n int) bench.Trial {
			var t total
			fn := busy(work)
			return bench.Trial{
				Run: func() error {
					for v := range pool(n, fn) {
						t.add(v)
					}
					return nil
				},
				Verify: func() error { return t.verify(int64(n), sumTo(int64(n))+int64(n), false) },
			}
		},
	}
}

// pool is the usual goroutine pool: one channel of jobs, one of results.
func pool(n int, fn func(int64) int64) <-chan int64 {
	jobs, results := make(chan int64, edge), make(chan int64, edge)
	go func() {
		defer close(jobs)
		for v := range int64(n) {
			jobs <- v
		}
	}()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for v := range jobs {
				results <- fn(v)
			}
		})
	}
	go func() {
		wg.Wait()
		close(results)
	}()
	return results
}
