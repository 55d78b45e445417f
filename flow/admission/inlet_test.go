package admission_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/stage"
)

// A permit lasts as long as what was made of the item: a caller that has left does not give it back.
func TestInletBehindAGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := admission.NewGate(admission.Config{Limit: 3, Target: 1, Concurrency: 1})
		raw := flow.NewInlet(flow.Edge[string]{Name: "orders", Capacity: 1, OnFull: flow.Reject})
		in := admission.Behind(g, raw)
		broken := errors.New("broken")
		run, err := raw.Flow().ForEach(func(ctx context.Context, v string) error {
			m, _ := stage.MetaFrom(ctx)
			equal(t, "the metadata", m.Key, "k")
			time.Sleep(time.Second)
			switch v {
			case "error":
				return broken
			case "panic":
				panic("on purpose")
			}
			return nil
		}, flow.OnError(flow.Skip)).Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx := with(stage.Meta{Key: "k"})
		inside := func(want int) {
			t.Helper()
			synctest.Wait()
			if n := g.Stats().Inside; n != want {
				t.Fatalf("%d are inside, want %d", n, want)
			}
		}
		// Each is done, or its error is told, after a second, and then its permit is back.
		for _, v := range []string{"order", "error", "panic"} {
			begin := time.Now()
			err := in.Do(ctx, v)
			if err != nil || time.Since(begin) != time.Second { // Skip settles as done
				t.Errorf("%s: %v after %v", v, err, time.Since(begin))
			}
			inside(0)
		}
		// One is worked on, one waits, and the edge has no room for a third.
		if _, err := in.Offer(ctx, "order"); err != nil {
			t.Fatal(err)
		}
		inside(1)
		if r, err := in.Put(ctx, "order"); err != nil || r.EstimatedWait <= 0 {
			t.Fatalf("%v, %v", r, err)
		}
		inside(2)
		_, err = in.Offer(ctx, "order")
		if _, full := errors.AsType[*flow.FullError](err); !full {
			t.Errorf("got %v, want a full edge", err)
		}
		inside(2)
		time.Sleep(1500 * time.Millisecond)
		inside(1)
		// A caller leaves, its order stays.
		short, cancel := context.WithTimeoutCause(ctx, 10*time.Second, broken)
		time.AfterFunc(100*time.Millisecond, cancel)
		if err := in.Do(short, "order"); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		inside(2)
		// The gate is full.
		permits := admit(ctx, t, g, 1)
		_, err = in.Offer(ctx, "order")
		wantReason(t, err, admission.ReasonSaturated)
		_, err = in.Put(ctx, "order")
		wantReason(t, err, admission.ReasonSaturated)
		wantReason(t, in.Do(ctx, "order"), admission.ReasonSaturated)
		release(permits...)
		time.Sleep(5 * time.Second)
		inside(0)
		raw.Close()
		if err := in.Do(ctx, "order"); !errors.Is(err, flow.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
		if _, err := in.Offer(ctx, "order"); !errors.Is(err, flow.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
		inside(0)
		if err := run.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// What an edge drops, and what a run that stops gives back, has no permit any more.
func TestInletGivesPermitsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := admission.NewGate(admission.Config{Limit: 10})
		raw := flow.NewInlet(flow.Edge[int]{Capacity: 2, OnFull: flow.DropOldest, SettleDropped: flow.Term})
		in := admission.Behind(g, raw)
		run, err := raw.Flow().ForEach(func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() }).Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range 6 {
			if _, err := in.Offer(t.Context(), i); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		equal(t, "one is worked on, two wait, three were dropped", g.Stats().Inside, 3)
		result := make(chan error, 1)
		go func() { result <- in.Do(t.Context(), 7) }()
		synctest.Wait()
		go func() { _, _ = in.Offer(t.Context(), 8) }()
		synctest.Wait()
		_, _ = in.Offer(t.Context(), 9)
		if err := <-result; !errors.Is(err, flow.ErrDropped) {
			t.Errorf("dropped: %v", err)
		}
		run.Stop()
		_ = run.Wait()
		equal(t, "after the stop", g.Stats().Inside, 0)
	})
}
