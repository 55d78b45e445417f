package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/internal/natstest"
)

// sendWhile sends the numbers from 1 to total while something bad happens to the server, and returns when both have ended.
func sendWhile(t *testing.T, s *Sender, total, batch int, bad func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var sending sync.WaitGroup
	sending.Go(func() {
		for first := 1; first <= total; first += batch {
			if err := s.Send(ctx, numbered(first, min(first+batch-1, total))); err != nil {
				t.Error(err)
				return
			}
		}
	})
	bad()
	sending.Wait()
}

// wantOnce checks that the numbers from 1 to total are stored, each once, and in order if ordered.
func wantOnce(t *testing.T, got []string, total int, ordered bool) {
	t.Helper()
	if !ordered {
		slices.SortFunc(got, func(a, b string) int {
			x, _ := strconv.Atoi(a)
			y, _ := strconv.Atoi(b)
			return x - y
		})
	}
	wantNumbersIn(t, got, 1, total)
}

// F5 and F7: the server is killed twice, and comes back. What was confirmed is there, what was on its way is sent again.
func TestAServerThatIsKilled(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprintf("ordered=%v", ordered), func(t *testing.T) {
			const total = 3000
			p := natstest.Child(t, t.TempDir(), 0)
			l := labAt(t, p.URL())
			l.stream(onDisk)
			s := l.sender(SenderConfig{Window: 64, Ordered: ordered})
			sendWhile(t, s, total, 200, func() {
				for _, n := range []int64{200, 1200} {
					until(t, "some are stored", func() bool { return s.Stats().Published >= n })
					p.Kill()
					p.Start()
				}
			})
			wantOnce(t, bodies(t, l.js), total, ordered)
			if st := s.Stats(); st.Unknown != 0 || st.Late != 0 || st.Published != total {
				t.Errorf("%+v", st)
			}
		})
	}
}

// The leader of a replicated stream resigns, is stopped, and comes back.
func TestAReplicatedStream(t *testing.T) {
	const total = 1500
	c := natstest.Cluster(t, 3)
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprintf("ordered=%v", ordered), func(t *testing.T) {
			l := labAt(t, c.URL())
			c.AwaitReady()
			l.stream(onDisk, replicas(3))
			t.Cleanup(func() { _ = l.js.DeleteStream(context.Background(), "S") })
			s := l.sender(SenderConfig{Window: 64, Ordered: ordered})
			sendWhile(t, s, total, 100, func() {
				until(t, "some are stored", func() bool { return s.Stats().Published >= 200 })
				c.StepDownStream("S")
				until(t, "more are stored", func() bool { return s.Stats().Published >= 500 })
				down := c.StreamLeader("S")
				c.Stop(down)
				until(t, "more are stored", func() bool { return s.Stats().Published >= 900 })
				c.Restart(down)
			})
			wantOnce(t, bodies(t, l.js), total, ordered)
		})
	}
}

// A full stream of three replicas refuses exactly what doesn't fit, and none that is behind a refused one.
func TestAFullReplicatedStream(t *testing.T) {
	c := natstest.Cluster(t, 3)
	l := labAt(t, c.URL())
	l.stream(replicas(3), depth(20))
	s := l.sender(SenderConfig{Ordered: true, Window: 16})
	got := l.drain(600)
	for msgs := numbered(1, 600); len(msgs) > 0; {
		n := min(len(msgs), 50)
		errs := failures(t, s.Send(t.Context(), msgs[:n]), n)
		stored := count(errs, nil)
		if count(errs, broker.ErrFull) != n-stored {
			t.Fatalf("%v", errs)
		}
		msgs = msgs[stored:]
	}
	wantNumbersIn(t, <-got, 1, 600)
}

func TestCtxEndsInTheMiddle(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		t.Run(fmt.Sprintf("ordered=%v", ordered), func(t *testing.T) {
			l := newLab(t)
			l.stream()
			s := l.sender(SenderConfig{Window: 8, Ordered: ordered})
			cause := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			go func() {
				for l.nc.Stats().OutMsgs < 300 {
					time.Sleep(100 * time.Microsecond)
				}
				cancel(cause)
			}()
			began := time.Now()
			errs := failures(t, s.Send(ctx, numbered(1, 20_000)), 20_000)
			took := time.Since(began)
			stored, unknown := count(errs, nil), count(errs, broker.ErrUnknown)
			if stored == 0 || stored == 20_000 || count(errs, cause) != 20_000-stored {
				t.Errorf("%d stored, %d for the cause", stored, count(errs, cause))
			}
			if unknown > 8 {
				t.Errorf("%d are unknown, at most the window can be", unknown)
			}
			if have := int(l.state().Msgs); have < stored || have > stored+unknown {
				t.Errorf("%d are stored, Send said %d and %d unknown", have, stored, unknown)
			}
			t.Logf("Send returned after %v", took)
			if err := s.Send(t.Context(), numbered(1, 1000)); err != nil { // it goes on where it was
				t.Error(err)
			}
		})
	}
}

// T51: every way to be full is told as ErrFull, nothing that was refused counts as stored, and what is stored is what the stream
// says it has.
func TestT51EveryLimit(t *testing.T) {
	const limit = 20
	perSubject := func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject, c.DiscardNewPerSubject = limit, true }
	inBytes := func(c *jetstream.StreamConfig) { c.MaxMsgs, c.MaxBytes, c.MaxMsgSize = -1, 2000, 200 }
	tests := []struct {
		name   string
		change []func(*jetstream.StreamConfig)
	}{
		{"messages", []func(*jetstream.StreamConfig){depth(limit)}},
		{"messages of a subject", []func(*jetstream.StreamConfig){perSubject}},
		{"bytes", []func(*jetstream.StreamConfig){inBytes}},
		{"bytes in a file", []func(*jetstream.StreamConfig){inBytes, onDisk}},
		{"messages and bytes", []func(*jetstream.StreamConfig){inBytes, depth(limit)}},
		{"messages, and messages of a subject", []func(*jetstream.StreamConfig){perSubject, depth(limit + 10)}},
	}
	for _, tt := range tests {
		for _, ordered := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s ordered=%v", tt.name, ordered), func(t *testing.T) {
				l := newLab(t)
				l.stream(tt.change...)
				s := l.sender(SenderConfig{Ordered: ordered})
				errs := failures(t, s.Send(t.Context(), numbered(1, 2*limit)), 2*limit)
				stored, full := count(errs, nil), count(errs, broker.ErrFull)
				if stored == 0 || full == 0 || stored+full != 2*limit {
					t.Errorf("%d stored, %d full of %d", stored, full, 2*limit)
				}
				if have := int(l.state().Msgs); have != stored {
					t.Errorf("the stream has %d messages, Send said %d", have, stored)
				}
				wantNumbersIn(t, bodies(t, l.js), 1, stored)
			})
		}
	}
}

// T51: a limit below what is there keeps everything, and refuses until there is room again.
func TestT51ALimitBelowTheDepth(t *testing.T) {
	l := newLab(t)
	l.stream()
	s := l.sender(SenderConfig{})
	if err := s.Send(t.Context(), numbered(1, 10)); err != nil {
		t.Fatal(err)
	}
	l.update(depth(4))
	if err := s.Send(t.Context(), numbered(11, 11)); !errors.Is(err, broker.ErrFull) {
		t.Errorf("%v, want ErrFull", err)
	}
	if got := l.state().Msgs; got != 10 {
		t.Errorf("the stream has %d messages, want 10", got)
	}
	<-l.drain(7)
	until(t, "there is room again", func() bool { return s.Send(t.Context(), numbered(11, 11)) == nil })
}

// With the server away for longer than the stream remembers IDs, a message whose fate was unknown may be stored twice. It is counted.
func TestLateRepetitionsAreCounted(t *testing.T) {
	l := newLab(t)
	l.stream(func(c *jetstream.StreamConfig) { c.Duplicates = 100 * time.Millisecond })
	s := l.sender(SenderConfig{AckTimeout: 40 * time.Millisecond})
	l.update(func(c *jetstream.StreamConfig) { c.NoAck = true })
	done := make(chan error, 1)
	go func() { done <- s.Send(t.Context(), numbered(1, 1)) }()
	until(t, "it is late", func() bool { return s.Stats().Late > 0 })
	l.update(func(c *jetstream.StreamConfig) { c.NoAck = false })
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := l.state().Msgs; got < 2 {
		t.Errorf("%d messages are stored: the test shows nothing", got)
	}
}

// Of messages that are sent again because answers were lost, none that is behind one without room is stored, wherever the stream is.
func TestNothingIsStoredBehindAFullOneWhenAnswersAreLost(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprintf("replicas=%d", n), func(t *testing.T) {
			t.Parallel()
			l := labAt(t, natstest.Cluster(t, 3).URL())
			l.stream(replicas(n), onDisk, func(c *jetstream.StreamConfig) { c.MaxMsgs, c.MaxBytes, c.MaxMsgSize = -1, 12<<10, 9<<10 })
			for lost := range 8 {
				l.sendFull(t, lost)
			}
		})
	}
}

// What is sent again after lost answers takes few rounds, not one for each message, whatever of it is stored.
func TestAnOrderIsFoundAgainInAFewRounds(t *testing.T) {
	t.Parallel()
	const total = 300
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprintf("replicas=%d", n), func(t *testing.T) {
			t.Parallel()
			l := labAt(t, natstest.Cluster(t, 3).URL())
			l.stream(replicas(n))
			var lose atomic.Int64
			s := &deafSender{NewSender(l.nc, SenderConfig{Stream: "S", Ordered: true}), &lose}
			if err := s.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer func() { must(t, s.Close()) }()
			if err := s.Send(t.Context(), numbered(1, 100)); err != nil {
				t.Fatal(err)
			}
			lose.Store(150)
			if err := s.Send(t.Context(), numbered(1, total)); err != nil { // the first 100 are there
				t.Fatal(err)
			}
			wantNumbersIn(t, bodies(t, l.js), 1, total)
			if got := s.Stats().Retried; got > 3*total { // a round for each would be 45,000
				t.Errorf("%d messages sent again, of %d", got, total)
			}
		})
	}
}

// sendFull sends five messages of which the third does not fit, and loses the first answers.
func (l *lab) sendFull(t *testing.T, lost int) {
	t.Helper()
	l.purge()
	var lose atomic.Int64
	s := &deafSender{NewSender(l.nc, SenderConfig{Stream: "S", Ordered: true, AckTimeout: 100 * time.Millisecond}), &lose}
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() { must(t, s.Close()) }()
	msgs := numbered(1, 5)
	for i, size := range []int{2 << 10, 3 << 10, 8 << 10, 1 << 10, 1 << 10} {
		msgs[i].ID = fmt.Sprintf("%d of %d", i, lost)
		msgs[i].Data = fmt.Appendf(nil, "%0*d", size, i)
	}
	lose.Store(int64(lost))
	errs := failures(t, s.Send(t.Context(), msgs), 5)
	if errs[0] != nil || errs[1] != nil || count(errs[2:], broker.ErrFull) != 3 {
		t.Errorf("%d lost answers: %v, want room for the first two", lost, errs)
	}
	if got := l.state().Msgs; got != 2 {
		t.Errorf("%d lost answers: %d messages are stored, want 2", lost, got)
	}
}

// purge empties stream S.
func (l *lab) purge() {
	l.t.Helper()
	l.answered(func(ctx context.Context) error {
		s, err := l.js.Stream(ctx, "S")
		if err != nil {
			return err
		}
		return s.Purge(ctx)
	})
}
