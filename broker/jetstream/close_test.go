package jetstream

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/stage"
)

// What is not settled when a fetcher is closed comes to others at once and in order, whether it was fetched, waited, or was on its
// way. What was settled does not.
func TestCloseGivesBackAtOnce(t *testing.T) {
	t.Parallel()
	for _, mode := range []AckMode{Plain, Confirmed} {
		t.Run(mode.String(), func(t *testing.T) {
			l := newLab(t)
			l.stream()
			l.fill(1, 100)
			c := quick()
			c.AckWait, c.Ack = time.Minute, mode
			a, b := l.open(c), l.openOn(l.connect(), c)
			first := fetchAll(t, a, 5, 50) // up to 50 have been asked for
			settleAll(a, first[:2], doneOutcome)
			began := time.Now()
			mustClose(t, a)
			rest := fetchAll(t, b, 98, 100)
			if took := time.Since(began); took > 50*time.Second { // AckWait is a minute
				t.Errorf("it took %v", took)
			}
			settleAll(b, rest, doneOutcome)
			mustClose(t, b)
			seen := map[uint64]int{}
			for _, d := range rest {
				seen[d.Sequence]++
				if d.Sequence <= 2 || d.Attempt > 2 || seen[d.Sequence] > 1 {
					t.Errorf("%d comes as attempt %d", d.Sequence, d.Attempt)
				}
			}
			l.wantNothingLeft()
		})
	}
}

// Messages that the server sends while a fetcher is being closed are given back, too: none waits for AckWait.
func TestCloseInTheMiddleOfAFlood(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 600)
	c := quick()
	c.AckWait, c.MaxAckPending = time.Minute, 200
	seen := 0
	for round := 0; seen < 600; round++ {
		f := l.open(c)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		dst := make([]broker.Delivery, 200)
		n, err := f.Fetch(ctx, dst)
		cancel()
		if err != nil {
			t.Fatalf("round %d, %d to come: %v", round, 600-seen, err)
		}
		settleAll(f, dst[:n], doneOutcome)
		seen += n
		mustClose(t, f)
	}
	l.wantNothingLeft()
}

// T25: acknowledgements that were earned are flushed when a fetcher is closed at once.
func TestT25EarnedAcknowledgementsAreFlushed(t *testing.T) {
	t.Parallel()
	for _, mode := range []AckMode{Plain, Confirmed} {
		t.Run(mode.String(), func(t *testing.T) {
			l := newLab(t)
			l.stream()
			l.fill(1, 3_000)
			c := quick()
			c.AckWait, c.MaxAckPending, c.Ack = time.Minute, 3_000, mode
			f := l.open(c)
			settleAll(f, fetchAll(t, f, 3_000, 3_000), doneOutcome)
			mustClose(t, f)
			l.wantNothingLeft()
			if s := f.Stats(); s.Acked != 3_000 || s.Unproven != 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// A connection that breaks while Close waits for the server to have read everything is waited for, and what was lost with it is sent
// again.
func TestCloseOverABrokenConnection(t *testing.T) {
	t.Parallel()
	for _, mode := range []AckMode{Plain, Confirmed, Cumulative} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.stream(limits)
			l.fill(1, 20)
			wire := newCable(t, l.url)
			nc := labAt(t, wire.url).nc
			c := quick()
			c.AckWait, c.CloseTimeout, c.Ack = time.Minute, time.Minute, mode
			f := l.openOn(nc, c)
			ds := fetchAll(t, f, 20, 20)
			wire.freeze(true)
			settleAll(f, ds, doneOutcome)
			closed := make(chan error, 1)
			go func() { closed <- f.Close() }()
			until(t, "the answers are sent", func() bool { return f.Stats().Unsent == 0 })
			wire.freeze(false)
			wire.cut()
			if err := <-closed; err != nil {
				t.Errorf("Close() = %v", err)
			}
			if got := f.Stats(); got.Acked != 20 || got.Unproven != 0 {
				t.Errorf("%+v", got)
			}
			l.wantNothingLeft()
		})
	}
}

// T20: with the server gone Close takes no longer than CloseTimeout, and says how many messages it knows nothing about.
func TestT20CloseWithoutAServer(t *testing.T) {
	t.Parallel()
	for _, mode := range []AckMode{Plain, Confirmed} {
		t.Run(mode.String(), func(t *testing.T) {
			l := newLab(t)
			l.stream(onDisk)
			l.fill(1, 10)
			c := quick()
			c.AckWait, c.Ack, c.CloseTimeout = time.Minute, mode, 300*time.Millisecond
			f := l.open(c)
			ds := fetchAll(t, f, 10, 10)
			l.stop()
			until(t, "the client has noticed", func() bool { return !f.nc.IsConnected() })
			settleAll(f, ds[:4], doneOutcome) // six are neither settled nor given back
			began := time.Now()
			err := f.Close()
			if took := time.Since(began); took > 4*time.Second { // 5 s are the default
				t.Errorf("Close() took %v", took)
			}
			if err == nil || !strings.Contains(err.Error(), "of 10 messages") {
				t.Errorf("Close() = %v, want it to speak of 10 messages", err)
			}
			if again := f.Close(); again == nil || err == nil || again.Error() != err.Error() {
				t.Errorf("a second Close() = %v, want the same", again)
			}
		})
	}
}

// With a connection that is closed for good nothing waits.
func TestAConnectionThatIsClosedIsAnError(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 1)
	nc := l.connect()
	f := l.openOn(nc, quick())
	ds := fetchAll(t, f, 1, 1)
	failed := make(chan error)
	go func() {
		_, err := f.Fetch(context.Background(), make([]broker.Delivery, 1))
		failed <- err
	}()
	nc.Close()
	if err := <-failed; !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("Fetch() = %v, want %v", err, nats.ErrConnectionClosed)
	}
	settleAll(f, ds, doneOutcome)
	if err := f.Close(); err == nil || !strings.Contains(err.Error(), "of 1 messages") {
		t.Errorf("Close() = %v", err)
	}
}

// T27: Close may be called by many, and at any moment.
func TestT27CloseRaces(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 100)
	for range 50 {
		f := NewFetcher(l.nc, quick())
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := f.Open(t.Context()); err != nil && !errors.Is(err, broker.ErrClosed) {
				t.Error(err)
			}
			dst := make([]broker.Delivery, 10)
			for {
				n, err := f.Fetch(t.Context(), dst)
				settleAll(f, dst[:n], backOutcome)
				if err != nil {
					if !errors.Is(err, broker.ErrClosed) && !errors.Is(err, errNotOpen) {
						t.Error(err)
					}
					return
				}
			}
		})
		for range 2 {
			wg.Go(func() {
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if _, err := f.Fetch(t.Context(), make([]broker.Delivery, 1)); !errors.Is(err, broker.ErrClosed) {
			t.Fatalf("Fetch() = %v behind Close", err)
		}
	}
}

// Tokens that are old, invented or used twice do nothing.
func TestStrangeTokens(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 2)
	f := l.open(quick())
	ds := fetchAll(t, f, 2, 2)
	for range 3 {
		f.Settle(ds[0].Token, doneOutcome)
	}
	for _, tok := range []uint64{0, 1, 1 << 40, ^uint64(0)} {
		f.Settle(tok, stage.Outcome{Kind: stage.Terminated})
	}
	until(t, "one is acknowledged", func() bool { return f.Stats().Acked == 1 })
	if got := f.Stats(); got.Ended != 0 {
		t.Errorf("%+v", got)
	}
	f.Settle(ds[1].Token, stage.Outcome{Kind: stage.Terminated})
	mustClose(t, f)
	l.wantNothingLeft()
}
