package flow_test

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// S25: a drain is an end of the stream at every source: partial batches and groups are handed on at once, and nothing is lost.
func TestS25DrainFlushesAtOnce(t *testing.T) {
	shapes := map[string]func(flow.Flow[int], *seen[int]) flow.Pipeline{
		"batch": func(f flow.Flow[int], got *seen[int]) flow.Pipeline {
			return f.Batch(100, time.Hour).ForEach(func(ctx context.Context, vs []int) error { return pushTo(got, func(int) {}).Push(ctx, vs) })
		},
		"batch without a time": func(f flow.Flow[int], got *seen[int]) flow.Pipeline {
			return f.Batch(100, 0).ForEach(func(ctx context.Context, vs []int) error { return pushTo(got, func(int) {}).Push(ctx, vs) })
		},
		"batch of batches": func(f flow.Flow[int], got *seen[int]) flow.Pipeline {
			return f.Batch(3, time.Hour).Batch(100, 0).ForEach(func(ctx context.Context, vss [][]int) error {
				return pushTo(got, func(int) {}).Push(ctx, slices.Concat(vss...))
			})
		},
		"gather": func(f flow.Flow[int], got *seen[int]) flow.Pipeline {
			return f.To(pushTo(got, func(int) {}), flow.Gather(100, 0))
		},
		"two merged": func(f flow.Flow[int], got *seen[int]) flow.Pipeline {
			return flow.Merge(f, flow.From(stage.SourceFunc(blocked))).Parallel(3, same).ForEach(got.each)
		},
		"branches": func(f flow.Flow[int], got *seen[int]) flow.Pipeline {
			bs := f.Broadcast(2)
			return flow.Join(bs[0].To(pushTo(got, func(int) {}), flow.Gather(100, 0)), bs[1].Batch(40, 0).To(stage.Discard[[]int]()))
		},
	}
	for name, shape := range shapes {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(10)
			b.stays = true
			got := newSeen[int]()
			r := start(t, shape(flow.FromItems(b), got))
			time.Sleep(time.Minute)
			began := time.Now()
			must(t, r.Drain(t.Context()))
			equal(t, "time of the drain", time.Since(began), 0)
			equalSlices(t, "items", got.values(), ints(10))
			b.once(t)
			equal(t, "acknowledged", len(b.kind(stage.Done)), 10)
		})
	}
}

// S25: an Inlet refuses when a drain begins; what it has accepted is processed.
func TestS25DrainClosesInlets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := flow.NewInlet(flow.Edge[int]{Capacity: 10})
		got := newSeen[int]()
		r := start(t, in.Flow().ForEach(func(ctx context.Context, i int) error {
			must(t, got.each(ctx, i))
			return nap(ctx, time.Second)
		}))
		for i := range 5 {
			_, err := in.Offer(t.Context(), i)
			must(t, err)
		}
		drained := make(chan error)
		go func() { drained <- r.Drain(t.Context()) }()
		synctest.Wait()
		_, err := in.Offer(t.Context(), 5)
		wantError(t, err, flow.ErrClosed)
		must(t, <-drained)
		equalSlices(t, "items", got.values(), ints(5))
	})
}

// S25: a sink that is blocked is left to the drain's deadline; then it is a stop, and ErrStopped says so together with the cause.
func TestS25DrainWithABlockedSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(100)
		r := start(t, flow.FromItems(b).Buffer(5, flow.Block).ForEach(hang))
		synctest.Wait()
		cause := errors.New("the pod goes")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Second, cause)
		defer cancel()
		began := time.Now()
		err := r.Drain(ctx)
		wantError(t, err, flow.ErrStopped)
		wantError(t, err, cause)
		equal(t, "time", time.Since(began), 30*time.Second)
		b.once(t)
		equal(t, "given back", len(b.kind(stage.Failed)), b.next)
		equal(t, "Wait", r.Wait(), err)
		equal(t, "a second Drain", r.Drain(t.Context()), err)
	})
	inBubble(t, "an error during the drain is the run's", func(t *testing.T) {
		b := newBroker(100)
		b.stays = true
		r := start(t, flow.FromItems(b).Buffer(20, flow.Block).ForEach(func(ctx context.Context, i int) error {
			if err := nap(ctx, time.Second); err != nil || i < 5 {
				return err
			}
			return errA
		}))
		time.Sleep(1500 * time.Millisecond)
		wantError(t, r.Drain(t.Context()), errA)
		b.once(t)
	})
	inBubble(t, "retries keep their pace", func(t *testing.T) {
		tries := 0
		r := start(t, flow.From(then(1)).TryMap(func(_ context.Context, i int) (int, error) {
			if tries++; tries < 4 {
				return 0, errA
			}
			return i, nil
		}, flow.OnError(flow.Retry(9, every(time.Minute)))).To(stage.Discard[int]()))
		time.Sleep(time.Second)
		began := time.Now()
		must(t, r.Drain(t.Context()))
		equal(t, "time", time.Since(began), 3*time.Minute-time.Second)
	})
}

// RunUntilSignal drains at the signal and returns nil when the drain has finished, and an error when the grace is over.
func TestRunUntilSignal(t *testing.T) {
	raise := func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
			t.Error(err)
		}
	}
	// Without a handler the signal would end the process if it came before or after the run.
	guard := make(chan os.Signal, 8)
	signal.Notify(guard, syscall.SIGUSR1)
	defer signal.Stop(guard)

	t.Run("drained", func(t *testing.T) {
		b := newBroker(10)
		b.stays = true
		got := newSeen[int]()
		p := flow.FromItems(b).Batch(4, 0).ForEach(func(ctx context.Context, vs []int) error {
			if vs[0] == 4 {
				raise()
			}
			return pushTo(got, func(int) {}).Push(ctx, vs)
		})
		must(t, flow.RunUntilSignal(t.Context(), p, time.Minute, syscall.SIGUSR1))
		b.once(t)
		equal(t, "done", len(b.kind(stage.Done)), len(got.values()))
		if len(got.values()) < 8 {
			t.Fatalf("%d items arrived, want at least the two full batches", len(got.values()))
		}
	})
	t.Run("grace over", func(t *testing.T) {
		p := flow.From(then(1)).ForEach(func(ctx context.Context, _ int) error {
			raise()
			return hang(ctx, 0)
		})
		err := flow.RunUntilSignal(t.Context(), p, time.Millisecond, syscall.SIGUSR1)
		wantError(t, err, flow.ErrStopped)
		if !strings.Contains(err.Error(), "not done after 1ms") {
			t.Fatalf("RunUntilSignal() = %v, want it to tell the grace", err)
		}
	})
	t.Run("second signal", func(t *testing.T) {
		p := flow.From(then(1)).ForEach(func(ctx context.Context, _ int) error {
			raise()
			<-guard
			raise() // signals of one kind are merged while one is pending: the guard has seen the first
			return hang(ctx, 0)
		})
		drainGuard(guard)
		wantError(t, flow.RunUntilSignal(t.Context(), p, time.Hour, syscall.SIGUSR1), flow.ErrStopped)
	})
	t.Run("no signal", func(t *testing.T) {
		must(t, flow.RunUntilSignal(t.Context(), discard(flow.FromSlice(ints(5))), time.Second))
		err := flow.RunUntilSignal(t.Context(), discard(flow.FromSlice(ints(5)).TryMap(failAt(2, errA))), time.Second)
		wantError(t, err, errA)
		if err := flow.RunUntilSignal(t.Context(), flow.Pipeline{}, time.Second); err == nil {
			t.Fatal("an empty pipeline ran")
		}
	})
}

func drainGuard(ch <-chan os.Signal) {
	for {
		select {
		case <-ch:
		default:
			return
		}
	}
}
