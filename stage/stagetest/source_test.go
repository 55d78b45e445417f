package stagetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/stage"
)

var errBoom = errors.New("boom")

var numbers = []int{1, 2, 3, 4, 5, 6, 7, 8, 9}

// model is a source of numbers that keeps the rules; the twins change one thing.
type model struct {
	rest []int
	err  error
}

func newModel() *model { return &model{rest: numbers, err: stage.ErrEnd} }

func (m *model) Pull(ctx context.Context, dst []int) (int, error) {
	switch {
	case len(m.rest) == 0:
		return 0, m.err
	case len(dst) == 0:
		return 0, nil
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	}
	n := copy(dst, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// changed returns a function that opens sources whose Pull is made by change from that of a model.
func changed(change func(m *model) func(context.Context, []int) (int, error)) func(*testing.T) stage.Source[int] {
	return func(*testing.T) stage.Source[int] { return stage.SourceFunc(change(newModel())) }
}

func open(*testing.T) stage.Source[int] { return newModel() }

type sourceTwin struct {
	rule, breaks string
	opts         SourceOptions[int]
	open         func(*testing.T) stage.Source[int]
}

// between breaks the Pull of a source for demands in a range, which only the checks of one rule ask for.
func between(from, to int, broken func(m *model, ctx context.Context, dst []int) (int, error)) func(*testing.T) stage.Source[int] {
	return changed(func(m *model) func(context.Context, []int) (int, error) {
		return func(ctx context.Context, dst []int) (int, error) {
			if len(dst) < from || len(dst) > to {
				return m.Pull(ctx, dst)
			}
			return broken(m, ctx, dst)
		}
	})
}

var sourceTwins = []sourceTwin{
	{rule: "P1", breaks: "writes past dst", open: changed(func(m *model) func(context.Context, []int) (int, error) {
		return func(ctx context.Context, dst []int) (int, error) {
			n, err := m.Pull(ctx, dst)
			copy(dst[len(dst):cap(dst)], m.rest)
			return n, err
		}
	})},
	{rule: "P1", breaks: "counts too much", open: changed(func(m *model) func(context.Context, []int) (int, error) {
		return func(ctx context.Context, dst []int) (int, error) {
			n, err := m.Pull(ctx, dst)
			return n + 1, err
		}
	})},
	{rule: "P2", breaks: "swaps values", open: changed(func(m *model) func(context.Context, []int) (int, error) {
		return func(ctx context.Context, dst []int) (int, error) {
			n, err := m.Pull(ctx, dst)
			if n > 1 {
				dst[0], dst[1] = dst[1], dst[0]
			}
			return n, err
		}
	})},
	{rule: "P2", breaks: "swaps values of large chunks", open: between(1000, 2000, func(m *model, ctx context.Context, dst []int) (int, error) {
		n, err := m.Pull(ctx, dst)
		if n > 1 {
			dst[0], dst[1] = dst[1], dst[0]
		}
		return n, err
	})},
	{rule: "P2", breaks: "ends early", open: changed(func(m *model) func(context.Context, []int) (int, error) {
		m.rest = numbers[:5]
		return m.Pull
	})},
	{rule: "P2", breaks: "invents a value", open: changed(func(m *model) func(context.Context, []int) (int, error) {
		m.rest = append(numbers[:9:9], 10)
		return m.Pull
	})},
	{
		rule: "P3", breaks: "drops the values that come with an error", opts: SourceOptions[int]{Err: errBoom},
		open: changed(func(m *model) func(context.Context, []int) (int, error) {
			m.err = errBoom
			return func(ctx context.Context, dst []int) (int, error) {
				if n, err := m.Pull(ctx, dst); len(m.rest) > 0 {
					return n, err
				}
				return 0, m.err
			}
		}),
	},
	{
		rule: "P3", breaks: "drops a chunk of 8 to 100 that is the last", opts: SourceOptions[int]{Err: errBoom},
		open: between(8, 100, func(m *model, ctx context.Context, dst []int) (int, error) {
			m.err = errBoom
			if n, err := m.Pull(ctx, dst); len(m.rest) > 0 {
				return n, err
			}
			return 0, m.err
		}),
	},
	{
		rule: "P3", breaks: "ends cleanly instead of failing", opts: SourceOptions[int]{Err: errBoom},
		open: open,
	},
	{
		rule: "P4", breaks: "fails once, then ends", opts: SourceOptions[int]{Err: errBoom},
		open: changed(func(m *model) func(context.Context, []int) (int, error) {
			m.err = errBoom
			return func(ctx context.Context, dst []int) (int, error) {
				n, err := m.Pull(ctx, dst)
				if errors.Is(err, errBoom) {
					m.err = stage.ErrEnd
				}
				return n, err
			}
		}),
	},
	{rule: "P4", breaks: "starts again", open: changed(func(m *model) func(context.Context, []int) (int, error) {
		return func(ctx context.Context, dst []int) (int, error) {
			n, err := m.Pull(ctx, dst)
			if err == stage.ErrEnd {
				m.rest = numbers
			}
			return n, err
		}
	})},
	{rule: "P4", breaks: "waits after the end", open: changed(func(m *model) func(context.Context, []int) (int, error) {
		return func(ctx context.Context, dst []int) (int, error) {
			n, err := m.Pull(ctx, dst)
			if err == stage.ErrEnd {
				time.Sleep(time.Millisecond)
			}
			return n, err
		}
	})},
	{rule: "P5", breaks: "returns nothing at times", open: changed(func(m *model) func(context.Context, []int) (int, error) {
		return func(ctx context.Context, dst []int) (int, error) {
			if len(m.rest) == 5 {
				m.rest = m.rest[1:]
				return 0, nil
			}
			return m.Pull(ctx, dst[:min(len(dst), 1)])
		}
	})},
	{rule: "P5", breaks: "returns nothing now and then", open: changed(func(m *model) func(context.Context, []int) (int, error) {
		calls := 0
		return func(ctx context.Context, dst []int) (int, error) {
			if calls++; calls%2 == 0 && calls < 10 && ctx.Err() == nil && len(m.rest) > 0 {
				return 0, nil
			}
			return m.Pull(ctx, dst)
		}
	})},
	{rule: "P6", breaks: "consumes for an empty dst", open: changed(func(m *model) func(context.Context, []int) (int, error) {
		return func(ctx context.Context, dst []int) (int, error) {
			if len(dst) == 0 && len(m.rest) > 0 {
				m.rest = m.rest[1:]
			}
			return m.Pull(ctx, dst)
		}
	})},
	{rule: "P6", breaks: "ends for an empty dst", open: changed(func(m *model) func(context.Context, []int) (int, error) {
		return func(ctx context.Context, dst []int) (int, error) {
			if len(dst) == 0 {
				return 0, stage.ErrEnd
			}
			return m.Pull(ctx, dst)
		}
	})},
	{rule: "P7", breaks: "ignores the context", open: changed(func(m *model) func(context.Context, []int) (int, error) {
		return func(_ context.Context, dst []int) (int, error) { return m.Pull(context.Background(), dst) }
	})},
	{rule: "P7", breaks: "loses a value", open: changed(func(m *model) func(context.Context, []int) (int, error) {
		return func(ctx context.Context, dst []int) (int, error) {
			n, err := m.Pull(ctx, dst)
			if ctx.Err() != nil && len(m.rest) > 0 {
				m.rest = m.rest[1:]
			}
			return n, err
		}
	})},
	{rule: "P7", breaks: "takes a cancel for the end", open: changed(func(m *model) func(context.Context, []int) (int, error) {
		return func(ctx context.Context, dst []int) (int, error) {
			n, err := m.Pull(ctx, dst)
			if ctx.Err() != nil {
				err = stage.ErrEnd
			}
			return n, err
		}
	})},
	{rule: "P7", breaks: "takes a deadline that is over for the end", open: changed(func(m *model) func(context.Context, []int) (int, error) {
		return func(ctx context.Context, dst []int) (int, error) {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return 0, stage.ErrEnd
			}
			return m.Pull(ctx, dst)
		}
	})},
	{rule: "P7", breaks: "returns the context's error, not its cause", open: changed(func(m *model) func(context.Context, []int) (int, error) {
		return func(ctx context.Context, dst []int) (int, error) {
			if ctx.Err() != nil {
				return 0, ctx.Err()
			}
			return m.Pull(ctx, dst)
		}
	})},
	{rule: "P7", breaks: "is late", open: open, opts: SourceOptions[int]{
		Waiting: func(*testing.T) (stage.Source[int], func()) {
			return stage.SourceFunc(func(ctx context.Context, _ []int) (int, error) {
				<-ctx.Done()
				time.Sleep(time.Second)
				return 0, context.Cause(ctx)
			}), func() {}
		},
	}},
	{rule: "P7", breaks: "is deaf", open: open, opts: SourceOptions[int]{
		Waiting: func(*testing.T) (stage.Source[int], func()) {
			released := make(chan struct{})
			return stage.SourceFunc(func(context.Context, []int) (int, error) {
				<-released
				return 0, stage.ErrEnd
			}), func() { close(released) }
		},
	}},
	{rule: "P8", breaks: "writes to dst later", open: changed(func(m *model) func(context.Context, []int) (int, error) {
		var last []int
		return func(ctx context.Context, dst []int) (int, error) {
			copy(last, m.rest)
			last = dst
			return m.Pull(ctx, dst)
		}
	})},
	{rule: "P9", breaks: "belongs to a goroutine", open: changed(func(m *model) func(context.Context, []int) (int, error) {
		owner := ""
		return func(ctx context.Context, dst []int) (int, error) {
			id := goroutine()
			if owner == "" {
				owner = id
			}
			if id != owner {
				return 0, errBoom
			}
			return m.Pull(ctx, dst)
		}
	})},
	{rule: "P10", breaks: "fails the second Close", open: func(*testing.T) stage.Source[int] {
		return &closer{model: newModel(), errs: []error{nil, errBoom}}
	}},
	{rule: "P10", breaks: "fails the first Close", open: func(*testing.T) stage.Source[int] {
		return &closer{model: newModel(), errs: []error{errBoom, nil}}
	}},
	{rule: "P10", breaks: "panics in Close", open: func(*testing.T) stage.Source[int] { return &closer{model: newModel()} }},
	{rule: "left", breaks: "leaves a goroutine for a minute", open: func(t *testing.T) stage.Source[int] {
		t.Helper()
		var left sync.WaitGroup
		left.Go(func() { time.Sleep(time.Minute) })
		t.Cleanup(left.Wait)
		return newModel()
	}},
	oneAhead(),
	{rule: "P12", breaks: "ends after a panic", open: open, opts: SourceOptions[int]{Panics: panics(stage.ErrEnd)}},
	{rule: "P12", breaks: "goes on after a panic", open: open, opts: SourceOptions[int]{Panics: panics(nil)}},
	{rule: "P12", breaks: "swallows the panic", open: open, opts: SourceOptions[int]{Panics: open}},
	{rule: "demand", breaks: "fills dst", open: open, opts: SourceOptions[int]{
		Trickle: func(*testing.T) stage.Source[int] {
			return stage.SourceFunc(func(ctx context.Context, _ []int) (int, error) {
				<-ctx.Done()
				return 1, context.Cause(ctx)
			})
		},
	}},
}

// closer returns errs from its Close, one a call, and panics when there are none.
type closer struct {
	*model
	errs []error
}

func (c *closer) Close() error {
	err := c.errs[0]
	c.errs = c.errs[1:]
	return err
}

// panics opens sources that panic once, and then return a value with err.
func panics(err error) func(*testing.T) stage.Source[int] {
	return func(*testing.T) stage.Source[int] {
		calls := 0
		return stage.SourceFunc(func(_ context.Context, dst []int) (int, error) {
			switch calls++; calls {
			case 1:
				dst[0] = 1
				return 1, nil
			case 2:
				panic(errBoom)
			default:
				return 0, err
			}
		})
	}
}

// goroutine returns the number of the calling goroutine.
func goroutine() string {
	buf := make([]byte, 64)
	return string(bytes.Fields(buf[:runtime.Stack(buf, false)])[1])
}

// findingsOf runs the checks of a rule in a bubble.
func findingsOf(t *testing.T, checks []check, rule string) (errs []error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		for _, c := range checks {
			if c.rule == rule && c.lacks == "" {
				errs = append(errs, c.run(t)...)
			}
		}
	})
	return errs
}

func wantFinding(t *testing.T, errs []error, rule string) {
	t.Helper()
	if len(errs) == 0 {
		t.Fatal("the kit has not found it")
	}
	t.Log(errs[0])
	if text := fmt.Sprint(errs[0]); !strings.Contains(text, rules[rule]) {
		t.Fatalf("finding does not quote rule %s: %v", rule, text)
	}
}

// checks are those of the kit for the twin.
func (tw sourceTwin) checks() []check {
	tw.opts.Want, tw.opts.Bubble = numbers, true
	return newSourceKit(tw.opts, tw.open).checks()
}

func TestSourceTwinsAreCaught(t *testing.T) {
	for _, twin := range sourceTwins {
		t.Run(twin.rule+" "+twin.breaks, func(t *testing.T) {
			wantFinding(t, findingsOf(t, twin.checks(), twin.rule), twin.rule)
		})
	}
}

// oneAhead is a source that reads one value more from the outside than it hands out.
func oneAhead() sourceTwin {
	read := 0
	return sourceTwin{
		rule: "P11", breaks: "reads one value ahead", opts: SourceOptions[int]{Outside: func() int { return read }},
		open: func(*testing.T) stage.Source[int] {
			m := newModel()
			read = 0
			return stage.SourceFunc(func(ctx context.Context, dst []int) (int, error) {
				n, err := m.Pull(ctx, dst)
				if n > 0 {
					read = len(numbers) - len(m.rest) + 1
				}
				return n, err
			})
		},
	}
}

func TestAReaderAheadIsCaught(t *testing.T) {
	for _, rule := range []string{"P4", "P6", "P11"} {
		t.Run(rule, func(t *testing.T) {
			read := 0
			greedy := func(*testing.T) stage.Source[int] {
				m := newModel()
				read = 0
				return stage.SourceFunc(func(ctx context.Context, dst []int) (int, error) {
					read += 1 + len(dst)
					return m.Pull(ctx, dst)
				})
			}
			opts := SourceOptions[int]{Want: numbers, Outside: func() int { return read }, Bubble: true}
			wantFinding(t, findingsOf(t, newSourceKit(opts, greedy).checks(), rule), rule)
		})
	}
}

func TestAHealthySourceHasNoFindings(t *testing.T) {
	for _, bubble := range []bool{true, false} {
		t.Run(fmt.Sprint("bubble ", bubble), func(t *testing.T) {
			var m *model
			TestSource(t, SourceOptions[int]{
				Want: numbers, Bubble: bubble,
				Outside: func() int { return len(numbers) - len(m.rest) },
				Waiting: waiting,
				Trickle: func(*testing.T) stage.Source[int] { return &model{rest: numbers[:1]} },
				Panics:  panics(errBoom),
			}, func(*testing.T) stage.Source[int] {
				m = newModel()
				return m
			})
		})
	}
}

// waiting opens a source that waits for its release.
func waiting(*testing.T) (stage.Source[int], func()) {
	released := make(chan struct{})
	m := newModel()
	return stage.SourceFunc(func(ctx context.Context, dst []int) (int, error) {
		select {
		case <-released:
			return m.Pull(ctx, dst)
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}), func() { close(released) }
}

func TestAnEndlessSourceIsAskedForItsValuesOnly(t *testing.T) {
	TestSource(t, SourceOptions[int]{Want: numbers, Endless: true, Bubble: true}, func(*testing.T) stage.Source[int] {
		v := 0
		return stage.SourceFunc(func(ctx context.Context, dst []int) (int, error) {
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			for i := range dst {
				v++
				dst[i] = v
			}
			return len(dst), nil
		})
	})
}

func TestARuleCanBeLeftOutWithAReason(t *testing.T) {
	deaf := changed(func(m *model) func(context.Context, []int) (int, error) {
		return func(_ context.Context, dst []int) (int, error) { return m.Pull(context.Background(), dst) }
	})
	TestSource(t, SourceOptions[int]{Want: numbers, Skip: map[string]string{"P7": "reads a file"}}, deaf)
}
