package flow_test

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v4"
	"pgregory.net/rapid"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

func constant(d time.Duration) flow.Backoff {
	return func() backoff.BackOff { return backoff.NewConstantBackOff(d) }
}

func newBudget(t *testing.T, cfg flow.BudgetConfig) *flow.Budget {
	t.Helper()
	b, err := flow.NewBudget(cfg)
	must(t, err)
	return b
}

func TestBudgetsOutOfRangeAreErrors(t *testing.T) {
	for _, cfg := range []flow.BudgetConfig{{Ratio: -0.1}, {Ratio: 1.1}, {Ratio: math.NaN()}, {Window: -1}, {Window: time.Microsecond}} {
		if _, err := flow.NewBudget(cfg); err == nil {
			t.Errorf("%+v: got no error", cfg)
		}
	}
}

// The law: a retry is allowed exactly if there are not more of them then, in the window, than the ratio of its requests, or the least.
// A window is ten parts, the running one included.
func TestTheLawOfTheBudget(t *testing.T) {
	type event struct {
		part  int64
		retry bool
	}
	rapid.Check(t, func(rt *rapid.T) {
		ratio := rapid.SampledFrom([]float64{0.05, 0.1, 0.5, 1}).Draw(rt, "ratio")
		least := rapid.IntRange(0, 5).Draw(rt, "least")
		cfg := flow.BudgetConfig{Ratio: ratio, Least: least, Window: 10 * time.Second}
		if least == 0 {
			cfg.Least = -1
		}
		var bad error
		synctest.Test(t, func(t *testing.T) {
			// Whole seconds of virtual time and whole parts need not begin together: the test moves by parts.
			b := newBudget(t, cfg)
			var events []event
			var part, requests, retries int64
			for range rapid.IntRange(1, 200).Draw(rt, "steps") {
				switch rapid.IntRange(0, 9).Draw(rt, "what") {
				case 0:
					parts := rapid.Int64Range(1, 12).Draw(rt, "parts")
					part += parts
					time.Sleep(time.Duration(parts) * time.Second)
				case 1, 2, 3, 4, 5:
					b.Request()
					requests++
					events = append(events, event{part, false})
				default:
					in := [2]int{}
					for _, e := range events {
						if part-e.part < 10 {
							in[map[bool]int{false: 0, true: 1}[e.retry]]++
						}
					}
					want := float64(in[1]+1) <= max(ratio*float64(in[0]), float64(least))
					if got := b.Retry(); got != want {
						bad = fmt.Errorf("Retry() = %t with %d requests and %d retries in the window, want %t", got, in[0], in[1], want)
						return
					}
					if want {
						retries++
						events = append(events, event{part, true})
					}
				}
			}
			if s := b.Stats(); s.Requests != requests || s.Retries != retries {
				bad = fmt.Errorf("stats %+v, want %d requests and %d retries", s, requests, retries)
			}
			if windows := part/10 + 1; float64(retries) > ratio*float64(requests)+float64(least)*float64(windows) {
				bad = fmt.Errorf("%d retries of %d requests in %d windows", retries, requests, windows)
			}
		})
		if bad != nil {
			rt.Fatal(bad)
		}
	})
}

// Try: a dependency refuses every call for 20 s, and the stages that call it may retry five times. Right: it gets at most 1.1 calls for each
// request, by both stages together; what is not retried is counted.
func TestARetryStormIsBounded(t *testing.T) {
	inBubble(t, "two stages", func(t *testing.T) {
		b := newBudget(t, flow.BudgetConfig{})
		var calls, letters atomic.Int64
		began := time.Now()
		down := func(ctx context.Context, i int) (int, error) {
			calls.Add(1)
			if time.Since(began) < 20*time.Second {
				return i, errOutage
			}
			return i, nil
		}
		careful := flow.OnError(flow.Retry(5, constant(time.Millisecond)), flow.DeadLetter(stage.SinkFunc(func(_ context.Context, ls []stage.DeadLetter) error {
			letters.Add(int64(len(ls)))
			return nil
		})))
		const n = 5000
		side := func(name string) flow.Pipeline {
			return discard(flow.FromSlice(ints(n)).Throttle(100, 100*time.Millisecond).Parallel(10, down, flow.Name(name), flow.RetryBudget(b), careful))
		}
		r := start(t, flow.Join(side("left"), side("right")))
		must(t, r.Wait())
		if got := calls.Load(); float64(got) > 1.1*2*n {
			t.Errorf("%d calls for %d requests, want at most 1.1 for each", got, 2*n)
		}
		left, right := stageStats(t, r, "left"), stageStats(t, r, "right")
		s := b.Stats()
		equal(t, "requests", s.Requests, 2*n)
		equal(t, "retries", left.Retried+right.Retried, s.Retries)
		equal(t, "over the budget", left.OverBudget+right.OverBudget, s.Refused)
		equal(t, "calls", calls.Load(), s.Requests+s.Retries)
		if s.Retries == 0 || s.Refused == 0 || letters.Load() == 0 {
			t.Errorf("%+v and %d letters, want some of each", s, letters.Load())
		}
	})
}

// Try: the budget is used up. Right: the item waits as long as Retry would have, and goes on to the next decision; if there is room meanwhile,
// the call is repeated.
func TestARetryWithoutBudgetWaitsForItsNextTurn(t *testing.T) {
	inBubble(t, "until the times are used up", func(t *testing.T) {
		b := newBudget(t, flow.BudgetConfig{Least: -1})
		calls, began := 0, time.Now()
		err := flow.FromSlice(ints(1)).ForEach(func(context.Context, int) error { calls++; return errOutage },
			flow.RetryBudget(b), flow.OnError(flow.Retry(4, constant(time.Second)), flow.Skip)).Run(t.Context())
		must(t, err)
		equal(t, "calls", calls, 1)
		equal(t, "time", time.Since(began), 4*time.Second)
	})
	inBubble(t, "until there is room", func(t *testing.T) {
		b := newBudget(t, flow.BudgetConfig{Least: 1})
		b.Retry()
		calls := 0
		must(t, flow.FromSlice(ints(1)).ForEach(func(context.Context, int) error {
			if calls++; calls == 1 {
				return errOutage
			}
			return nil
		}, flow.RetryBudget(b), flow.OnError(flow.Retry(30, constant(time.Second)))).Run(t.Context()))
		equal(t, "calls", calls, 2)
		equal(t, "refused", b.Stats().Refused > 5, true)
	})
	inBubble(t, "the parts of a push that is halved are no requests", func(t *testing.T) {
		b := newBudget(t, flow.BudgetConfig{})
		must(t, flow.FromSlice(ints(8)).ForEachBatch(8, 0, func(_ context.Context, is []int) error {
			if is[0] == 0 {
				return errValue
			}
			return nil
		}, flow.RetryBudget(b), flow.OnError(flow.Retry(1, constant(time.Second)), flow.Skip)).Run(t.Context()))
		equal(t, "requests", b.Stats().Requests, 1)
	})
}
