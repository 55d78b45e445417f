package memory_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
	"github.com/weir-go/weir/stage"
)

// failures returns what a Send says of each of n messages.
func failures(t *testing.T, err error, n int) []error {
	t.Helper()
	errs := make([]error, n)
	if err == nil {
		return errs
	}
	bad, ok := errors.AsType[*stage.BatchError](err)
	if !ok {
		t.Fatalf("Send returned %v, want a BatchError", err)
	}
	last := -1
	for _, it := range bad.Items {
		if it.Index <= last {
			t.Fatalf("index %d behind %d", it.Index, last)
		}
		errs[it.Index], last = it.Err, it.Index
	}
	return errs
}

func TestSendSaysWhatBecameOfEachMessage(t *testing.T) {
	large := broker.Message{Data: make([]byte, 101)}
	for name, c := range map[string]struct {
		msgs []broker.Message
		want []error // nil is stored
	}{
		"all fit":                       {msgs: texts("a", "b"), want: []error{nil, nil}},
		"behind a full one all are":     {msgs: texts("a", "b", strings.Repeat("c", 60), "d"), want: []error{nil, nil, broker.ErrFull, broker.ErrFull}},
		"behind a refused one not":      {msgs: []broker.Message{large, {Data: []byte("b")}}, want: []error{broker.ErrRefused, nil}},
		"what is stored is not full":    {msgs: []broker.Message{{ID: "1"}, {Data: make([]byte, 95)}, {ID: "2"}, {ID: "1"}}, want: []error{nil, broker.ErrFull, broker.ErrFull, nil}},
		"a header name with a space":    {msgs: []broker.Message{{Header: broker.Header{"a b": {"c"}}}}, want: []error{broker.ErrRefused}},
		"a header name with a colon":    {msgs: []broker.Message{{Header: broker.Header{"a:": {"c"}}}}, want: []error{broker.ErrRefused}},
		"a header without a name":       {msgs: []broker.Message{{Header: broker.Header{"": {"c"}}}}, want: []error{broker.ErrRefused}},
		"a header value of two lines":   {msgs: []broker.Message{{Header: broker.Header{"a": {"b\r\nc"}}}}, want: []error{broker.ErrRefused}},
		"a subject with a space":        {msgs: []broker.Message{{Subject: "a b"}}, want: []error{broker.ErrRefused}},
		"an identity with a line break": {msgs: []broker.Message{{ID: "a\nb"}}, want: []error{broker.ErrRefused}},
		"headers count":                 {msgs: []broker.Message{{Header: broker.Header{"a": {strings.Repeat("b", 97)}}}}, want: []error{broker.ErrRefused}},
		"ids within one Send":           {msgs: []broker.Message{{ID: "1"}, {ID: "1"}}, want: []error{nil, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, group := range []int{1, 2, 256} {
				s := memory.NewStream(memory.StreamConfig{MaxMessages: 3, MaxBytes: 100, MaxMessage: 100})
				if strings.HasPrefix(name, "behind a full") {
					_ = s.Resize(3, 60)
				}
				err := sending(t, s, memory.SendConfig{InFlight: group}).Send(t.Context(), c.msgs)
				for i, got := range failures(t, err, len(c.msgs)) {
					if want := c.want[i]; !errors.Is(got, want) || want == nil && got != nil {
						t.Errorf("in groups of %d, message %d: %v, want %v", group, i, got, want)
					}
				}
			}
		})
	}
}

func TestStatsOfASender(t *testing.T) {
	s := memory.NewStream(memory.StreamConfig{MaxMessages: 2, MaxMessage: 10})
	sender := sending(t, s, memory.SendConfig{})
	_ = sender.Send(t.Context(), []broker.Message{{Data: []byte("a")}, {Data: make([]byte, 11)}, {Data: []byte("b")}, {Data: []byte("c")}})
	if got, want := sender.Stats(), (memory.SendStats{Stored: 2, Full: 1, Refused: 1}); got != want {
		t.Fatalf("Stats() = %+v, want %+v", got, want)
	}
}

func TestAMessageLargerThanTheStreamIsRefused(t *testing.T) {
	for name, full := range map[string]broker.FullRule{"refuses new": broker.RefusesNew, "drops the oldest": broker.DropsOldest} {
		t.Run(name, func(t *testing.T) {
			s := memory.NewStream(memory.StreamConfig{MaxBytes: 100, Full: full})
			fill(t, s, "a")
			if err := s.Resize(0, 50); err != nil {
				t.Fatal(err)
			}
			wantError(t, sending(t, s, memory.SendConfig{}).Send(t.Context(), []broker.Message{{Data: make([]byte, 51)}}), broker.ErrRefused)
			if i := s.Info(); i.Messages != 1 {
				t.Fatalf("Info() = %+v: something was dropped for it", i)
			}
		})
	}
}

func TestTheOldestIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.NewStream(memory.StreamConfig{MaxMessages: 2, Full: broker.DropsOldest})
		fill(t, s, "a", "b")
		f := opened(t, s, memory.FetchConfig{})
		d := want(t, f, "a", "b")
		fill(t, s, "c")
		f.Settle(d[0].Token, done()) // of a message that is no longer there: harmless
		f.Settle(d[1].Token, failed())
		want(t, f, "b 2", "c")
		got := s.Info()
		if want := (memory.Info{Messages: 2, Bytes: 2, InFlight: 2, FirstSequence: 2, LastSequence: 3, Delivered: 4, Redelivered: 1, Dropped: 1}); got != want {
			t.Fatalf("Info() = %+v\nwant     %+v", got, want)
		}
	})
}

func TestLowerLimits(t *testing.T) {
	inBubble(t, "keep what is stored where new messages are refused", func(t *testing.T) {
		s := hundred()
		fill(t, s, "a", "b", "c")
		if err := s.Resize(2, 0); err != nil {
			t.Fatal(err)
		}
		sender, f := sending(t, s, memory.SendConfig{}), opened(t, s, memory.FetchConfig{})
		for i, d := range want(t, f, "a", "b", "c") {
			wantError(t, sender.Send(t.Context(), texts("d")), broker.ErrFull)
			if i < 2 {
				f.Settle(d.Token, done())
			}
			if i == 1 {
				break
			}
		}
		if err := sender.Send(t.Context(), texts("d")); err != nil {
			t.Fatal(err)
		}
	})
	inBubble(t, "drop what is above where the oldest are dropped", func(t *testing.T) {
		s := memory.NewStream(memory.StreamConfig{MaxMessages: 5, Full: broker.DropsOldest})
		fill(t, s, "a", "b", "c")
		if err := s.Resize(1, 0); err != nil {
			t.Fatal(err)
		}
		want(t, opened(t, s, memory.FetchConfig{}), "c")
	})
}

func TestAnIdentityIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.NewStream(memory.StreamConfig{MaxMessages: 100, DedupWindow: time.Minute, DedupIDs: 3})
		sender := sending(t, s, memory.SendConfig{})
		send := func(ids ...string) (stored uint64) {
			before := s.Info().LastSequence
			for _, id := range ids {
				if err := sender.Send(t.Context(), []broker.Message{{ID: id}}); err != nil {
					t.Fatal(err)
				}
			}
			return s.Info().LastSequence - before
		}
		if got := send("a", "a", "b", "a"); got != 2 {
			t.Fatalf("%d stored, want 2", got)
		}
		time.Sleep(time.Minute - time.Nanosecond)
		if got := send("a", "b"); got != 0 {
			t.Fatalf("%d stored just before the window has passed, want 0", got)
		}
		time.Sleep(time.Nanosecond)
		if got := send("a", "b", "c", "d", "b", "a"); got != 5 {
			t.Fatalf("%d stored behind the window, want 5: a is the oldest of four", got)
		}
	})
}

func TestAConfirmationThatIsLost(t *testing.T) {
	inBubble(t, "has the messages sent again", func(t *testing.T) {
		s := hundred()
		sender := sending(t, s, memory.SendConfig{InFlight: 2})
		s.LoseConfirmations(3)
		began := time.Now()
		if err := sender.Send(t.Context(), texts("a", "b", "c")); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 15*time.Second {
			t.Fatalf("Send took %v, want 15s", took)
		}
		want(t, opened(t, s, memory.FetchConfig{}), "a", "b", "c")
		if got, want := sender.Stats(), (memory.SendStats{Stored: 1, Duplicates: 2, Repeated: 6}); got != want {
			t.Fatalf("Stats() = %+v, want %+v", got, want)
		}
	})
	inBubble(t, "is unknown when the time is up", func(t *testing.T) {
		s := hundred()
		sender := sending(t, s, memory.SendConfig{InFlight: 2})
		s.LoseConfirmations(1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		errs := failures(t, sender.Send(ctx, texts("a", "b", "c")), 3)
		for i, err := range errs {
			wantError(t, err, context.DeadlineExceeded)
			if got, want := errors.Is(err, broker.ErrUnknown), i < 2; got != want {
				t.Errorf("message %d is unknown: %v, want %v", i, got, want)
			}
		}
		want(t, opened(t, s, memory.FetchConfig{}), "a", "b")
	})
}

func TestSendWaitsForABrokerThatIsDown(t *testing.T) {
	inBubble(t, "until it is back", func(t *testing.T) {
		s := hundred()
		sender := sending(t, s, memory.SendConfig{})
		s.Down()
		time.AfterFunc(time.Minute, s.Up)
		if err := sender.Send(t.Context(), texts("a")); err != nil {
			t.Fatal(err)
		}
		want(t, opened(t, s, memory.FetchConfig{}), "a")
	})
	inBubble(t, "or the context is done", func(t *testing.T) {
		s := hundred()
		sender := sending(t, s, memory.SendConfig{})
		s.Down()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errGaveUp)
		defer cancel()
		wantError(t, sender.Send(ctx, texts("a")), errGaveUp)
		s.Up()
		if i := s.Info(); i.LastSequence != 0 {
			t.Fatalf("Info() = %+v: the message was stored", i)
		}
	})
}

func TestAClosedSender(t *testing.T) {
	s := hundred()
	sender := sending(t, s, memory.SendConfig{})
	for range 2 {
		if err := sender.Close(); err != nil {
			t.Fatal(err)
		}
	}
	wantError(t, sender.Send(t.Context(), texts("a")), broker.ErrClosed)
	wantError(t, sender.Open(t.Context()), broker.ErrClosed)
}

func TestMessagesWithoutAnIdentityAreDifferent(t *testing.T) {
	s := hundred()
	for i := range 3 {
		fill(t, s, strconv.Itoa(i), strconv.Itoa(i))
	}
	if got := s.Info().Messages; got != 6 {
		t.Fatalf("%d stored, want 6", got)
	}
}
