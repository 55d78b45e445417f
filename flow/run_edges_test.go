package flow_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// closing is a sink whose Close does what it is told to.
type closing struct{ close func() error }

func (closing) Push(context.Context, []int) error { return nil }
func (c closing) Close() error                    { return c.close() }

// A Close that hangs after a clean end is given up a second after a stop, a drain's deadline, or the end of the context.
func TestHangingCloseIsGivenUp(t *testing.T) {
	for name, end := range map[string]func(*flow.Run, context.CancelFunc) error{
		"stop":   func(r *flow.Run, _ context.CancelFunc) error { r.Stop(); return r.Wait() },
		"cancel": func(r *flow.Run, cancel context.CancelFunc) error { cancel(); return r.Wait() },
		"drain": func(r *flow.Run, _ context.CancelFunc) error {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			return r.Drain(ctx)
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			free := make(chan struct{})
			defer close(free)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r, err := flow.FromSlice(ints(1)).To(closing{func() error { <-free; return nil }}).Start(ctx)
			must(t, err)
			time.Sleep(time.Hour) // the end is clean, and Close has its time
			err = end(r, cancel)
			wantText(t, err, `closing.Close has not returned`)
			if name != "cancel" && !errors.Is(err, flow.ErrStopped) {
				t.Fatalf("got error %v, want ErrStopped in it", err)
			}
		})
	}
}

// What goes wrong in a Close is an error of the stage; the others are closed all the same.
func TestCloseThatDoesNotReturnItsError(t *testing.T) {
	boom := errors.New("boom")
	for name, fails := range map[string]func() error{
		"error":  func() error { return boom },
		"panic":  func() error { panic(boom) },
		"goexit": func() error { runtime.Goexit(); return nil },
	} {
		inBubble(t, name, func(t *testing.T) {
			closed := false
			first := flow.FromSlice(ints(1)).To(closing{fails}, flow.Name("first"))
			second := flow.FromSlice(ints(1)).To(closing{func() error { closed = true; return nil }}, flow.Name("second"))
			err := flow.Join(first, second).Run(t.Context())
			wantStage(t, err, "first")
			if name != "goexit" && !errors.Is(err, boom) || name == "goexit" && !errors.Is(err, stage.ErrGoexit) {
				t.Fatalf("got error %v, want the cause in it", err)
			}
			equal(t, "the other was closed", closed, true)
		})
	}
}

// A sequence may end its goroutine while it cleans up.
func TestSequenceThatEndsItsGoroutineInTheEnd(t *testing.T) {
	seq := func(yield func(int) bool) {
		defer runtime.Goexit()
		for i := 0; yield(i); i++ {
		}
	}
	inBubble(t, "goexit", func(t *testing.T) {
		got, err := flow.FromSeq(seq).Take(2).Collect(t.Context(), 10)
		equalSlices(t, "values", got, ints(2))
		wantStage(t, err, "from#1")
	})
}

// A graph that is only looked at has nothing to do with the run.
func TestGraphLeavesTheRunOfAnInletAlone(t *testing.T) {
	inBubble(t, "hook", func(t *testing.T) {
		in := flow.NewInlet(flow.Edge[int]{
			Name: "orders", Capacity: 1, OnFull: flow.DropNewest,
			Dropped: func(int, flow.DropReason) { panic("hook") },
		})
		p := in.Flow().ForEach(func(ctx context.Context, _ int) error { <-ctx.Done(); return nil })
		r, err := p.Start(t.Context())
		must(t, err)
		p.Graph()
		must(t, p.Check())
		for range 10 {
			_, _ = in.Offer(t.Context(), 1) // what it answers is not what is tried
		}
		wantStage(t, r.Wait(), "orders")
	})
}

// counted is a source that counts how often it is closed.
type countedSource struct {
	stage.Source[int]
	closed *int
}

func (s countedSource) Close() error { *s.closed++; return nil }

// A panic in Open is an error of the blueprint's run, and what was opened before it is closed.
func TestPanicInOpen(t *testing.T) {
	closed := 0
	good := func(context.Context) (stage.Source[int], error) {
		return countedSource{stage.Slice(ints(1)), &closed}, nil
	}
	bad := func(context.Context) (stage.Source[int], error) { panic("dial") }
	err := flow.Merge(flow.Open(good), flow.Open(bad, flow.Name("dial"))).To(stage.Discard[int]()).Run(t.Context())
	wantText(t, err, `flow: dial \(run_edges_test.go:\d+\): panic: dial`)
	equal(t, "closed", closed, 1)
}

// Who waits for an item that nobody wants gets an error that can be told from others.
func TestDoOfWhatIsGivenBack(t *testing.T) {
	inBubble(t, "take", func(t *testing.T) {
		in := flow.NewInlet(flow.Edge[int]{Name: "orders", Capacity: 4})
		answers := make(chan error, 3)
		for i := range 3 {
			go func() { answers <- in.Do(context.Background(), i) }()
		}
		time.Sleep(time.Second)
		must(t, in.Flow().Take(1).To(stage.Discard[int]()).Run(t.Context()))
		back := 0
		for range 3 {
			if errors.Is(<-answers, flow.ErrGivenBack) {
				back++
			}
		}
		equal(t, "given back", back, 2)
	})
}

// Nothing that is handed to the chain makes it panic.
func TestNilOptions(t *testing.T) {
	f := flow.FromSlice(ints(1))
	nop := func(context.Context, int) error { return nil }
	for name, p := range map[string]flow.Pipeline{
		"source":      flow.FromSlice(ints(1), nil).ForEach(nop),
		"step":        f.Map(func(i int) int { return i }, nil).ForEach(nop),
		"call":        f.TryMap(same, nil).ForEach(nop),
		"parallel":    f.Parallel(1, same, nil).ForEach(nop),
		"buffer":      f.Buffer(1, flow.Block, nil).ForEach(nop),
		"sink":        f.ForEach(nop, nil),
		"zero option": f.ForEach(nop, flow.Option{}),
		"zero error":  f.ForEach(nop, flow.ErrOption{}),
		"settlement":  f.Buffer(1, flow.DropNewest, flow.SettleDropped(nil)).ForEach(nop),
		"nak":         f.Buffer(1, flow.DropNewest, flow.SettleDropped(flow.Nak(-5))).ForEach(nop),
		"backoff":     f.ForEach(nop, flow.OnError(flow.Retry(3, func() backoff.BackOff { panic("x") }))),
	} {
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), "run_edges_test.go:") {
			t.Errorf("%s: Check() = %v, want a finding with its line", name, err)
		}
	}
}

// A signal ends the wait for a source that does not open.
func TestSignalWhileOpening(t *testing.T) {
	p := flow.Open(func(ctx context.Context) (stage.Source[int], error) {
		must(t, syscall.Kill(os.Getpid(), syscall.SIGUSR2))
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}).To(stage.Discard[int]())
	if err := flow.RunUntilSignal(t.Context(), p, time.Hour, syscall.SIGUSR2); !errors.Is(err, flow.ErrStopped) {
		t.Fatalf("RunUntilSignal() = %v, want ErrStopped", err)
	}
}
