package jetstream

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// T47: what waits for work, and work that takes longer than AckWait, are kept alive. Nothing comes twice.
func TestT47LongWorkIsKeptAlive(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 20)
	c := quick()
	c.AckWait = 4 * time.Second
	a, b := l.open(c), l.openOn(l.connect(), c) // two replicas
	inA := fetchAll(t, a, 1, 10)                // nine more are on their way, or wait for a Fetch
	inB := fetchAll(t, b, 5, 5)
	time.Sleep(5500 * time.Millisecond)
	if got := l.info().NumRedelivered; got != 0 {
		t.Errorf("%d messages were delivered again while they were at work", got)
	}
	settleAll(a, inA, doneOutcome)
	settleAll(b, inB, doneOutcome)
	settleAll(a, fetchAll(t, a, 14, 10), doneOutcome)
	mustClose(t, a)
	mustClose(t, b)
	l.wantNothingLeft()
	if got := a.Stats().LeaseLost + b.Stats().LeaseLost; got != 0 {
		t.Errorf("%d leases lost, want none", got)
	}
}

// A message that is held for too long is left to the server, so that a stage that hangs does not keep it for ever.
func TestWhatIsHeldForTooLongIsLeftToTheServer(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 1)
	c := quick()
	c.MaxHold = 600 * time.Millisecond // AckWait is 2 s
	f := l.open(c)
	held := fetchAll(t, f, 1, 1)
	again := fetchAll(t, f, 1, 1) // a second delivery of the same
	if again[0].Sequence != 1 || again[0].Attempt != 2 {
		t.Fatalf("got %+v", again[0])
	}
	until(t, "it is counted", func() bool { s := f.Stats(); return s.Overheld >= 1 && s.LeaseLost >= 1 })
	f.Settle(held[0].Token, stage.Outcome{Kind: stage.Failed}) // says nothing: somebody else has it
	settleAll(f, again, doneOutcome)
	mustClose(t, f)
	if s := f.Stats(); s.Naked != 0 || s.Acked != 1 {
		t.Errorf("%+v, want no nak and one ack", s)
	}
}

// T48: an acknowledgement that comes after the message has been given to somebody else is counted, and harmless.
func TestT48ALateAcknowledgementIsCounted(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 1)
	c := quick()
	c.MaxHold = 600 * time.Millisecond // AckWait is 2 s
	a, b := l.open(c), l.openOn(l.connect(), c)
	inA := fetchAll(t, a, 1, 1)
	inB := fetchAll(t, b, 1, 1)
	until(t, "the loss is noticed", func() bool { return a.Stats().LeaseLost == 1 })
	settleAll(a, inA, doneOutcome)
	until(t, "the late one has arrived", func() bool { return l.info().NumAckPending == 0 })
	settleAll(b, inB, doneOutcome)
	mustClose(t, a)
	mustClose(t, b)
	if got := a.Stats().LeaseLost; got != 1 {
		t.Errorf("%d leases lost, want 1", got)
	}
}

// T49: all of MaxAckPending waits for a delay. That is said within seconds.
func TestT49StalledAtMaxAckPending(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 5)
	c := quick()
	c.MaxAckPending, c.PullExpiry = 2, lowestPullExpiry
	f := l.open(c)
	settleAll(f, fetchAll(t, f, 2, 2), stage.Outcome{Kind: stage.Failed, Delay: time.Hour})
	until(t, "it is said", func() bool {
		nothing(t, f, 1500*time.Millisecond)
		return strings.Contains(f.Stats().Stalled, "stalled at max ack pending")
	})
	if err := f.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "max ack pending") {
		t.Errorf("Ready() = %v", err)
	}
}

// T50: newer messages evict older ones that are at work. Acknowledging those is harmless, and it goes on.
func TestT50EvictedMessages(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream(limits, dropOld, func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 5 })
	if _, err := l.js.CreateConsumer(t.Context(), "S", jetstream.ConsumerConfig{
		Durable: "d", AckPolicy: jetstream.AckExplicitPolicy, DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
		FilterSubject: "s.>", MaxAckPending: 3, AckWait: 2 * time.Second,
	}); err != nil {
		t.Fatal(err)
	}
	f := l.open(SourceConfig{Stream: "S", Durable: "d", PullExpiry: time.Second, Ack: Confirmed})
	last := uint64(0)
	for round := range 20 {
		l.fill(20*round+1, 20*round+20)
		ds := fetch(t, f, 3)
		l.fill(1, 10) // evicts them
		settleAll(f, ds, doneOutcome)
		if ds[0].Sequence <= last {
			t.Fatalf("round %d went back from %d to %d", round, last, ds[0].Sequence)
		}
		last = ds[len(ds)-1].Sequence
	}
	mustClose(t, f)
}

// T55: the consumer is deleted, as a server that restarts deletes one that was inactive. It is made again where that was asked for.
func TestT55ADeletedConsumerIsMadeAgain(t *testing.T) {
	t.Parallel()
	for name, retention := range map[string]func(*jetstream.StreamConfig){"limits": limits, "work queue": func(*jetstream.StreamConfig) {}} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.stream(retention)
			l.fill(1, 50)
			c := quick()
			c.Recreate = true
			f := l.open(c)
			settleAll(f, fetchAll(t, f, 20, 20), doneOutcome)
			until(t, "the floor has moved", func() bool { return l.info().AckFloor.Stream == 20 })
			nothingButTheRest := fetchAll(t, f, 10, 10) // at work while it happens
			time.Sleep(1200 * time.Millisecond)         // the floor has been asked for
			if err := l.js.DeleteConsumer(t.Context(), "S", "d"); err != nil {
				t.Fatal(err)
			}
			seen := map[uint64]bool{}
			for len(seen) < 30 {
				for _, d := range fetch(t, f, 30) {
					if d.Sequence <= 20 && name == "work queue" {
						t.Fatalf("%d was acknowledged before, and comes again", d.Sequence)
					}
					if d.Sequence > 20 {
						seen[d.Sequence] = true
					}
					f.Settle(d.Token, doneOutcome)
				}
			}
			settleAll(f, nothingButTheRest, doneOutcome)
			if got := f.Stats().Recreated; got != 1 {
				t.Errorf("made again %d times, want 1", got)
			}
			mustClose(t, f)
		})
	}
}

// F7 and T55: where it was not asked for, or the stream is gone, that is an error. It repeats, and is no clean end.
func TestADeletedConsumerOrStreamIsAnError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		recreate bool
		remove   func(l *lab) error
	}{
		"consumer":              {false, func(l *lab) error { return l.js.DeleteConsumer(l.t.Context(), "S", "d") }},
		"stream":                {false, func(l *lab) error { return l.js.DeleteStream(l.t.Context(), "S") }},
		"stream, with Recreate": {true, func(l *lab) error { return l.js.DeleteStream(l.t.Context(), "S") }},
	} {
		for _, when := range []string{"while it waits", "before it asks", "while messages are at work"} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				l := newLab(t)
				l.stream()
				cfg := quick()
				cfg.Recreate = c.recreate
				f := l.open(cfg)
				fetched := make(chan error, 1)
				wait := func() {
					ctx, cancel := context.WithTimeout(t.Context(), patience) // required are 5 s, on a machine that has time
					defer cancel()
					_, err := f.Fetch(ctx, make([]broker.Delivery, 1))
					fetched <- err
				}
				switch when {
				case "while it waits":
					go wait()
					until(t, "it waits", func() bool { return l.info().NumWaiting == 1 })
				case "while messages are at work":
					l.fill(1, 3)
					fetchAll(t, f, 3, 3)
				}
				if err := c.remove(l); err != nil {
					t.Fatal(err)
				}
				if when != "while it waits" {
					wait()
				}
				err := <-fetched
				if !errors.Is(err, broker.ErrDeleted) || !strings.Contains(err.Error(), strings.Split(name, ",")[0]) {
					t.Errorf("Fetch() = %v, want ErrDeleted", err)
				}
				if _, again := f.Fetch(t.Context(), make([]broker.Delivery, 1)); again == nil || err == nil || again.Error() != err.Error() {
					t.Errorf("a second Fetch() = %v, want the same", again)
				}
			})
		}
	}
}

// T57: an acknowledgement goes out when the pipeline is through, not at the hand-over; and a stream that is idle for longer than a request
// stands is no error.
func TestT57AcknowledgedWhenItIsDone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	c := quick()
	c.PullExpiry = lowestPullExpiry
	src := NewSource(l.nc, broker.Bytes(), c)
	var once sync.Once
	broken := errors.New("the sink is broken")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	run := flow.FromItems(src).Buffer(10, flow.Block).ForEach(func(context.Context, []byte) error {
		once.Do(cancel)
		return broken
	})
	var wg sync.WaitGroup
	wg.Go(func() {
		time.Sleep(900 * time.Millisecond) // two requests expire
		l.fill(1, 5)
	})
	if err := run.Run(ctx); !errors.Is(err, broken) {
		t.Errorf("Run() = %v, want %v", err, broken)
	}
	wg.Wait()
	if info := l.info(); info.AckFloor.Stream != 0 || int(info.NumPending)+info.NumAckPending != 5 {
		t.Errorf("floor %d, %d pending, %d unsettled: want nothing acknowledged", info.AckFloor.Stream, info.NumPending, info.NumAckPending)
	}
	next := l.open(quick())
	settleAll(next, fetchAll(t, next, 5, 5), doneOutcome)
	mustClose(t, next)
}

// T58: while a dependency is down messages come again with longer and longer pauses, instead of using up their attempts at once.
func TestT58FailuresAreSpreadOverTime(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 1)
	src := NewSource(l.nc, broker.Bytes(), quick())
	var up time.Time
	attempts := 0
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	work := flow.FromItems(src).ForEach(func(context.Context, []byte) error {
		if attempts++; attempts == 1 {
			up = time.Now().Add(time.Second)
		}
		if time.Now().Before(up) {
			return errors.New("the dependency is down")
		}
		cancel()
		return nil
	}, flow.OnError(flow.Redeliver))
	if err := work.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if attempts < 2 || attempts > 8 {
		t.Errorf("%d attempts within 1 s, want a few", attempts)
	}
}
