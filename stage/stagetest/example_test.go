package stagetest_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
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

func ExampleTestPublisher() {
	_ = func(t *testing.T) {
		stagetest.TestPublisher(t, stagetest.PublisherOptions[string]{Want: []string{"w", "e", "i", "r"}, Bubble: true},
			func(*testing.T) stage.Publisher[string] { return speller("weir") })
	}
	// Output:
}
