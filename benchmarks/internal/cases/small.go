package cases

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/weir-go/weir/benchmarks/internal/bench"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// few is how many items a small run has.
const few = 10

// Small is row P10: what it costs to start and end a run of five stages, as one writes them with either. An item of this case is
// a whole run.
func Small() bench.Case {
	return small("P10", "run of 10 items through 5 stages", 2.0, func() func() error {
		var t total
		p := flow.FromSlice(fewNumbers()).Map(addOne).Map(addOne).Map(addOne).To(stage.SinkFunc(t.push))
		return func() error { return smallRun(p, &t) }
	})
}

// SmallEdges is row P10 with an edge in front of each stage, as nobody would write it: each edge has a queue with statistics and
// a worker to make, and each chunk to wake the next goroutine. The target keeps that from growing.
func SmallEdges() bench.Case {
	return small("P10 edges", "the same 5 stages in 5 goroutines", 6.0, func() func() error {
		var t total
		p := smallEdges(&t)
		return func() error { return smallRun(p, &t) }
	})
}

// SmallBuilt is row P10 with a blueprint made for each run, which programs do once. It has no target.
func SmallBuilt() bench.Case {
	return small("P10 built", "P10 edges, and the blueprint is made for each run", 0, func() func() error {
		return func() error {
			var t total
			return smallRun(smallEdges(&t), &t)
		}
	})
}

func small(row, what string, target float64, prepare func() func() error) bench.Case {
	return bench.Case{
		Row: row, What: what, Against: "errgroup and channels, 5 goroutines",
		Figures: []bench.Figure{{Unit: "ns/run", Target: target}}, Items: 4_000, AllocItems: 4_000,
		Weir:     repeated(prepare),
		Baseline: repeated(func() func() error { return smallGroup }),
	}
}

// repeated makes a trial of n runs.
func repeated(prepare func() func() error) bench.Side {
	return func(n int) bench.Trial {
		run := prepare()
		return bench.Trial{Run: func() error {
			for i := range n {
				if err := run(); err != nil {
					return fmt.Errorf("run %d: %w", i, err)
				}
			}
			return nil
		}}
	}
}

func fewNumbers() []int64 {
	vs := make([]int64, few)
	for i := range vs {
		vs[i] = int64(i)
	}
	return vs
}

func smallEdges(t *total) flow.Pipeline {
	return flow.FromSlice(fewNumbers()).
		Buffer(flow.DefaultCapacity, flow.Block).Map(addOne).
		Buffer(flow.DefaultCapacity, flow.Block).Map(addOne).
		Buffer(flow.DefaultCapacity, flow.Block).Map(addOne).
		Buffer(flow.DefaultCapacity, flow.Block).To(stage.SinkFunc(t.push))
}

func smallRun(p flow.Pipeline, t *total) error {
	*t = total{}
	if err := p.Run(context.Background()); err != nil {
		return err
	}
	return t.verify(few, sumTo(few)+3*few, true)
}

// smallGroup is the pipeline that the documentation of errgroup and the blog post on pipelines teach.
func smallGroup() error {
	g, ctx := errgroup.WithContext(context.Background())
	first := make(chan int64, flow.DefaultCapacity)
	g.Go(func() error {
		defer close(first)
		for _, v := range fewNumbers() {
			if err := send(ctx, first, v); err != nil {
				return err
			}
		}
		return nil
	})
	var ch <-chan int64 = first
	for range 3 {
		ch = smallStage(ctx, g, ch)
	}
	var t total
	g.Go(func() error {
		for v := range ch {
			t.add(v)
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return t.verify(few, sumTo(few)+3*few, true)
}

func smallStage(ctx context.Context, g *errgroup.Group, in <-chan int64) <-chan int64 {
	out := make(chan int64, flow.DefaultCapacity)
	g.Go(func() error {
		defer close(out)
		for v := range in {
			if err := send(ctx, out, addOne(v)); err != nil {
				return err
			}
		}
		return nil
	})
	return out
}

// send sends v unless ctx ends first.
func send(ctx context.Context, ch chan<- int64, v int64) error {
	select {
	case ch <- v:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
