package flow_test

import (
	"context"
	"errors"
	"testing"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

func TestWithRunsBothHalvesToTheirEnds(t *testing.T) {
	for name, next := range map[string]func(flow.Flow[int]) flow.Flow[int]{
		"fused": func(f flow.Flow[int]) flow.Flow[int] { return f.Map(func(v int) int { return v }) },
		"edge":  func(f flow.Flow[int]) flow.Flow[int] { return f.Buffer(4, flow.Block) },
	} {
		inBubble(t, name, func(t *testing.T) {
			ch := make(chan int)
			sum, err := next(flow.FromChan(ch).With(flow.FromSlice(ints(100)).ToChan(ch))).
				Reduce(t.Context(), 0, func(a, v int) int { return a + v })
			must(t, err)
			equal(t, "sum", sum, 4950)
		})
	}
}

func TestAnErrorInOneHalfStopsTheOther(t *testing.T) {
	boom := errors.New("boom")
	fails := func(context.Context, int) error { return boom }
	stays := flow.From(stage.SourceFunc[int](blocked))
	inBubble(t, "beside", func(t *testing.T) {
		wantStage(t, stays.With(flow.FromSlice(ints(3)).ForEach(fails, flow.Name("side"))).To(stage.Discard[int]()).Run(t.Context()), "side")
	})
	stays = flow.From(stage.SourceFunc[int](blocked))
	inBubble(t, "main", func(t *testing.T) {
		wantStage(t, flow.FromSlice(ints(3)).With(stays.To(stage.Discard[int]())).ForEach(fails, flow.Name("main")).Run(t.Context()), "main")
	})
}

func TestWithIsCheckedLikeTheRest(t *testing.T) {
	side := flow.FromSlice(ints(1)).To(stage.Discard[int]())
	for text, p := range map[string]flow.Pipeline{
		"size must be 1 to 2147483647, got 0": flow.FromSlice(ints(1)).With(flow.FromSlice(ints(1)).Batch(0, 0).To(stage.Discard[[]int]())).To(stage.Discard[int]()),
		"the pipeline has no sink":            flow.FromSlice(ints(1)).With(flow.Pipeline{}).To(stage.Discard[int]()),
		"it is in the pipeline twice":         flow.Join(side, flow.FromSlice(ints(1)).With(side).To(stage.Discard[int]())),
	} {
		wantText(t, p.Check(), text)
	}
}
