package stagetest_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/weir-go/weir/flow"
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

// steps is a stage of one's own: how far each value is from the one before it.
type steps struct{}

func (steps) Run(ctx context.Context, in *stage.In[int], out *stage.Out[int]) error {
	last := 0
	for it, err := range in.All(ctx) {
		if err != nil {
			return err
		}
		if err := out.Emit(ctx, it.With(it.Value-last)); err != nil {
			return err
		}
		last = it.Value
	}
	return nil
}

func TestSteps(t *testing.T) {
	stagetest.TestStage(t, stagetest.StageOptions[int, int]{
		Item: func(i int) int { return i * i },
		Want: func(in []int) (out []int) {
			for i := range in {
				out = append(out, max(2*i-1, 0))
			}
			return out
		},
		Holds: 1, Bubble: true,
	}, func(*testing.T, stagetest.Work) stage.Stage[int, int] { return steps{} })
}

// directory looks names up, and names is an operator of one's own, for Flow.Apply.
type directory func(ctx context.Context, id int) (string, error)

func (d directory) names(f flow.Flow[int]) flow.Flow[string] { return f.Parallel(4, d) }

func TestNames(t *testing.T) {
	stagetest.TestOperator(t, stagetest.StageOptions[int, string]{
		Item: func(i int) int { return i },
		Want: func(in []int) (out []string) {
			for _, id := range in {
				out = append(out, strconv.Itoa(id))
			}
			return out
		},
		Workers: 4, Holds: 16, Bubble: true,
	}, func(_ *testing.T, f flow.Flow[int], work stagetest.Work) flow.Flow[string] {
		return f.Apply(directory(func(ctx context.Context, id int) (string, error) { return strconv.Itoa(id), work(ctx) }).names)
	})
}

// lines is an edge with settings of one's own: a hundred lines, and no more than a megabyte.
func lines() flow.Edge[string] {
	return flow.Edge[string]{
		Capacity: 100, OnFull: flow.DropOldest,
		MaxWeight: 1 << 20, Weight: func(s string) int64 { return int64(len(s)) },
	}
}

func TestLines(t *testing.T) {
	stagetest.TestEdge(t, stagetest.EdgeOptions[string]{
		Item:   strconv.Itoa,
		Heavy:  func() string { return strings.Repeat("x", 2<<20) },
		Bubble: true,
	}, func(*testing.T) flow.Edge[string] { return lines() })
}

// speller is a publisher of one's own, which has its values at hand: the letters of a word.
type speller string

func (s speller) Subscribe(_ context.Context, to stage.Subscriber[string]) (stage.Subscription, error) {
	return &spelling{to: to, left: string(s)}, nil
}

type spelling struct {
	mu    sync.Mutex
	to    stage.Subscriber[string] // nil when it is over
	left  string
	asked int64
	bad   bool // a request was
	busy  bool // somebody makes the calls
}

func (s *spelling) Request(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bad = s.bad || n < 1
	s.asked += min(max(n, 0), math.MaxInt64-s.asked)
	if s.busy {
		return // whoever it is goes on with what was requested here
	}
	s.busy = true
	for call := s.next(); call != nil; call = s.next() {
		s.mu.Unlock() // the subscriber may request inside
		call()
		s.mu.Lock()
	}
	s.busy = false
}

// next returns the call of the subscriber that is due, if any.
func (s *spelling) next() func() {
	to := s.to
	switch {
	case to == nil:
		return nil
	case s.bad:
		s.to = nil
		return func() { to.Fail(errors.New("fewer letters than one requested")) }
	case s.left == "":
		s.to = nil
		return to.Complete
	case s.asked == 0:
		return nil
	}
	letter := s.left[:1]
	s.left = s.left[1:]
	s.asked--
	return func() {
		if to.Deliver(letter) == 0 {
			s.Cancel()
		}
	}
}

func (s *spelling) Cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = nil
}

func TestSpeller(t *testing.T) {
	const word = "backwater"
	stagetest.TestPublisher(t, stagetest.PublisherOptions[string]{Want: strings.Split(word, ""), Bubble: true},
		func(*testing.T) stage.Publisher[string] { return speller(word) })
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

func ExampleTestStage() {
	_ = func(t *testing.T) {
		stagetest.TestStage(t, stagetest.StageOptions[int, int]{
			Item:  func(i int) int { return i + 1 },
			Want:  func(in []int) []int { return slices.Repeat([]int{1}, len(in)) },
			Holds: 1, Bubble: true,
		}, func(*testing.T, stagetest.Work) stage.Stage[int, int] { return steps{} })
	}
	// Output:
}

func ExampleTestOperator() {
	_ = func(t *testing.T) {
		stagetest.TestOperator(t, stagetest.StageOptions[int, int]{
			Item:  func(i int) int { return i },
			Want:  func(in []int) []int { return in },
			Holds: 1, Bubble: true,
		}, func(_ *testing.T, f flow.Flow[int], work stagetest.Work) flow.Flow[int] {
			return f.TryMap(func(ctx context.Context, v int) (int, error) { return v, work(ctx) })
		})
	}
	// Output:
}

func ExampleTestEdge() {
	_ = func(t *testing.T) {
		stagetest.TestEdge(t, stagetest.EdgeOptions[string]{Item: strconv.Itoa, Bubble: true},
			func(*testing.T) flow.Edge[string] { return lines() })
	}
	// Output:
}

func ExampleTestPublisher() {
	_ = func(t *testing.T) {
		stagetest.TestPublisher(t, stagetest.PublisherOptions[string]{Want: []string{"w", "e", "i", "r"}, Bubble: true},
			func(*testing.T) stage.Publisher[string] { return speller("weir") })
	}
	// Output:
}
