package admission_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/stage"
)

func TestCallerConfigSaysAllThatIsWrong(t *testing.T) {
	for _, c := range []struct {
		cfg  admission.CallerConfig
		want string
	}{
		{admission.CallerConfig{K: 0.5}, "CallerConfig.K must be >= 1, got 0.5"},
		{admission.CallerConfig{RetryBudget: 2}, "CallerConfig.RetryBudget must be 0 to 1, got 2"},
		{admission.CallerConfig{MaxAttempts: -1}, "CallerConfig.MaxAttempts must be >= 1, got -1"},
		{admission.CallerConfig{MaxWait: -1}, "CallerConfig.MaxWait must be > 0, got -1ns"},
	} {
		func() {
			defer func() {
				if err, _ := recover().(error); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("NewCaller panics with %v, want %q", err, c.want)
				}
			}()
			admission.NewCaller(c.cfg)
		}()
	}
}

// The numbers of the rule, exactly.
func TestThrottleProbability(t *testing.T) {
	for _, c := range []struct {
		requests, accepts int64
		want              float64
	}{{0, 0, 0}, {100, 30, 0.396}, {100, 50, 0}, {100, 100, 0}, {100, 0, 0.990}, {1, 0, 0.5}} {
		if got := admission.Probability(c.requests, c.accepts, 2); math.Round(got*1000)/1000 != c.want {
			t.Errorf("%d requests, %d accepted: %v, want %v", c.requests, c.accepts, got, c.want)
		}
	}
}

var (
	accepted = admission.Answer{Accepted: true}
	refused  = admission.Answer{Err: errors.New("refused"), Refused: true}
)

// The same numbers from calls, and how they are forgotten.
func TestCallerThrottlesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := admission.NewCaller(admission.CallerConfig{})
		dice := 1.0 // always send
		c.Random(func() float64 { return dice })
		ask := func(a admission.Answer, n int) {
			for range n {
				if err := c.Do(t.Context(), func(context.Context) admission.Answer { return a }); !errors.Is(err, a.Err) {
					t.Fatalf("got %v, want %v", err, a.Err)
				}
			}
		}
		ask(accepted, 30)
		ask(refused, 70)
		equal(t, "the probability", math.Round(c.Throttled(stage.Critical)*1000), 396)
		equal(t, "that of another class", c.Throttled(stage.Sheddable), 0)
		dice = 0.39
		err := c.Do(t.Context(), func(context.Context) admission.Answer { t.Error("it was sent"); return accepted })
		wantReason(t, err, admission.ReasonThrottled)
		equal(t, "it may come again", refusal(t, err).Retryable, true)
		equal(t, "the stats", c.Stats(), admission.CallerStats{Calls: 101, Sent: 100, Accepted: 30, RefusedThere: 70, RefusedHere: 1})
		time.Sleep(127 * time.Second)
		equal(t, "after two minutes", c.Throttled(stage.Critical), 0)
		dice = 0
		ask(accepted, 1)
	})
}

// What is sent at most is 1.1 times the calls, however long the server refuses.
func TestRetriesStayWithinTheirBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := admission.NewCaller(admission.CallerConfig{MaxAttempts: 10})
		c.Random(func() float64 { return 1 })
		var mu sync.Mutex
		calls, sent := 0, 0
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 250 {
					mu.Lock()
					calls++
					mu.Unlock()
					_ = c.Do(t.Context(), func(context.Context) admission.Answer {
						mu.Lock()
						defer mu.Unlock()
						if sent++; float64(sent) > 1.1*float64(calls) {
							t.Errorf("%d were sent for %d calls", sent, calls)
						}
						return admission.Answer{Err: errors.New("no"), Refused: true, Again: true}
					})
				}
			})
		}
		wg.Wait()
		s := c.Stats()
		if s.Sent != int64(sent) || sent < 2190 || s.NoBudget == 0 { // 2000 calls and 200 retries, or nearly so
			t.Errorf("%d were sent: %+v", sent, s)
		}
	})
}

// After a good day there are not retries for a bad hour.
func TestTheBudgetSavesUpFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := admission.NewCaller(admission.CallerConfig{MaxAttempts: 1000})
		c.Random(func() float64 { return 1 })
		for range 2000 {
			_ = c.Do(t.Context(), func(context.Context) admission.Answer { return accepted })
		}
		sent := 0
		_ = c.Do(t.Context(), func(context.Context) admission.Answer {
			sent++
			return admission.Answer{Err: errors.New("no"), Refused: true, Again: true}
		})
		equal(t, "sent for one call", sent, 101)
	})
}

// earned returns a caller that has a few retries.
func earned(t *testing.T, c admission.CallerConfig) *admission.Caller {
	t.Helper()
	caller := admission.NewCaller(c)
	caller.Random(func() float64 { return 1 })
	for range 100 {
		if err := caller.Do(t.Context(), func(context.Context) admission.Answer { return accepted }); err != nil {
			t.Fatal(err)
		}
	}
	return caller
}

func TestWhenACallIsSentAgain(t *testing.T) {
	no := errors.New("no")
	for _, c := range []struct {
		name string
		cfg  admission.CallerConfig
		meta stage.Meta
		do   admission.Answer
		left time.Duration // until the deadline of the context; 0 is none
		sent int
		low  time.Duration // it takes
		high time.Duration
	}{
		{"an answer", admission.CallerConfig{}, stage.Meta{}, accepted, 0, 1, 0, 0},
		{"it may not", admission.CallerConfig{}, stage.Meta{}, admission.Answer{Err: no}, 0, 1, 0, 0},
		{"it may", admission.CallerConfig{}, stage.Meta{}, admission.Answer{Err: no, Again: true}, 0, 3, 0, 150 * time.Millisecond},
		{"five times", admission.CallerConfig{MaxAttempts: 5}, stage.Meta{}, admission.Answer{Err: no, Again: true}, 0, 5, 0, 750 * time.Millisecond},
		{"never", admission.CallerConfig{NoRetry: true}, stage.Meta{}, admission.Answer{Err: no, Again: true}, 0, 1, 0, 0},
		{"not before", admission.CallerConfig{}, stage.Meta{}, admission.Answer{Err: no, Again: true, RetryAfter: time.Second}, 0, 3, 2 * time.Second, 2 * time.Second},
		{"not so late", admission.CallerConfig{}, stage.Meta{}, admission.Answer{Err: no, Again: true, RetryAfter: 11 * time.Second}, 0, 1, 0, 0},
		{"not behind the deadline", admission.CallerConfig{}, stage.Meta{}, admission.Answer{Err: no, Again: true, RetryAfter: 2 * time.Second}, 3 * time.Second, 2, 2 * time.Second, 2 * time.Second},
		{"a backoff that stops", admission.CallerConfig{Backoff: func() backoff.BackOff { return &backoff.StopBackOff{} }}, stage.Meta{}, admission.Answer{Err: no, Again: true}, 0, 1, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				caller := earned(t, c.cfg)
				ctx, cancel := context.WithCancel(t.Context())
				if c.left > 0 {
					ctx, cancel = context.WithTimeout(t.Context(), c.left)
				}
				defer cancel()
				begin, sent := time.Now(), 0
				err := caller.Do(stage.WithMeta(ctx, stage.Meta{Attempt: 5, Key: "k"}), func(ctx context.Context) admission.Answer {
					m, _ := stage.MetaFrom(ctx)
					equal(t, "the metadata of an attempt", m, stage.Meta{Attempt: 5 + sent, Key: "k"})
					sent++
					return c.do
				})
				if !errors.Is(err, c.do.Err) {
					t.Errorf("got %v, want %v", err, c.do.Err)
				}
				took := time.Since(begin)
				if sent != c.sent || took < c.low || took > c.high {
					t.Errorf("sent %d times in %v, want %d in %v to %v", sent, took, c.sent, c.low, c.high)
				}
			})
		})
	}
}

func TestACallThatIsGivenUpWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		caller := earned(t, admission.CallerConfig{})
		gone, no := errors.New("gone"), errors.New("no")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(gone) })
		begin := time.Now()
		err := caller.Do(ctx, func(context.Context) admission.Answer {
			return admission.Answer{Err: no, Again: true, RetryAfter: 5 * time.Second}
		})
		if !errors.Is(err, gone) || !errors.Is(err, no) || time.Since(begin) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(begin))
		}
	})
}
