package jetstream

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
)

// consume runs Consume on stream S until the function that it returns is called, which returns what Consume did.
func (l *lab) consume(handle func(context.Context, int) error, change ...func(*ConsumeConfig)) (end func() error) {
	l.t.Helper()
	ctx, cancel := context.WithCancel(l.t.Context())
	done := make(chan error, 1)
	change = append([]func(*ConsumeConfig){func(c *ConsumeConfig) {
		c.MaxAckPending, c.AckWait, c.PullExpiry = 100, 2*time.Second, time.Second
	}}, change...)
	go func() { done <- Consume(ctx, l.nc, broker.JSON[int](), "S", "d", handle, change...) }()
	l.t.Cleanup(cancel)
	return func() error { cancel(); return <-done }
}

// A message whose handler fails or panics comes again, after the delay. The others don't wait for it.
func TestConsumeBringsBackWhatFails(t *testing.T) {
	t.Parallel()
	const delay = 150 * time.Millisecond
	l := newLab(t)
	l.stream()
	l.fill(1, 20)
	var calls [21]atomic.Int32
	var failed [21]time.Time
	end := l.consume(func(_ context.Context, n int) error {
		attempt := calls[n].Add(1)
		if waited := time.Since(failed[n]); attempt > 1 && waited < delay-20*time.Millisecond { // the server's timers are coarse
			t.Errorf("call %d for message %d after %v", attempt, n, waited)
		}
		failed[n] = time.Now()
		switch {
		case n == 5 && attempt < 3:
			return errors.New("not now")
		case n == 6 && attempt < 2:
			panic("not now")
		}
		return nil
	}, func(c *ConsumeConfig) { c.Delay = func(int) time.Duration { return delay } })
	until(l.t, "all is done", func() bool { return l.state().Msgs == 0 })
	if err := end(); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 20; n++ {
		want := map[int]int32{5: 3, 6: 2}[n]
		if got := calls[n].Load(); got != max(want, 1) {
			t.Errorf("message %d was handled %d times", n, got)
		}
	}
}

// When ctx ends the calls under way finish, with a ctx that lives, and are acknowledged. The rest is there for others at once.
func TestConsumeDrains(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 100)
	var finished atomic.Int64
	end := l.consume(func(ctx context.Context, _ int) error {
		time.Sleep(30 * time.Millisecond)
		finished.Add(1)
		return ctx.Err()
	}, func(c *ConsumeConfig) { c.Workers, c.AckWait = 4, time.Minute })
	until(t, "some are through", func() bool { return finished.Load() >= 8 })
	if err := end(); err != nil {
		t.Fatal(err)
	}
	done := int(finished.Load())
	until(t, "the rest is left, and nothing else", func() bool {
		info := l.info()
		return info.NumAckPending+int(info.NumPending) == 100-done && int(l.state().Msgs) == 100-done
	})
	var rest atomic.Int64
	end = l.consume(func(context.Context, int) error { rest.Add(1); return nil }, func(c *ConsumeConfig) { c.AckWait = time.Minute })
	until(l.t, "all is done", func() bool { return l.state().Msgs == 0 })
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if got := int(rest.Load()); got != 100-done {
		t.Errorf("%d and %d handled of 100", done, got)
	}
}

// F11: work that takes several times AckWait is done once. What waits for it is kept alive, too.
func TestConsumeKeepsLongWorkAlive(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 6)
	var calls atomic.Int64
	end := l.consume(func(context.Context, int) error {
		calls.Add(1)
		time.Sleep(4 * time.Second)
		return nil
	}, func(c *ConsumeConfig) { c.Workers, c.AckWait, c.PullExpiry = 3, 3*time.Second, lowestPullExpiry })
	until(t, "all are done", func() bool { return l.state().Msgs == 0 })
	if info := l.info(); info.NumRedelivered != 0 || info.Delivered.Consumer != 6 {
		t.Errorf("%d deliveries, %d redelivered", info.Delivered.Consumer, info.NumRedelivered)
	}
	if err := end(); err != nil || calls.Load() != 6 {
		t.Errorf("%d calls for 6 messages, %v", calls.Load(), err)
	}
}

// A handler that does not come back is left behind when the grace is over, and the error says so.
func TestConsumeGivesUpAfterItsGrace(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 1)
	began := make(chan struct{})
	var once sync.Once
	end := l.consume(func(ctx context.Context, _ int) error {
		once.Do(func() { close(began) })
		<-ctx.Done()
		return ctx.Err()
	}, func(c *ConsumeConfig) { c.Grace = 50 * time.Millisecond })
	<-began
	if err := end(); !errors.Is(err, flow.ErrStopped) {
		t.Errorf("%v, want ErrStopped", err)
	}
	if l.state().Msgs != 1 {
		t.Error("a message that was not handled is gone")
	}
}

func TestConsumeNeedsAStream(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	handle := func(context.Context, int) error { return nil }
	err := Consume(t.Context(), l.nc, broker.JSON[int](), "S", "d", handle)
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("%v, want ErrStreamNotFound", err)
	}
	err = Consume(t.Context(), l.nc, broker.JSON[int](), "a.b", "d", handle, func(c *ConsumeConfig) { c.Workers = -1 })
	if err == nil {
		t.Error("wrong settings were taken")
	}
}

// Where the server is down from the start, the end of ctx ends the waiting.
func TestConsumeEndsWithoutAServer(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stop()
	nc := l.connect()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- Consume(ctx, nc, broker.JSON[int](), "S", "d", func(context.Context, int) error { return nil })
	}()
	select {
	case err := <-done:
		t.Fatalf("it has ended: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	cancel()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("%v, want nil", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it goes on")
	}
}
