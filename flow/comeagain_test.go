package flow_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/stage"
)

// away is an error that says when to come again.
type away time.Duration

func (away) Error() string          { return "come again later" }
func (a away) Delay() time.Duration { return time.Duration(a) }

// Try: a function whose errors say when to come again, behind a Retry of its own pace. Right: no call is made earlier than either of
// the two says, an error that says no time is not retried, and where the deadline comes first nothing is waited for.
func TestRetryComesAgainWhenItIsTold(t *testing.T) {
	const pace = 3 * time.Second
	wrapped := func(err error) error { return fmt.Errorf("the gate: %w", err) }
	for name, tt := range map[string]struct {
		err      error
		deadline time.Duration
		calls    []time.Duration // since the start
		end      time.Duration
	}{
		"later than the backoff":      {away(10 * time.Second), 0, []time.Duration{0, 10 * time.Second, 20 * time.Second}, 20 * time.Second},
		"earlier than the backoff":    {away(time.Second), 0, []time.Duration{0, pace, 2 * pace}, 2 * pace},
		"wrapped":                     {wrapped(away(5 * time.Second)), 0, []time.Duration{0, 5 * time.Second, 10 * time.Second}, 10 * time.Second},
		"never":                       {away(0), 0, []time.Duration{0}, 0},
		"less than never":             {wrapped(away(-1)), 0, []time.Duration{0}, 0},
		"behind the deadline":         {away(10 * time.Second), 9 * time.Second, []time.Duration{0}, 0},
		"behind the deadline, later":  {away(10 * time.Second), 15 * time.Second, []time.Duration{0, 10 * time.Second}, 10 * time.Second},
		"permanent, whatever it says": {backoff.Permanent(away(time.Second)), 0, []time.Duration{0}, 0},
		"a refusal not to be retried": {wrapped(&admission.Refusal{RetryAfter: time.Second}), 0, []time.Duration{0}, 0},
	} {
		inBubble(t, name, func(t *testing.T) {
			began := time.Now()
			var m stage.Meta
			if tt.deadline > 0 {
				m.Deadline = began.Add(tt.deadline)
			}
			var calls []time.Duration
			fn := func(_ context.Context, i int) (int, error) {
				calls = append(calls, time.Since(began))
				return i, tt.err
			}
			var letter stage.DeadLetter
			letters := stage.SinkFunc(func(_ context.Context, ls []stage.DeadLetter) error {
				letter = ls[0]
				return nil
			})
			must(t, discard(flow.FromSlice([]int{1}).Stamp(func(int, stage.Meta) stage.Meta { return m }).
				TryMap(fn, flow.OnError(flow.Retry(2, constant(pace)), flow.DeadLetter(letters)))).Run(t.Context()))
			equalSlices(t, "calls", calls, tt.calls)
			if d := time.Since(began); d != tt.end {
				t.Errorf("the item was given up after %v, want %v", d, tt.end)
			}
			if !errors.Is(letter.Err, tt.err) || letter.Attempt != len(tt.calls) {
				t.Errorf("the letter says %v after %d calls, want %v after %d", letter.Err, letter.Attempt, tt.err, len(tt.calls))
			}
		})
	}
}

// A refusal that may be retried is, not before it says so.
func TestARefusalIsRetriedWhenItSays(t *testing.T) {
	inBubble(t, "a refusal", func(t *testing.T) {
		began, calls := time.Now(), 0
		fn := func(context.Context, int) error {
			if calls++; calls > 1 {
				return nil
			}
			return &admission.Refusal{Reason: admission.ReasonSaturated, RetryAfter: 4 * time.Second, Retryable: true}
		}
		must(t, flow.FromSlice([]int{1}).ForEach(fn, flow.OnError(flow.Retry(1, constant(time.Millisecond)))).Run(t.Context()))
		if d := time.Since(began); calls != 2 || d < 4*time.Second || d > 6*time.Second {
			t.Errorf("%d calls in %v, want 2 in 4 to 6 s: half as much again is jitter", calls, d)
		}
	})
}
