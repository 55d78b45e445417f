package stage_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/weir-go/weir/stage"
)

// What the doc comments of sources and sinks say about cost and no other test looks at.
func TestPartsAllocateNothingForAValue(t *testing.T) {
	items := make([]int, 16)
	ch := make(chan int, len(items))
	next := 0
	endless := stage.Func(func(context.Context) (int, error) {
		next++
		return next, nil
	})
	pushed := stage.Subscribe(&steady{}, 64)
	discard := stage.Discard[int]()
	received := stage.Chan(ch)
	for name, use := range map[string]func(){
		"Func": func() { _, _ = endless.Pull(t.Context(), items) },
		"Chan": func() {
			for i := range items {
				ch <- i
			}
			_, _ = received.Pull(t.Context(), items)
		},
		"Subscribe": func() { _, _ = pushed.Pull(t.Context(), items) },
		"Discard":   func() { _ = discard.Push(t.Context(), items) },
	} {
		t.Run(name, func(t *testing.T) {
			use() // what is made once
			if allocs := testing.AllocsPerRun(1000, use); allocs != 0 {
				t.Fatalf("%v allocations for up to %d values, want 0", allocs, len(items))
			}
		})
	}
	closePart(t, pushed)
}

// steady is a publisher that delivers zeros as they are requested.
type steady struct {
	to  stage.Subscriber[int]
	buf [64]int
}

func (s *steady) Subscribe(_ context.Context, to stage.Subscriber[int]) (stage.Subscription, error) {
	s.to = to
	return s, nil
}

func (s *steady) Request(n int64) { s.to.Deliver(s.buf[:n]...) }

func (*steady) Cancel() {}

// A source costs no goroutine before its first Pull, and a Ticker none at all.
func TestSourcesThatCostNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	seq := stage.Seq(func(yield func(int) bool) { yield(1) })
	ticker := stage.Ticker(time.Microsecond)
	mustPull(t, ticker)
	mustPull(t, ticker)
	if now := runtime.NumGoroutine(); now > before {
		t.Fatalf("%d goroutines more, want none", now-before)
	}
	if got := mustPull(t, seq); got != 1 {
		t.Fatalf("Pull() = %d, want 1", got)
	}
	closePart(t, seq)
	closePart(t, ticker)
}
