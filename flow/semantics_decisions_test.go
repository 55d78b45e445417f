package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// every is a backoff that always waits for d.
func every(d time.Duration) flow.Backoff {
	return func() backoff.BackOff { return backoff.NewConstantBackOff(d) }
}

// letterBox is a sink that keeps dead letters, or refuses them.
type letterBox struct {
	seen[stage.DeadLetter]
	refuse error
	calls  int
}

func (b *letterBox) Push(ctx context.Context, ds []stage.DeadLetter) error {
	b.mu.Lock()
	b.calls++
	b.mu.Unlock()
	if b.refuse != nil {
		return b.refuse
	}
	for _, d := range ds {
		_ = b.each(ctx, d)
	}
	return nil
}

func (b *letterBox) numbers() (vs []int) {
	for _, d := range b.values() {
		vs = append(vs, d.Value.(int))
	}
	slices.Sort(vs)
	return vs
}

// S11: an ordered Parallel keeps the order of what survives: skipped and dead-lettered items free their ticket, a retried one
// holds back those behind it; the others do not wait for it when the order does not matter.
func TestS11OrderOfWhatSurvives(t *testing.T) {
	inBubble(t, "skip", func(t *testing.T) {
		fn := func(_ context.Context, i int) (int, error) {
			time.Sleep(time.Duration(i*7919%13) * time.Millisecond)
			if i%3 == 0 {
				return 0, errA
			}
			return i, nil
		}
		got, err := flow.FromSlice(ints(600)).Parallel(5, fn, flow.OnError(flow.Skip)).Collect(t.Context(), 600)
		must(t, err)
		var want []int
		for i := range 600 {
			if i%3 != 0 {
				want = append(want, i)
			}
		}
		equalSlices(t, "items", got, want)
	})
	retried := func(t *testing.T, opts ...flow.ParallelOption) *seen[int] {
		t.Helper()
		tries := 0
		fn := func(_ context.Context, i int) (int, error) {
			if i == 2 {
				if tries++; tries < 4 {
					return 0, errA
				}
			}
			return i, nil
		}
		got := newSeen[int]()
		opts = append(opts, flow.OnError(flow.Retry(5, every(time.Second))))
		must(t, flow.FromSlice(ints(12)).Parallel(3, fn, opts...).ForEach(got.each).Run(t.Context()))
		return got
	}
	inBubble(t, "retry, ordered", func(t *testing.T) {
		got := retried(t)
		equalSlices(t, "items", got.values(), ints(12))
		equal(t, "when item 1 came", got.times()[1], 0)
		equal(t, "when item 3 came", got.times()[3], 3*time.Second)
	})
	inBubble(t, "retry, unordered", func(t *testing.T) {
		got := retried(t, flow.Unordered)
		equal(t, "when item 2 came", got.times()[slices.Index(got.values(), 2)], 3*time.Second)
		equal(t, "when all came that its worker did not have in hand", got.times()[7], 0)
	})
}

// S11: what is finished runs ahead of an unfinished item by at most 4 n chunks of 16.
func TestS11HowFarResultsRunAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		started := 0
		fn := func(ctx context.Context, i int) (int, error) {
			mu.Lock()
			started++
			mu.Unlock()
			if i == 0 {
				return i, nap(ctx, time.Hour)
			}
			return i, nil
		}
		r := start(t, flow.From(&endless{}).Parallel(2, fn).To(stage.Discard[int]()))
		time.Sleep(time.Minute)
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		if started > 4*2*16 {
			t.Errorf("%d calls began behind an unfinished one, want at most %d", started, 4*2*16)
		}
		if bound := r.Graph().Bound; started > bound {
			t.Errorf("%d calls began, more than the bound of %d", started, bound)
		}
		stopped(t, r)
	})
}

// S12: decisions are tried in order, with the waits of the backoff in between; If restricts one; what none answers stops the run.
func TestS12DecisionsInOrder(t *testing.T) {
	box, full := &letterBox{}, &letterBox{refuse: errB}
	isA := func(err error) bool { return errors.Is(err, errA) }
	cases := []struct {
		name    string
		on      flow.ErrOption
		err     error
		calls   int
		time    time.Duration
		wantErr bool
		outcome stage.OutcomeKind
	}{
		{"stop", flow.OnError(flow.Stop), errA, 1, 0, true, stage.Failed},
		{"skip", flow.OnError(flow.Skip), errA, 1, 0, false, stage.Done},
		{"retry, then stop", flow.OnError(flow.Retry(3, every(time.Second))), errA, 4, 3 * time.Second, true, stage.Failed},
		{"retry, then skip", flow.OnError(flow.Retry(3, every(time.Second)), flow.Skip), errA, 4, 3 * time.Second, false, stage.Done},
		{
			"two retries", flow.OnError(flow.Retry(2, every(time.Second)), flow.Retry(1, every(time.Hour)), flow.Skip),
			errA, 4, time.Hour + 2*time.Second, false, stage.Done,
		},
		{"permanent", flow.OnError(flow.Retry(3, every(time.Second)), flow.Skip), backoff.Permanent(errA), 1, 0, false, stage.Done},
		{"permanent, then stop", flow.OnError(flow.Retry(3, every(time.Second))), backoff.Permanent(errA), 1, 0, true, stage.Failed},
		{"dead letter", flow.OnError(flow.DeadLetter(box)), errA, 1, 0, false, stage.Done},
		{"dead letter that can't be stored, then stop", flow.OnError(flow.DeadLetter(full)), errA, 1, 0, true, stage.Failed},
		{"dead letter that can't be stored, then another", flow.OnError(flow.DeadLetter(full), flow.DeadLetter(box)), errA, 1, 0, false, stage.Done},
		{"if, matching", flow.OnError(flow.If(isA, flow.Skip)), fmt.Errorf("call: %w", errA), 1, 0, false, stage.Done},
		{"if, not matching", flow.OnError(flow.If(isA, flow.Skip)), errB, 1, 0, true, stage.Failed},
		{"if, the next", flow.OnError(flow.If(isA, flow.Stop), flow.Skip), errB, 1, 0, false, stage.Done},
		{"if in if", flow.OnError(flow.If(isA, flow.If(func(error) bool { return false }, flow.Skip))), errA, 1, 0, true, stage.Failed},
		{
			"a backoff that ends early", flow.OnError(flow.Retry(9, func() backoff.BackOff {
				return backoff.WithMaxRetries(backoff.NewConstantBackOff(time.Second), 2)
			}), flow.Skip), errA, 3, 2 * time.Second, false, stage.Done,
		},
	}
	for _, c := range cases {
		for _, shape := range []string{"trymap", "parallel", "foreach", "sink", "gather"} {
			inBubble(t, c.name+" "+shape, func(t *testing.T) {
				calls := 0
				fn := func(_ context.Context, i int) (int, error) {
					if i == 0 {
						calls++
						return 0, c.err
					}
					return i, nil
				}
				b := newBroker(1)
				f := flow.FromItems(b)
				sink := stage.SinkFunc(func(_ context.Context, vs []int) error { _, err := fn(nil, vs[0]); return err })
				p := map[string]flow.Pipeline{
					"trymap":   f.TryMap(fn, c.on).To(stage.Discard[int]()),
					"parallel": f.Parallel(2, fn, c.on).To(stage.Discard[int]()),
					"foreach":  f.ForEach(func(ctx context.Context, i int) error { _, err := fn(ctx, i); return err }, c.on),
					"sink":     f.To(sink, c.on),
					"gather":   f.To(sink, c.on, flow.Gather(5, 0)),
				}[shape]
				began := time.Now()
				err := p.Run(t.Context())
				equal(t, "calls", calls, c.calls)
				equal(t, "time", time.Since(began), c.time)
				equal(t, "whether the run failed", err != nil, c.wantErr)
				b.once(t)
				equal(t, "outcome", b.outcome(t, 0).Kind, c.outcome)
				if c.wantErr {
					wantError(t, err, c.err)
					wantError(t, b.outcome(t, 0).Err, c.err)
				}
			})
		}
	}
}

// S12: a dead letter tells what, where, why and how often.
func TestS12DeadLetterTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		box := &letterBox{}
		f := flow.FromSlice(ints(3)).Stamp(func(i int, _ stage.Meta) stage.Meta { return stage.Meta{Key: fmt.Sprint("k", i)} })
		must(t, f.TryMap(failAt(1, errA), flow.Name("parse"),
			flow.OnError(flow.Retry(2, every(time.Second)), flow.DeadLetter(box))).To(stage.Discard[int]()).Run(t.Context()))
		ds := box.values()
		equal(t, "letters", len(ds), 1)
		d := ds[0]
		if d.Value != 1 || d.Stage != "parse" || !errors.Is(d.Err, errA) || d.Attempt != 3 || d.Meta.Key != "k1" {
			t.Fatalf("dead letter = %+v", d)
		}
	})
}

// S12: the wait before a retry ends with the run.
func TestS12RetryWaitEndsWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(1)
		r := start(t, flow.FromItems(b).TryMap(failAt(0, errA), flow.OnError(flow.Retry(5, every(time.Hour)), flow.Skip)).To(stage.Discard[int]()))
		time.Sleep(time.Minute)
		began := time.Now()
		stopped(t, r)
		equal(t, "time", time.Since(began), 0)
		equal(t, "outcome", b.outcome(t, 0).Kind, stage.Failed)
		wantError(t, b.outcome(t, 0).Err, flow.ErrStopped)
	})
}

// Timeout limits one call. What fails because of it is an ordinary failure, and the run goes on as the decisions say.
func TestTimeoutOfOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fn := func(ctx context.Context, i int) (int, error) {
			if i == 3 {
				return 0, nap(ctx, time.Hour)
			}
			return i, nap(ctx, time.Second)
		}
		on := []flow.CallOption{flow.Timeout(5 * time.Second), flow.OnError(flow.Skip)}
		began := time.Now()
		got, err := flow.FromSlice(ints(6)).TryMap(fn, on...).Collect(t.Context(), 6)
		must(t, err)
		equalSlices(t, "items", got, []int{0, 1, 2, 4, 5})
		equal(t, "time", time.Since(began), 10*time.Second)
		err = flow.FromSlice(ints(6)).To(stage.SinkFunc(func(ctx context.Context, _ []int) error { return hang(ctx, 0) }),
			flow.Timeout(time.Second), flow.Name("slow")).Run(t.Context())
		wantStage(t, err, "slow")
		wantError(t, err, context.DeadlineExceeded)
		if !strings.HasPrefix(err.Error(), "slow: ") {
			t.Fatalf("error = %q", err)
		}
	})
}
