package memory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
	"github.com/weir-go/weir/stage"
)

func hundred() *memory.Stream { return memory.NewStream(memory.StreamConfig{MaxMessages: 100}) }

func TestDeliveriesSayWhatIsKnownOfAMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.NewStream(memory.StreamConfig{Name: "orders", MaxMessages: 10})
		stored := time.Now()
		msg := broker.Message{Subject: "orders.new", ID: "x", Header: broker.Header{"A": {"1", "2"}}, Data: []byte("body")}
		if err := sending(t, s, memory.SendConfig{}).Send(t.Context(), []broker.Message{msg}); err != nil {
			t.Fatal(err)
		}
		msg.Header["A"][0], msg.Data[0] = "overwritten", '!'
		time.Sleep(time.Minute)
		d := want(t, opened(t, s, memory.FetchConfig{}), "body")[0]
		if d.ID != "orders:1" || d.Subject != "orders.new" || d.Header.Get("A") != "1" || d.Sequence != 1 || !d.Stored.Equal(stored) || d.Attempt != 1 {
			t.Fatalf("delivery is %+v", d)
		}
	})
}

func TestFetchWaits(t *testing.T) {
	inBubble(t, "for a message", func(t *testing.T) {
		s := hundred()
		f := opened(t, s, memory.FetchConfig{})
		time.AfterFunc(time.Hour, func() { fill(t, s, "a") })
		began := time.Now()
		want(t, f, "a")
		if took := time.Since(began); took != time.Hour {
			t.Fatalf("Fetch took %v, want 1h", took)
		}
	})
	inBubble(t, "for a place among those in flight", func(t *testing.T) {
		s := hundred()
		fill(t, s, "a", "b", "c")
		f := opened(t, s, memory.FetchConfig{InFlight: 2})
		d := want(t, f, "a", "b")
		wantNothing(t, f)
		time.AfterFunc(time.Second, func() { f.Settle(d[1].Token, done()) })
		want(t, f, "c")
	})
	inBubble(t, "for a delay to pass", func(t *testing.T) {
		s := hundred()
		fill(t, s, "a", "b")
		f := opened(t, s, memory.FetchConfig{})
		d := want(t, f, "a", "b")
		f.Settle(d[1].Token, done())
		f.Settle(d[0].Token, stage.Outcome{Kind: stage.Failed, Delay: time.Minute})
		began := time.Now()
		want(t, f, "a 2")
		if took := time.Since(began); took != time.Minute {
			t.Fatalf("Fetch took %v, want 1m", took)
		}
	})
}

func TestWhatComesAgainComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hundred()
		fill(t, s, "a", "b", "c")
		f := opened(t, s, memory.FetchConfig{InFlight: 3})
		d := want(t, f, "a", "b", "c")
		fill(t, s, "d")
		f.Settle(d[2].Token, failed())
		f.Settle(d[0].Token, failed())
		want(t, f, "a 2", "c 2")
		f.Settle(d[1].Token, done())
		want(t, f, "d")
	})
}

func TestADeliveryIsKeptAlive(t *testing.T) {
	inBubble(t, "while its fetcher lives", func(t *testing.T) {
		s := hundred()
		fill(t, s, "a")
		f, other := opened(t, s, memory.FetchConfig{}), opened(t, s, memory.FetchConfig{})
		d := want(t, f, "a")
		time.Sleep(time.Hour)
		wantNothing(t, other)
		f.Settle(d[0].Token, done())
		if i := s.Info(); i.Messages != 0 || i.Redelivered != 0 {
			t.Fatalf("Info() = %+v", i)
		}
	})
	inBubble(t, "until its fetcher dies", func(t *testing.T) {
		s := hundred()
		fill(t, s, "a")
		f, other := opened(t, s, memory.FetchConfig{}), opened(t, s, memory.FetchConfig{})
		want(t, f, "a")
		time.Sleep(time.Hour + 15*time.Second) // the last sign of life is 5 s ago
		f.Kill()
		began := time.Now()
		want(t, other, "a 2")
		if took := time.Since(began); took != 25*time.Second {
			t.Fatalf("it was delivered again after %v, want 25s", took)
		}
	})
	inBubble(t, "not without signs of life", func(t *testing.T) {
		s := hundred()
		fill(t, s, "a")
		f := opened(t, s, memory.FetchConfig{KeepAlive: -1})
		first := want(t, f, "a")
		began := time.Now()
		second := want(t, f, "a 2")
		if took := time.Since(began); took != 30*time.Second {
			t.Fatalf("it was delivered again after %v, want 30s", took)
		}
		f.Settle(first[0].Token, failed()) // somebody else has it: counted, not failed again
		wantNothing(t, f)
		f.Settle(second[0].Token, done())
		if got, want := f.Stats(), (memory.FetchStats{Delivered: 2, Redelivered: 1, Done: 1, Late: 1}); got != want {
			t.Fatalf("Stats() = %+v, want %+v", got, want)
		}
	})
	inBubble(t, "for ever where AckWait is", func(t *testing.T) {
		s := memory.NewStream(memory.StreamConfig{MaxMessages: 1, AckWait: -1})
		fill(t, s, "a")
		f, other := opened(t, s, memory.FetchConfig{}), opened(t, s, memory.FetchConfig{})
		want(t, f, "a")
		f.Kill()
		time.Sleep(1000 * time.Hour)
		wantNothing(t, other)
	})
}

func TestAnAcknowledgementAfterAckWaitCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hundred()
		fill(t, s, "a")
		slow, other := opened(t, s, memory.FetchConfig{KeepAlive: -1}), opened(t, s, memory.FetchConfig{})
		first := want(t, slow, "a")
		second := want(t, other, "a 2")
		slow.Settle(first[0].Token, done())
		if i := s.Info(); i.Messages != 0 {
			t.Fatalf("Info() = %+v, want it to be empty", i)
		}
		other.Settle(second[0].Token, failed())
		wantNothing(t, other)
	})
}

func TestTheEnd(t *testing.T) {
	inBubble(t, "waits for what is unsettled", func(t *testing.T) {
		s := hundred()
		fill(t, s, "a")
		f, other := opened(t, s, memory.FetchConfig{}), opened(t, s, memory.FetchConfig{})
		d := want(t, f, "a")
		s.End()
		wantNothing(t, other)
		f.Settle(d[0].Token, failed())
		d = want(t, other, "a 2")
		time.AfterFunc(time.Minute, func() { other.Settle(d[0].Token, done()) })
		for range 3 {
			if n, err := f.Fetch(t.Context(), make([]broker.Delivery, 1)); n != 0 || err != stage.ErrEnd {
				t.Fatalf("Fetch returned (%d, %v), want (0, ErrEnd)", n, err)
			}
		}
	})
	inBubble(t, "refuses what comes later", func(t *testing.T) {
		s := hundred()
		sender := sending(t, s, memory.SendConfig{})
		s.End()
		wantError(t, sender.Send(t.Context(), texts("a")), broker.ErrRefused)
	})
}

func TestADeletedStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hundred()
		fill(t, s, "a", "b")
		f, sender := opened(t, s, memory.FetchConfig{InFlight: 1}), sending(t, s, memory.SendConfig{})
		d := want(t, f, "a")
		s.Down()
		time.AfterFunc(time.Second, s.Delete)
		for range 3 {
			_, err := f.Fetch(t.Context(), make([]broker.Delivery, 1))
			wantError(t, err, broker.ErrDeleted)
		}
		wantError(t, sender.Send(t.Context(), texts("c")), broker.ErrDeleted)
		wantError(t, s.Fetcher(memory.FetchConfig{}).Open(t.Context()), broker.ErrDeleted)
		f.Settle(d[0].Token, done())
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if i := s.Info(); i.Messages != 0 || i.Bytes != 0 {
			t.Fatalf("Info() = %+v, want it to be empty", i)
		}
	})
}

func TestDeletedConsumers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hundred()
		fill(t, s, "a", "b")
		f := opened(t, s, memory.FetchConfig{})
		d := want(t, f, "a", "b")
		f.Settle(d[0].Token, failed())
		again := want(t, f, "a 2")
		s.DeleteConsumers()
		for range 3 {
			_, err := f.Fetch(t.Context(), make([]broker.Delivery, 1))
			wantError(t, err, broker.ErrDeleted)
		}
		f.Settle(again[0].Token, done()) // nobody is there to hear it
		want(t, opened(t, s, memory.FetchConfig{}), "a 3", "b 2")
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestClose(t *testing.T) {
	inBubble(t, "gives back in order and at once", func(t *testing.T) {
		s := hundred()
		fill(t, s, "a", "b", "c")
		f, other := opened(t, s, memory.FetchConfig{}), opened(t, s, memory.FetchConfig{})
		d := want(t, f, "a", "b", "c")
		f.Settle(d[1].Token, done())
		for range 2 {
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		}
		f.Settle(d[0].Token, done()) // too late, and harmless
		want(t, other, "a 2", "c 2")
		if got := f.Stats().GivenBack; got != 2 {
			t.Fatalf("GivenBack = %d, want 2", got)
		}
		_, err := f.Fetch(t.Context(), make([]broker.Delivery, 1))
		wantError(t, err, broker.ErrClosed)
		wantError(t, f.Open(t.Context()), broker.ErrClosed)
	})
	inBubble(t, "waits for a broker that is down", func(t *testing.T) {
		s := hundred()
		fill(t, s, "a", "b")
		f := opened(t, s, memory.FetchConfig{})
		d := want(t, f, "a", "b")
		s.Down()
		f.Settle(d[0].Token, done())
		time.AfterFunc(4*time.Second, s.Up)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if i := s.Info(); i.Messages != 1 || i.InFlight != 0 {
			t.Fatalf("Info() = %+v, want one message that nobody has", i)
		}
	})
	inBubble(t, "says what could not be told", func(t *testing.T) {
		s := hundred()
		fill(t, s, "a", "b")
		f := opened(t, s, memory.FetchConfig{CloseWait: 2 * time.Second})
		d := want(t, f, "a", "b")
		s.Down()
		f.Settle(d[0].Token, done())
		const message = "memory: close of a consumer of memory: the broker is down and has not been told of 2 messages"
		for range 2 {
			if err := f.Close(); err == nil || err.Error() != message {
				t.Fatalf("Close returned %v, want %s", err, message)
			}
		}
		s.Up()
		want(t, opened(t, s, memory.FetchConfig{}), "a 2", "b 2")
	})
	inBubble(t, "before Open", func(t *testing.T) {
		if err := hundred().Fetcher(memory.FetchConfig{}).Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestNothingWorksBeforeOpen(t *testing.T) {
	s := hundred()
	if _, err := s.Fetcher(memory.FetchConfig{}).Fetch(t.Context(), nil); err == nil {
		t.Error("Fetch returned nil")
	}
	if err := s.Sender(memory.SendConfig{}).Send(t.Context(), nil); err == nil {
		t.Error("Send returned nil")
	}
}

func TestABrokerThatIsDown(t *testing.T) {
	inBubble(t, "at the start is waited for", func(t *testing.T) {
		s := hundred()
		s.Down()
		time.AfterFunc(time.Hour, s.Up)
		began := time.Now()
		opened(t, s, memory.FetchConfig{})
		sending(t, s, memory.SendConfig{})
		if took := time.Since(began); took != time.Hour {
			t.Fatalf("Open took %v, want 1h", took)
		}
	})
	inBubble(t, "is told what settled when it is back", func(t *testing.T) {
		s := hundred()
		fill(t, s, "a", "b", "c")
		f := opened(t, s, memory.FetchConfig{InFlight: 2})
		d := want(t, f, "a", "b")
		s.Down()
		f.Settle(d[0].Token, done())
		f.Settle(d[1].Token, failed())
		wantNothing(t, f)
		if i := s.Info(); i.Messages != 3 {
			t.Fatalf("Info() = %+v: an outcome reached a broker that was down", i)
		}
		time.AfterFunc(time.Second, s.Up)
		want(t, f, "b 2", "c")
		if i := s.Info(); i.Messages != 2 {
			t.Fatalf("Info() = %+v, want two messages", i)
		}
	})
	inBubble(t, "misses the signs of life", func(t *testing.T) {
		s := hundred()
		fill(t, s, "a")
		f := opened(t, s, memory.FetchConfig{})
		want(t, f, "a")
		s.Down()
		time.Sleep(time.Minute)
		s.Up()
		want(t, f, "a 2")
	})
}
