package stagetest_test

import (
	"context"
	"testing"

	"github.com/weir-go/weir/stage"
	"github.com/weir-go/weir/stage/stagetest"
)

// countdown is a source of one's own.
type countdown struct{ left int }

func (c *countdown) Pull(ctx context.Context, dst []int) (int, error) {
	switch {
	case c.left == 0:
		return 0, stage.ErrEnd
	case len(dst) == 0:
		return 0, nil
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	}
	dst[0] = c.left
	c.left--
	return 1, nil
}

func TestCountdown(t *testing.T) {
	stagetest.TestSource(t, stagetest.SourceOptions[int]{Want: []int{3, 2, 1}, Bubble: true},
		func(*testing.T) stage.Source[int] { return &countdown{left: 3} })
}

// tally is a sink of one's own.
type tally struct{ words []string }

func (c *tally) Push(ctx context.Context, words []string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.words = append(c.words, words...)
	return nil
}

func TestTally(t *testing.T) {
	var c *tally
	stagetest.TestSink(t, stagetest.SinkOptions[string]{
		Items: []string{"to", "be", "or", "not"},
		Taken: func() []string { return c.words },
	}, func(*testing.T) stage.Sink[string] {
		c = new(tally)
		return c
	})
}

func ExampleTestSource() {
	_ = func(t *testing.T) {
		stagetest.TestSource(t, stagetest.SourceOptions[int]{Want: []int{3, 2, 1}, Bubble: true},
			func(*testing.T) stage.Source[int] { return &countdown{left: 3} })
	}
	// Output:
}

func ExampleTestSink() {
	_ = func(t *testing.T) {
		var c *tally
		stagetest.TestSink(t, stagetest.SinkOptions[string]{
			Items: []string{"to", "be", "or", "not"},
			Taken: func() []string { return c.words },
		}, func(*testing.T) stage.Sink[string] {
			c = new(tally)
			return c
		})
	}
	// Output:
}
