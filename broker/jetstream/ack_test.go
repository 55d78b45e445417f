package jetstream

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/stage"
)

func TestVerbsOnTheWire(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		verb  verb
		delay time.Duration
		want  string
	}{
		{ack, 0, "+ACK"},
		{nak, 0, "-NAK"},
		{nak, -time.Second, "-NAK"},
		{nak, 1500 * time.Millisecond, `-NAK {"delay":1500000000}`},
		{term, 0, "+TERM weir: terminated by the pipeline"},
		{inProgress, 0, "+WPI"},
	} {
		if got := string(c.verb.body(int64(c.delay), nil)); got != c.want {
			t.Errorf("verb %d with %v: %q, want %q", c.verb, c.delay, got, c.want)
		}
	}
}

// A failure has the message delivered again: at once, or after its delay, with its attempts counted.
func TestFailuresComeAgainAfterTheirDelay(t *testing.T) {
	t.Parallel()
	for _, mode := range []AckMode{Plain, Confirmed} {
		t.Run(mode.String(), func(t *testing.T) {
			l := newLab(t)
			l.stream()
			l.fill(1, 2)
			c := quick()
			c.AckWait, c.Ack = time.Minute, mode
			f := l.open(c)
			ds := fetchAll(t, f, 2, 2)
			f.Settle(ds[0].Token, stage.Outcome{Kind: stage.Failed, Delay: 700 * time.Millisecond})
			f.Settle(ds[1].Token, stage.Outcome{Kind: stage.Failed})
			began := time.Now()
			again := fetchAll(t, f, 2, 2)
			if again[0].Sequence != 2 || again[1].Sequence != 1 || again[0].Attempt != 2 || again[1].Attempt != 2 {
				t.Errorf("got %+v", again)
			}
			if took := time.Since(began); took < 600*time.Millisecond {
				t.Errorf("the delayed one came after %v", took)
			}
			settleAll(f, again, doneOutcome)
			mustClose(t, f)
			l.wantNothingLeft()
			if s := f.Stats(); s.Naked != 2 || s.Acked != 2 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// Terminated makes the server forget the message, and gives it a reason that says nothing about it.
func TestTerminatedMessagesAreForgotten(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 1)
	said := make(chan *nats.Msg, 1)
	if _, err := l.nc.ChanSubscribe("$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.S.d", said); err != nil {
		t.Fatal(err)
	}
	f := l.open(quick())
	f.Settle(fetchAll(t, f, 1, 1)[0].Token, stage.Outcome{Kind: stage.Terminated, Err: errNotOpen})
	select {
	case m := <-said:
		if !strings.Contains(string(m.Data), "weir: terminated by the pipeline") {
			t.Errorf("the reason is not in %s", m.Data)
		}
	case <-time.After(patience):
		t.Error("nothing was said")
	}
	mustClose(t, f)
	l.wantNothingLeft()
}

// A place in MaxAckPending is free when the server has confirmed the answer, and no earlier.
func TestConfirmedAnswersAreCounted(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 500)
	c := quick()
	c.Ack, c.MaxAckPending = Confirmed, 20
	f := l.open(c)
	for n := 0; n < 500; {
		ds := fetch(t, f, 20)
		settleAll(f, ds, doneOutcome)
		n += len(ds)
	}
	mustClose(t, f)
	if s, info := f.Stats(), l.info(); s.Acked != 500 || info.NumAckPending != 0 {
		t.Errorf("%d confirmed, %d unsettled at the server", s.Acked, info.NumAckPending)
	}
}

// Answers that nobody confirms are repeated, except for naks, which could fail somebody else's delivery.
func TestUnconfirmedAnswersAreRepeated(t *testing.T) {
	t.Parallel()
	c := quick()
	c.Ack = Confirmed
	f := NewFetcher(nil, c)
	places := map[verb]int32{}
	for _, v := range []verb{ack, nak, term} {
		i := f.slots.take()
		places[v] = i
		s := &f.slots.all[i]
		s.state, s.verb, s.asked, s.reply = asked, v, 100, "$JS.ACK."
	}
	if f.askAgain(100); len(f.out) != 0 {
		t.Fatalf("%d answers repeated before their time", len(f.out))
	}
	f.askAgain(101)
	if len(f.out) != 2 || f.out[0].verb != ack || f.out[1].verb != term || f.slots.all[places[nak]].state != free {
		t.Fatalf("repeated %+v", f.out)
	}
	tok := f.out[0].token
	f.confirm(tok) // the first one was late, not lost
	f.sent(&f.out[0], 200)
	f.confirm(tok)
	if f.counts.acked != 1 || f.slots.used != 1 {
		t.Errorf("%d confirmed, %d in use, want one each", f.counts.acked, f.slots.used)
	}
}

// An end that was announced comes when nothing waits and nothing comes again.
func TestEndWhenEmpty(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 3)
	c := quick()
	c.AckWait = time.Minute
	f := l.open(c)
	f.EndWhenEmpty()
	ds := fetchAll(t, f, 3, 3)
	f.Settle(ds[0].Token, stage.Outcome{Kind: stage.Failed, Delay: 600 * time.Millisecond})
	again := fetchAll(t, f, 1, 1) // it was not the end
	settleAll(f, again, doneOutcome)
	f.Settle(ds[1].Token, doneOutcome) // the third is held until the end has been seen
	for range 3 {
		if n, err := f.Fetch(t.Context(), make([]broker.Delivery, 1)); n != 0 || err != stage.ErrEnd {
			t.Fatalf("Fetch() = %d, %v, want %v", n, err, stage.ErrEnd)
		}
	}
	f.Settle(ds[2].Token, doneOutcome)
	mustClose(t, f)
	l.wantNothingLeft()
}

// What another process works on may come again, so it is no end.
func TestNoEndWhileOthersAreAtWork(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 1)
	c := quick()
	c.AckWait = time.Minute
	other := l.openOn(l.connect(), c)
	fetchAll(t, other, 1, 1)
	f := l.open(c)
	f.EndWhenEmpty()
	nothing(t, f, 400*time.Millisecond)
	mustClose(t, other)
	settleAll(f, fetchAll(t, f, 1, 1), doneOutcome)
	if _, err := f.Fetch(t.Context(), make([]broker.Delivery, 1)); err != stage.ErrEnd {
		t.Fatalf("Fetch() = %v, want %v", err, stage.ErrEnd)
	}
}
