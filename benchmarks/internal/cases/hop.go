package cases

import (
	"context"
	"time"

	"github.com/weir-go/weir/benchmarks/internal/bench"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// Hop is row P1: what it costs to hand an item on.
func Hop() bench.Case {
	c := hop(0)
	c.Row, c.Figures, c.Items = "P1", bench.PerItem(0.15), 1_000_000
	c.What = "source, 3 Map stages and a sum, an edge of 1,024 in front of each"
	c.AllocItems, c.NoAllocs = amortised, true
	return c
}

// HopWork is row P1b: the same, with stages that do something. The work of an item is 300 ns, of which two cores have 150 ns at best: on a
// machine whose channels are fast that alone is more than the goal.
func HopWork() bench.Case {
	c := hop(100 * time.Nanosecond)
	c.Row, c.Items = "P1b", 300_000
	c.Figures = []bench.Figure{{Unit: "ns/item", Goal: 0.55, Target: 0.75, Noisy: true}}
	c.What = "P1 with 100 ns of work in each Map"
	return c
}

// HopWatched is row P1 watch: what it costs that a run looks for deadlocks.
func HopWatched() bench.Case {
	run := func(every time.Duration) func(n int) bench.Trial {
		return func(n int) bench.Trial {
			var t total
			p := hopPipeline(n, addOne, t.push).OnDeadlock(flow.DeadlockConfig{Interval: every})
			return bench.Trial{
				Run:    func() error { return p.Run(context.Background()) },
				Verify: func() error { return t.verify(int64(n), sumTo(int64(n))+3*int64(n), true) },
			}
		}
	}
	return bench.Case{
		Row: "P1 watch", Figures: bench.PerNoisyItem(1.03), Items: 3_000_000,
		What: "P1, looked at for deadlocks every 10 ms", Against: "the same, not looked at",
		Weir: run(10 * time.Millisecond), Baseline: run(-1),
	}
}

func hop(work time.Duration) bench.Case {
	return bench.Case{
		Against: "a goroutine for each stage, channels of 1,024",
		Weir: func(n int) bench.Trial {
			var t total
			p := hopPipeline(n, busy(work), t.push)
			return bench.Trial{
				Run:    func() error { return p.Run(context.Background()) },
				Verify: func() error { return t.verify(int64(n), sumTo(int64(n))+3*int64(n), true) },
			}
		},
		Baseline: func(n int) bench.Trial {
			var t total
			fn := busy(work)
			return bench.Trial{
				Run: func() error {
					ch := generate(n)
					for range 3 {
						ch = mapChan(ch, fn)
					}
					for v := range ch {
						t.add(v)
					}
					return nil
				},
				Verify: func() error { return t.verify(int64(n), sumTo(int64(n))+3*int64(n), true) },
			}
		},
	}
}

// hopPipeline sends the numbers below n through three Maps, and edges of 1,024 between all of them, to push.
func hopPipeline(n int, fn func(int64) int64, push func(context.Context, []int64) error) flow.Pipeline {
	return hopFrom(numbers(n), fn, push)
}

func hopFrom(src stage.Source[int64], fn func(int64) int64, push func(context.Context, []int64) error) flow.Pipeline {
	return flow.From(src).
		Buffer(edge, flow.Block).Map(fn).
		Buffer(edge, flow.Block).Map(fn).
		Buffer(edge, flow.Block).Map(fn).
		Buffer(edge, flow.Block).To(stage.SinkFunc(push))
}

// generate sends the numbers below n.
func generate(n int) <-chan int64 {
	ch := make(chan int64, edge)
	go func() {
		defer close(ch)
		for v := range int64(n) {
			ch <- v
		}
	}()
	return ch
}

// mapChan is a stage made of a goroutine.
func mapChan(in <-chan int64, fn func(int64) int64) <-chan int64 {
	out := make(chan int64, edge)
	go func() {
		defer close(out)
		for v := range in {
			out <- fn(v)
		}
	}()
	return out
}
