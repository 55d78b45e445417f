package jetstream

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/stage"
)

func cumulative() SourceConfig {
	c := quick()
	c.Ack = Cumulative
	return c
}

// One acknowledgement covers all that it can, and never one that is not settled.
func TestCumulativeAcknowledgements(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream(limits)
	l.fill(1, 50)
	c := cumulative()
	c.AckWait = time.Minute
	f := l.open(c)
	ds := fetchAll(t, f, 50, 50)
	floor := func() uint64 { return l.info().AckFloor.Stream }
	settleAll(f, ds[1:20], doneOutcome)
	time.Sleep(50 * time.Millisecond)
	if got := floor(); got != 0 {
		t.Fatalf("acknowledged up to %d, although the first is at work", got)
	}
	settleAll(f, ds[:1], doneOutcome)
	until(t, "all 20 are acknowledged", func() bool { return floor() == 20 })
	settleAll(f, ds[20:], stage.Outcome{Kind: stage.Terminated})
	mustClose(t, f)
	l.wantNothingLeft()
	if got := f.Stats(); got.Acked != 50 {
		t.Errorf("%+v", got)
	}
}

// Many messages take far fewer acknowledgements.
func TestCumulativeAcknowledgementsAreFew(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream(limits)
	l.fill(1, 3000)
	acks := make(chan *nats.Msg, 5000)
	if _, err := l.nc.ChanSubscribe("$JS.ACK.>", acks); err != nil {
		t.Fatal(err)
	}
	f := l.open(cumulative())
	for n := 0; n < 3000; {
		ds := fetch(t, f, 100)
		settleAll(f, ds, doneOutcome)
		n += len(ds)
	}
	mustClose(t, f)
	l.wantNothingLeft()
	if len(acks) > 1000 {
		t.Errorf("%d acknowledgements for 3000 messages", len(acks))
	}
}

// What fails holds the floor until it has come again and is done. What is behind it is not delivered again.
func TestCumulativeFailures(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream(limits)
	l.fill(1, 30)
	c := cumulative()
	c.AckWait = 3 * time.Second
	f := l.open(c)
	ds := fetchAll(t, f, 30, 30)
	f.Settle(ds[4].Token, stage.Outcome{Kind: stage.Failed, Delay: 300 * time.Millisecond})
	settleAll(f, ds[:4], doneOutcome)
	settleAll(f, ds[5:], doneOutcome)
	again := fetch(t, f, 30)
	if len(again) != 1 || again[0].Sequence != 5 || again[0].Attempt != 2 {
		t.Fatalf("%+v comes again, want the fifth alone", again)
	}
	if got := l.info().AckFloor.Stream; got != 4 {
		t.Errorf("acknowledged up to %d, want 4", got)
	}
	settleAll(f, again, doneOutcome)
	until(t, "all is acknowledged", func() bool { return l.info().AckFloor.Stream == 30 })
	nothing(t, f, 3500*time.Millisecond) // an AckWait later nothing has come again
	mustClose(t, f)
}

// A process that died has left messages that nobody has processed. They are not acknowledged with those that come behind them.
func TestCumulativeAfterACrash(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream(limits)
	l.fill(1, 20)
	c := cumulative()
	c.AckWait = 600 * time.Millisecond
	nc := l.connect()
	dead := l.openOn(nc, c)
	fetchAll(t, dead, 10, 10)
	nc.Close()
	f := l.open(c)
	seen := tally{}
	for len(seen) < 20 {
		ds := fetch(t, f, 20)
		seen.add(ds)
		settleAll(f, ds, doneOutcome)
		if got := l.info().AckFloor.Stream; got > 0 && len(seen) < 20 {
			t.Fatalf("acknowledged up to %d after %v", got, seen)
		}
	}
	until(t, "all is acknowledged", func() bool { return l.info().AckFloor.Stream == 20 })
	mustClose(t, f)
}

// The same where they have been deleted from the stream since: they can't come again, and must not hold the floor for ever.
func TestCumulativeAfterACrashAndAPurge(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream(limits)
	l.fill(1, 20)
	c := cumulative()
	c.AckWait = 600 * time.Millisecond
	nc := l.connect()
	fetchAll(t, l.openOn(nc, c), 10, 10)
	f := l.open(c)
	nc.Close()
	s, err := l.js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	for seq := range uint64(10) {
		if err := s.DeleteMsg(t.Context(), seq+1); err != nil {
			t.Fatal(err)
		}
	}
	ds := fetchAll(t, f, 10, 10)
	settleAll(f, ds, doneOutcome)
	nothing(t, f, 1200*time.Millisecond)
	until(t, "all is acknowledged", func() bool { return l.info().AckFloor.Stream == 20 })
	mustClose(t, f)
}

// Close gives back what is behind the first that is not settled, too: it was processed, and nothing says so to the server.
func TestCumulativeClose(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream(limits)
	l.fill(1, 20)
	c := cumulative()
	c.AckWait = time.Minute
	f := l.open(c)
	ds := fetchAll(t, f, 20, 20)
	settleAll(f, ds[:5], doneOutcome)
	settleAll(f, ds[6:10], doneOutcome)
	mustClose(t, f)
	next := l.open(c)
	rest := fetchAll(t, next, 15, 20)
	wantNumbers(t, rest, 6, 20)
	settleAll(next, rest, doneOutcome)
	mustClose(t, next)
	l.wantNothingLeft()
}

// fetchSome fetches what comes soon. It waits for longer where it must.
func fetchSome(t *testing.T, f *Fetcher, n int, soon bool) []broker.Delivery {
	t.Helper()
	if !soon {
		return fetch(t, f, n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	dst := make([]broker.Delivery, n)
	n, _ = f.Fetch(ctx, dst) // all places may be taken by what waits behind something held here
	return dst[:n]
}

// Any order of settling, with failures, ends with everything processed and acknowledged, and nothing acknowledged before.
func TestCumulativeInAnyOrder(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream(limits)
	l.fill(1, 400)
	c := cumulative()
	c.MaxAckPending = 40
	f := l.open(c)
	done := make([]bool, 401)
	var held []uint64
	sequence := map[uint64]uint64{}
	left := 400
	for left > 0 {
		if len(held) < 20 {
			for _, d := range fetchSome(t, f, 20, len(held) > 0) {
				if done[d.Sequence] {
					t.Fatalf("%d was done and comes again", d.Sequence)
				}
				held = append(held, d.Token)
				sequence[d.Token] = d.Sequence
			}
		}
		k := rand.IntN(len(held))
		tok := held[k]
		held[k] = held[len(held)-1]
		held = held[:len(held)-1]
		if rand.IntN(4) == 0 {
			f.Settle(tok, stage.Outcome{Kind: stage.Failed})
			continue
		}
		done[sequence[tok]] = true
		left--
		f.Settle(tok, doneOutcome)
		if left%40 == 0 {
			first := uint64(1)
			for first <= 400 && done[first] {
				first++
			}
			if got := l.info().AckFloor.Stream; got >= first {
				t.Fatalf("acknowledged up to %d, but %d is not done", got, first)
			}
		}
	}
	mustClose(t, f)
	l.wantNothingLeft()
}
