package stagetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/weir-go/weir/stage"
)

// shelf is a sink that keeps the rules: it holds one item back until the next Push or Close.
type shelf struct {
	taken, held []int
	closeErr    error
	closed      bool
}

func (s *shelf) Push(ctx context.Context, items []int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.taken = append(s.taken, s.held...)
	s.taken = append(s.taken, items[:len(items)-1]...)
	s.held = []int{items[len(items)-1]}
	return nil
}

func (s *shelf) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	if s.closeErr == nil {
		s.taken = append(s.taken, s.held...)
	}
	return s.closeErr
}

type pushFunc = func(context.Context, []int) error

// altered is a shelf with another Push or Close.
type altered struct {
	*shelf
	push  pushFunc
	close func() error
}

func (a altered) Push(ctx context.Context, items []int) error { return a.push(ctx, items) }

func (a altered) Close() error {
	if a.close != nil {
		return a.close()
	}
	return a.shelf.Close()
}

type sinkTwin struct {
	rule, breaks string
	opts         SinkOptions[int]
	alter        func(s *shelf) (pushFunc, func() error)
}

var sinkTwins = []sinkTwin{
	{rule: "K1", breaks: "loses an item", alter: func(s *shelf) (pushFunc, func() error) {
		return func(ctx context.Context, items []int) error {
			if i := slices.Index(items, 5); i >= 0 {
				items = slices.Delete(slices.Clone(items), i, i+1)
			}
			if len(items) == 0 {
				return nil
			}
			return s.Push(ctx, items)
		}, nil
	}},
	{rule: "K1", breaks: "takes an item twice", alter: func(s *shelf) (pushFunc, func() error) {
		return func(ctx context.Context, items []int) error {
			return s.Push(ctx, append(slices.Clip(items), items[0]))
		}, nil
	}},
	{rule: "K1", breaks: "fails although healthy", alter: func(*shelf) (pushFunc, func() error) {
		return func(context.Context, []int) error { return errBoom }, nil
	}},
	{rule: "K1", breaks: "panics", alter: func(*shelf) (pushFunc, func() error) {
		return func(context.Context, []int) error { panic(errBoom) }, nil
	}},
	{rule: "K1", breaks: "hides that it is broken", opts: SinkOptions[int]{
		Broken: func(*testing.T) stage.Sink[int] { return stage.Discard[int]() },
	}},
	{rule: "K1", breaks: "lists an index beyond the push", opts: SinkOptions[int]{Broken: refuses(99)}},
	{rule: "K1", breaks: "lists an index twice", opts: SinkOptions[int]{Broken: refuses(1, 1)}},
	{rule: "K1", breaks: "lists nothing", opts: SinkOptions[int]{Broken: refuses()}},
	{rule: "K3", breaks: "keeps the slice", alter: func(s *shelf) (pushFunc, func() error) {
		var kept [][]int
		return func(_ context.Context, items []int) error {
				kept = append(kept, items)
				return nil
			}, func() error {
				s.taken = slices.Concat(kept...)
				return nil
			}
	}},
	{rule: "K3", breaks: "writes to the slice later", alter: func(s *shelf) (pushFunc, func() error) {
		var last []int
		return func(ctx context.Context, items []int) error {
			clear(last)
			last = items
			return s.Push(ctx, items)
		}, nil
	}},
	{rule: "K3", breaks: "sorts the slice", alter: func(s *shelf) (pushFunc, func() error) {
		return func(ctx context.Context, items []int) error {
			defer slices.Sort(items)
			return s.Push(ctx, items)
		}, nil
	}},
	{rule: "K3", breaks: "clears the slice where it fails", opts: SinkOptions[int]{
		Broken: func(*testing.T) stage.Sink[int] {
			return stage.SinkFunc(func(_ context.Context, items []int) error {
				clear(items)
				return errBoom
			})
		},
	}},
	{rule: "K4", breaks: "invents an error for a cancel", alter: func(s *shelf) (pushFunc, func() error) {
		return func(ctx context.Context, items []int) error {
			if ctx.Err() != nil {
				return errBoom
			}
			return s.Push(ctx, items)
		}, nil
	}},
	{rule: "K4", breaks: "takes the items and says that it gave up", alter: func(s *shelf) (pushFunc, func() error) {
		return func(ctx context.Context, items []int) error {
			_ = s.Push(context.WithoutCancel(ctx), items)
			return context.Cause(ctx)
		}, nil
	}},
	{rule: "K4", breaks: "drops the items and says nothing", alter: func(s *shelf) (pushFunc, func() error) {
		return func(ctx context.Context, items []int) error {
			_ = s.Push(ctx, items)
			return nil
		}, nil
	}},
	{rule: "K4", breaks: "is late", opts: SinkOptions[int]{Waiting: func(*testing.T) stage.Sink[int] {
		return stage.SinkFunc(func(ctx context.Context, _ []int) error {
			<-ctx.Done()
			time.Sleep(time.Second)
			return context.Cause(ctx)
		})
	}}},
	{rule: "K4", breaks: "is deaf", opts: SinkOptions[int]{Waiting: func(t *testing.T) stage.Sink[int] {
		t.Helper()
		released := make(chan struct{})
		t.Cleanup(func() { close(released) })
		return stage.SinkFunc(func(context.Context, []int) error {
			<-released
			return nil
		})
	}}},
	{
		rule: "K5", breaks: "does not allow the callers it promises", opts: SinkOptions[int]{Workers: 3},
		alter: func(s *shelf) (pushFunc, func() error) {
			busy := make(chan struct{}, 1)
			return func(ctx context.Context, items []int) error {
				select {
				case busy <- struct{}{}:
				default:
					return errBoom
				}
				time.Sleep(time.Millisecond)
				<-busy
				return s.Push(ctx, items)
			}, nil
		},
	},
	{rule: "K5", breaks: "belongs to a goroutine", alter: func(s *shelf) (pushFunc, func() error) {
		owner := ""
		return func(ctx context.Context, items []int) error {
			if id := goroutine(); owner == "" {
				owner = id
			} else if id != owner {
				return errBoom
			}
			return s.Push(ctx, items)
		}, nil
	}},
	{rule: "K6", breaks: "does not flush", alter: func(s *shelf) (pushFunc, func() error) {
		return s.Push, func() error { return nil }
	}},
	{rule: "K6", breaks: "flushes twice", alter: func(s *shelf) (pushFunc, func() error) {
		return s.Push, func() error {
			s.taken = append(s.taken, s.held...)
			return nil
		}
	}},
	{rule: "K6", breaks: "fails the second Close", alter: func(s *shelf) (pushFunc, func() error) {
		return s.Push, func() error {
			if s.closed {
				return errBoom
			}
			return s.Close()
		}
	}},
	{rule: "K6", breaks: "hides the error of its flush", opts: SinkOptions[int]{
		FailingFlush: func(*testing.T) stage.Sink[int] { return &shelf{} },
	}},
	{rule: "K6", breaks: "can't be closed although it has something to flush", opts: SinkOptions[int]{
		FailingFlush: func(*testing.T) stage.Sink[int] { return stage.Discard[int]() },
	}},
}

// refuses opens sinks that take all, and list items as failed.
func refuses(indices ...int) func(*testing.T) stage.Sink[int] {
	return func(*testing.T) stage.Sink[int] {
		return stage.SinkFunc(func(context.Context, []int) error {
			bad := new(stage.BatchError)
			for _, i := range indices {
				bad.Add(i, errBoom)
			}
			return bad
		})
	}
}

// checks are those of the kit for the twin.
func (tw sinkTwin) checks() []check {
	var s *shelf
	tw.opts.Items, tw.opts.Bubble = numbers, true
	tw.opts.Taken = func() []int { return s.taken }
	return newSinkKit(tw.opts, func(*testing.T) stage.Sink[int] {
		s = &shelf{}
		a := altered{shelf: s, push: s.Push}
		if tw.alter != nil {
			a.push, a.close = tw.alter(s)
		}
		return a
	}).checks()
}

func TestSinkTwinsAreCaught(t *testing.T) {
	for _, twin := range sinkTwins {
		t.Run(twin.rule+" "+twin.breaks, func(t *testing.T) {
			wantFinding(t, findingsOf(t, twin.checks(), twin.rule), twin.rule)
		})
	}
}

func TestAnItemThatABatchErrorHidesIsCaught(t *testing.T) {
	var s *shelf
	opts := SinkOptions[int]{
		Items: numbers, Bubble: true,
		Taken: func() []int { return s.taken },
		Broken: func(*testing.T) stage.Sink[int] {
			s = &shelf{}
			return refuses(1)(t)
		},
	}
	kit := newSinkKit(opts, func(*testing.T) stage.Sink[int] {
		s = &shelf{}
		return s
	})
	errs := findingsOf(t, kit.checks(), "K1")
	wantFinding(t, errs, "K1")
	if want := len(numbers) - 1; len(errs) != want {
		t.Fatalf("%d findings, want %d: one for each item that is not listed", len(errs), want)
	}
}

func TestAnItemThatIsListedAndTakenIsCaught(t *testing.T) {
	var s *shelf
	opts := SinkOptions[int]{
		Items: numbers, Bubble: true,
		Taken: func() []int { return s.taken },
		Broken: func(*testing.T) stage.Sink[int] {
			s = &shelf{}
			return stage.SinkFunc(func(_ context.Context, items []int) error {
				s.taken = append(s.taken, items...)
				var bad stage.BatchError
				bad.Add(2, errBoom)
				return &bad
			})
		},
	}
	kit := newSinkKit(opts, func(*testing.T) stage.Sink[int] {
		s = &shelf{}
		return s
	})
	errs := findingsOf(t, kit.checks(), "K1")
	wantFinding(t, errs, "K1")
	if len(errs) != 1 {
		t.Fatalf("%d findings, want the one item that is listed and was taken", len(errs))
	}
}

func TestAHealthySinkHasNoFindings(t *testing.T) {
	for name, bubble := range map[string]bool{"in a bubble": true, "with real clocks": false} {
		t.Run(name, func(t *testing.T) {
			var s *shelf
			TestSink(t, SinkOptions[int]{
				Items: numbers, Bubble: bubble,
				Taken:  func() []int { return s.taken },
				Broken: refusing(&s),
				Waiting: func(*testing.T) stage.Sink[int] {
					return stage.SinkFunc(func(ctx context.Context, _ []int) error {
						<-ctx.Done()
						return context.Cause(ctx)
					})
				},
				FailingFlush: func(*testing.T) stage.Sink[int] { return &shelf{closeErr: errBoom} },
			}, func(*testing.T) stage.Sink[int] {
				s = &shelf{}
				return s
			})
		})
	}
}

// refusing opens sinks that take all but the third item of a push.
func refusing(s **shelf) func(*testing.T) stage.Sink[int] {
	return func(*testing.T) stage.Sink[int] {
		*s = &shelf{}
		return stage.SinkFunc(func(_ context.Context, items []int) error {
			var bad stage.BatchError
			for i, v := range items {
				if i == 2 {
					bad.Add(i, errBoom)
				} else {
					(*s).taken = append((*s).taken, v)
				}
			}
			return bad.OrNil()
		})
	}
}
