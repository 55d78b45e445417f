package breaker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/breaker"
	"github.com/weir-go/weir/stage"
)

var _ flow.CircuitBreaker = (*breaker.Breaker)(nil)

var errDown = errors.New("down")

func made(t *testing.T, cfg breaker.Config) *breaker.Breaker {
	t.Helper()
	b, err := breaker.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// call makes a call that ends with err at once, and reports whether it was let through and what report said.
func call(b *breaker.Breaker, item uint64, err error) (through, open bool) {
	report, refused := b.Allow(item)
	if refused != nil {
		return false, false
	}
	return true, report(err)
}

// failing opens b by calls for so many items.
func failing(t *testing.T, b *breaker.Breaker, items int) {
	t.Helper()
	for i := range items {
		call(b, uint64(i+1), errDown)
	}
	if got := b.State(); got != breaker.Open {
		t.Fatalf("after %d failures the state is %v, want open", items, got)
	}
}

func inBubble(t *testing.T, name string, fn func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, fn) })
}

func TestSettingsOutOfRangeAreErrors(t *testing.T) {
	_, err := breaker.New(breaker.Config{InARow: -1, Ratio: 1.5, MinCalls: -1, Window: time.Millisecond, OpenFor: -1, Probes: -1})
	if err == nil {
		t.Fatal("got no error")
	}
	for _, what := range []string{"InARow", "Ratio", "MinCalls", "Window", "OpenFor", "Probes"} {
		if !strings.Contains(err.Error(), "breaker: "+what+" must be ") {
			t.Errorf("%s is not in %q", what, err)
		}
	}
}

func TestWhatOpensIt(t *testing.T) {
	inBubble(t, "failures in a row of different items", func(t *testing.T) {
		b := made(t, breaker.Config{InARow: 3})
		for i, want := range []bool{false, false, true} {
			if _, open := call(b, uint64(i+1), errDown); open != want {
				t.Fatalf("failure %d: open = %t, want %t", i+1, open, want)
			}
		}
		if _, err := b.Allow(9); !errors.Is(err, breaker.ErrOpen) {
			t.Fatalf("Allow() = %v, want ErrOpen", err)
		}
	})
	inBubble(t, "not one item that always fails", func(t *testing.T) {
		b := made(t, breaker.Config{InARow: 3, MinCalls: 5})
		for range 100 {
			if through, open := call(b, 7, errDown); !through || open {
				t.Fatalf("through = %t, open = %t, want true and false", through, open)
			}
		}
		call(b, 8, errDown)
		if _, open := call(b, 7, errDown); !open {
			t.Fatal("it is not open, want it to open with the third failure of two items")
		}
	})
	inBubble(t, "callers without an item are as many", func(t *testing.T) {
		b := made(t, breaker.Config{InARow: 3})
		call(b, 0, errDown)
		call(b, 0, errDown)
		call(b, 0, errDown)
		if got := b.State(); got != breaker.Open {
			t.Fatalf("state %v, want open", got)
		}
	})
	inBubble(t, "a ratio in the window", func(t *testing.T) {
		b := made(t, breaker.Config{Ratio: 0.5, MinCalls: 10})
		for i := range 9 {
			err := errDown
			if i%2 == 0 {
				err = nil
			}
			if call(b, uint64(i+1), err); b.State() != breaker.Closed {
				t.Fatalf("open after %d calls, want 10 to be needed", i+1)
			}
		}
		if _, open := call(b, 10, errDown); !open {
			t.Fatal("not open after 5 failures of 10, want it to be")
		}
	})
	inBubble(t, "not failures that the window has left behind", func(t *testing.T) {
		b := made(t, breaker.Config{Ratio: 0.5, MinCalls: 4, Window: 10 * time.Second})
		for i := range uint64(3) {
			call(b, i+1, errDown)
			call(b, i+1, nil)
			time.Sleep(11 * time.Second)
		}
		if _, open := call(b, 4, errDown); open {
			t.Fatal("open by failures 11 s old")
		}
	})
	inBubble(t, "not what is about the item, nor what was cut off", func(t *testing.T) {
		b := made(t, breaker.Config{InARow: 2})
		bad := &stage.BatchError{}
		bad.Add(0, errDown)
		for i, err := range []error{
			nil, backoff.Permanent(errDown), bad, context.Canceled,
			fmt.Errorf("call: %w", context.Canceled), fmt.Errorf("call: %w", bad),
		} {
			for range uint64(20) {
				if through, open := call(b, uint64(i), err); !through || open {
					t.Fatalf("%v: through = %t, open = %t, want true and false", err, through, open)
				}
			}
		}
		if s := b.Stats(); s.Calls != 120 || s.Failed != 0 {
			t.Fatalf("stats %+v, want 120 calls and no failure", s)
		}
	})
	inBubble(t, "what the caller says", func(t *testing.T) {
		b := made(t, breaker.Config{InARow: 2, Failed: func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }})
		for i := range uint64(10) {
			call(b, i+1, errDown)
		}
		if b.State() != breaker.Closed {
			t.Fatal("open by errors that are none")
		}
		call(b, 1, context.DeadlineExceeded)
		if _, open := call(b, 2, context.DeadlineExceeded); !open {
			t.Fatal("not open by errors that are some")
		}
	})
	inBubble(t, "calls that hang for longer than the window", func(t *testing.T) {
		b := made(t, breaker.Config{InARow: 3, Window: time.Second})
		var reports []func(error) bool
		for i := range uint64(3) {
			report, err := b.Allow(i + 1)
			if err != nil {
				t.Fatal(err)
			}
			reports = append(reports, report)
		}
		time.Sleep(30 * time.Second)
		for _, report := range reports {
			report(context.DeadlineExceeded)
		}
		if got := b.State(); got != breaker.Open {
			t.Fatalf("state %v, want open", got)
		}
	})
}

func TestItProbesAndCloses(t *testing.T) {
	inBubble(t, "one probe after OpenFor, then all", func(t *testing.T) {
		b := made(t, breaker.Config{InARow: 2, OpenFor: time.Second})
		failing(t, b, 2)
		time.Sleep(time.Second)
		if _, err := b.Allow(1); err == nil {
			t.Fatal("let through at the end of OpenFor, want behind it")
		}
		time.Sleep(time.Nanosecond)
		report, err := b.Allow(1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Allow(2); !errors.Is(err, breaker.ErrOpen) || b.State() != breaker.HalfOpen {
			t.Fatalf("a second call beside the probe: %v in state %v, want ErrOpen, half-open", err, b.State())
		}
		report(nil)
		if b.State() != breaker.Closed {
			t.Fatalf("state %v behind a probe that went well, want closed", b.State())
		}
	})
	inBubble(t, "a failed probe opens it again, also of the same item", func(t *testing.T) {
		b := made(t, breaker.Config{InARow: 2, OpenFor: time.Second})
		failing(t, b, 2)
		for i := range 50 {
			time.Sleep(time.Second + time.Nanosecond)
			if through, open := call(b, 2, errDown); !through || !open {
				t.Fatalf("probe %d: through = %t, open = %t, want both", i, through, open)
			}
		}
		if s := b.Stats(); s.Opened != 51 || s.Failed != 52 {
			t.Fatalf("stats %+v, want opened 51 times by 52 failures", s)
		}
	})
	inBubble(t, "a probe that was cut off leaves its place", func(t *testing.T) {
		b := made(t, breaker.Config{InARow: 2, OpenFor: time.Second})
		failing(t, b, 2)
		time.Sleep(2 * time.Second)
		call(b, 1, context.Canceled)
		if through, _ := call(b, 2, nil); !through || b.State() != breaker.Closed {
			t.Fatalf("through = %t, state %v, want true, closed", through, b.State())
		}
	})
	inBubble(t, "a probe whose classification panics leaves its place", func(t *testing.T) {
		panics := false
		b := made(t, breaker.Config{InARow: 1, OpenFor: time.Second, Failed: func(error) bool {
			if panics {
				panic("boom")
			}
			return true
		}})
		failing(t, b, 1)
		time.Sleep(2 * time.Second)
		panics = true
		func() {
			defer func() { _ = recover() }()
			call(b, 1, errDown)
		}()
		if through, _ := call(b, 2, nil); !through {
			t.Fatal("refused, want the place of the probe to be free")
		}
	})
	inBubble(t, "several probes", func(t *testing.T) {
		b := made(t, breaker.Config{InARow: 1, OpenFor: time.Second, Probes: 3})
		failing(t, b, 1)
		time.Sleep(2 * time.Second)
		for i := range uint64(3) {
			if through, _ := call(b, i, nil); !through {
				t.Fatalf("probe %d was refused", i)
			}
		}
		if b.State() != breaker.Closed {
			t.Fatalf("state %v behind three probes, want closed", b.State())
		}
	})
	inBubble(t, "what began before it opened has no say", func(t *testing.T) {
		b := made(t, breaker.Config{InARow: 2, OpenFor: time.Second})
		old, err := b.Allow(9)
		if err != nil {
			t.Fatal(err)
		}
		failing(t, b, 2)
		time.Sleep(2 * time.Second)
		probe, err := b.Allow(1)
		if err != nil {
			t.Fatal(err)
		}
		if old(nil); b.State() != breaker.HalfOpen {
			t.Fatalf("an old call made the state %v, want half-open", b.State())
		}
		probe(nil)
	})
}

// waiter is what waits, asks again, and calls.
func waiter(ctx context.Context, b *breaker.Breaker, item uint64, do func(now time.Duration) error) {
	began := time.Now()
	for ctx.Err() == nil {
		report, err := b.Allow(item)
		if err != nil {
			b.Wait(ctx)
			continue
		}
		if !report(do(time.Since(began))) {
			return
		}
	}
}

func TestWait(t *testing.T) {
	inBubble(t, "all go on when the probe has gone well, and one call is made for each OpenFor", func(t *testing.T) {
		b := made(t, breaker.Config{InARow: 2, OpenFor: time.Second})
		failing(t, b, 2)
		var mu sync.Mutex
		var at []time.Duration
		var all sync.WaitGroup
		for i := range uint64(20) {
			all.Go(func() {
				waiter(t.Context(), b, i+10, func(now time.Duration) error {
					mu.Lock()
					at = append(at, now)
					mu.Unlock()
					if now < 4500*time.Millisecond {
						return errDown
					}
					return nil
				})
			})
		}
		all.Wait()
		if len(at) != 24 {
			t.Fatalf("%d calls, want 4 probes that failed and 20 that went well", len(at))
		}
		for i, d := range at {
			if want := time.Duration(min(i+1, 5)) * time.Second; d < want || d > want+10 {
				t.Fatalf("call %d after %v, want %v", i, d, want)
			}
		}
	})
	inBubble(t, "it ends with the context", func(t *testing.T) {
		b := made(t, breaker.Config{InARow: 1, OpenFor: time.Hour})
		failing(t, b, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		if b.Wait(ctx); time.Since(began) != 3*time.Second {
			t.Fatalf("waited for %v, want 3s", time.Since(began))
		}
	})
	inBubble(t, "it does not wait while calls are let through", func(t *testing.T) {
		b := made(t, breaker.Config{InARow: 1, OpenFor: time.Second})
		b.Wait(t.Context())
		failing(t, b, 1)
		time.Sleep(2 * time.Second)
		began := time.Now()
		if b.Wait(t.Context()); time.Since(began) != 0 {
			t.Fatalf("waited for %v with a place for a probe, want not at all", time.Since(began))
		}
	})
	inBubble(t, "the place of a probe that was cut off is somebody else's", func(t *testing.T) {
		b := made(t, breaker.Config{InARow: 1, OpenFor: time.Second})
		failing(t, b, 1)
		time.Sleep(2 * time.Second)
		report, err := b.Allow(1)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		all.Go(func() { waiter(t.Context(), b, 2, func(time.Duration) error { return nil }) })
		time.Sleep(time.Second)
		report(context.Canceled)
		all.Wait()
		if b.State() != breaker.Closed {
			t.Fatalf("state %v, want closed", b.State())
		}
	})
}

func TestStatesHaveNames(t *testing.T) {
	if got := fmt.Sprint(breaker.Closed, breaker.Open, breaker.HalfOpen, breaker.State(9)); got != "closed open half-open State(9)" {
		t.Fatalf("got %q", got)
	}
}

// Many goroutines, for the race detector: what is let through is counted, and nobody waits for ever.
func TestManyCallers(t *testing.T) {
	b := made(t, breaker.Config{OpenFor: time.Microsecond})
	var all sync.WaitGroup
	for g := range uint64(8) {
		all.Go(func() {
			for i := range 500 {
				waiter(t.Context(), b, g+1, func(time.Duration) error {
					if i%5 == 0 {
						return errDown
					}
					return nil
				})
			}
		})
	}
	all.Wait()
	if s := b.Stats(); s.Calls < 4000 {
		t.Fatalf("stats %+v, want at least 4000 calls", s)
	}
}
