package brokertest

import (
	"context"
	"errors"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/stage"
)

func openDeleted(r *trial) {
	s := r.stream(Config{})
	r.needs(s.Delete != nil, "Stream.Delete")
	s.Delete()
	f := s.Fetcher()
	r.closes = append(r.closes, f.Close)
	o := r.call(func() (int, error) { return 0, f.Open(r.ctx) })
	switch u := o.unexpected(); {
	case u != "":
		r.addf("Open of a Fetcher of a stream that does not exist %s", u)
	case o.err == nil:
		r.addf("Open of a Fetcher of a stream that does not exist returned nil")
	case o.took > r.soon():
		r.addf("Open of a Fetcher of a stream that does not exist took %v", o.took)
	}
}

func orderAtOddDemands(r *trial) {
	for _, size := range []int{1, 2, 7, 50} {
		s := r.stream(Config{})
		r.fill(s, 30)
		c := r.consumer(s)
		ds := c.take(30, size)
		r.wantOrder(ds, 0)
		c.end(done(), ds...)
	}
}

func emptyDst(r *trial) {
	s := r.stream(Config{})
	r.fill(s, 2)
	c := r.consumer(s)
	for range 3 {
		if _, o := c.fetch(r.ctx, 0); o.err != nil {
			r.addf("Fetch returned %v for an empty dst", o.err)
		}
	}
	r.wantOrder(c.take(2, 2), 0)
}

func firstOnly(r *trial) {
	s := r.stream(Config{})
	sender := r.fill(s, 3)
	c := r.consumer(s)
	for from := 0; from < 3; {
		ds, o := c.fetch(r.ctx, 10)
		if o.err != nil {
			r.fatalf("Fetch returned %v", o.err)
		}
		if o.took > r.soon() {
			r.addf("Fetch of up to 10 took %v although there was a message", o.took)
		}
		r.wantOrder(ds, from)
		from += len(ds)
	}
	over, take := c.begin(r.ctx, 10)
	if o, waiting := r.waits(over); !waiting {
		take(o)
		r.fatalf("Fetch returned (%d, %v) although there was no message", o.n, o.err)
	}
	r.send(sender, numbered(s, 3, 4))
	ds, _ := take(r.await(over))
	r.wantOrder(ds, 3)
}

func limitInFlight(r *trial) {
	const most = 4
	s := r.stream(Config{InFlight: most})
	r.fill(s, 10)
	c := r.consumer(s)
	ds := c.take(most, 10)
	over, take := c.begin(r.ctx, 10)
	if o, waiting := r.waits(over); !waiting {
		take(o)
		r.fatalf("Fetch returned (%d, %v) although %d deliveries were unsettled", o.n, o.err, most)
	}
	c.end(done(), ds[1])
	more, _ := take(r.await(over))
	r.wantOrder(more, most)
	if len(more) != 1 {
		r.addf("%d messages were delivered when one had settled", len(more))
	}
}

// demand looks at what one consumer leaves for another.
func demand(r *trial) {
	s := r.stream(Config{})
	r.fill(s, 10)
	a, b := r.consumer(s), r.consumer(s)
	first := a.take(2, 2)
	r.wantOrder(first, 0)
	rest := b.take(8, 3)
	r.wantOrder(rest, 2)
	a.end(done(), first...)
	b.end(done(), rest...)
}

func fetchDone(r *trial) {
	s := r.stream(Config{})
	r.fill(s, 1)
	c := r.consumer(s)
	for range 3 {
		if ds, o := c.fetch(r.cancelled(), 2); len(ds) == 0 && !errors.Is(o.err, errCause) {
			r.addf("Fetch returned %v for a context that was done with %q", o.err, errCause)
		}
	}
	if len(c.unsettled) == 0 {
		c.take(1, 2)
	}
}

func cancelWaiting(r *trial) {
	s := r.stream(Config{})
	sender := r.sender(s)
	c := r.consumer(s)
	for range 3 {
		ctx, cancel := context.WithCancelCause(r.ctx)
		over, take := c.begin(ctx, 5)
		r.settled()
		began := time.Now()
		cancel(errCause)
		_, o := take(r.await(over))
		if took := time.Since(began); took > r.soon() {
			r.addf("Fetch returned %v after its context was done", took)
		}
		if !errors.Is(o.err, errCause) {
			r.addf("Fetch returned %v for a context that was done with %q", o.err, errCause)
		}
	}
	r.send(sender, numbered(s, 0, 3))
	r.wantOrder(c.take(3, 5), 0)
}

// cancelRacing ends contexts at about the time at which messages come.
func cancelRacing(r *trial) {
	const total = 40
	s := r.stream(Config{})
	sender := r.sender(s)
	c := r.consumer(s)
	var got []broker.Delivery
	for i := range total {
		ctx, cancel := context.WithCancelCause(r.ctx)
		over, take := c.begin(ctx, 3)
		sent := r.start(func() (int, error) { return 0, sender.Send(r.ctx, numbered(s, i, i+1)) })
		cancel(errCause)
		ds, _ := take(r.await(over))
		got = append(got, ds...)
		if o := r.await(sent); o.err != nil || o.unexpected() != "" {
			r.fatalf("Send returned %v%s", o.err, o.unexpected())
		}
	}
	got = append(got, c.take(total-len(got), 7)...)
	r.wantOrder(got, 0)
	for _, d := range got {
		if d.Attempt > 1 {
			r.addf("message %d was lost and delivered again", number(&d))
		}
	}
}

func callers(r *trial) {
	s := r.stream(Config{})
	r.fill(s, 20)
	c := r.consumer(s)
	r.wantOrder(c.take(20, 1), 0) // each call of the kit comes from a goroutine of its own
}

func keptWhileWaiting(r *trial) {
	s := r.stream(Config{})
	sender := r.sender(s)
	c := r.consumer(s)
	for i := range 5 {
		ctx, cancel := context.WithCancelCause(r.ctx)
		over, take := c.begin(ctx, 3)
		r.settled()
		sent := r.start(func() (int, error) { return 0, sender.Send(r.ctx, numbered(s, i, i+1)) })
		cancel(errCause)
		take(r.await(over))
		r.await(sent)
	}
	time.Sleep(3 * r.ackWait())
	for _, d := range c.take(5-len(c.unsettled), 5) {
		if d.Attempt > 1 {
			r.addf("message %d was delivered again: it had waited in the Fetcher", number(&d))
		}
	}
}

func noEnd(r *trial) {
	s := r.stream(Config{})
	r.fill(s, 2)
	c := r.consumer(s)
	c.end(done(), c.take(2, 2)...)
	c.nothing(r.either(5*time.Minute, 2*time.Second), "the stream is empty")
}

func cleanEnd(r *trial) {
	s := r.stream(Config{})
	r.needs(s.End != nil, "Stream.End")
	r.fill(s, 3)
	c := r.consumer(s)
	ds := c.take(3, 3)
	s.End()
	c.nothing(r.while(), "messages are unsettled and may come again")
	c.end(done(), ds[0], ds[1])
	c.end(failed(0), ds[2])
	c.end(done(), c.take(1, 5)...)
	for range 100 {
		if _, o := c.fetch(r.ctx, 1); o.err != stage.ErrEnd {
			r.fatalf("Fetch returned %v at the end of the stream, want stage.ErrEnd", o.err)
		}
	}
}

func whatIsKnown(r *trial) {
	s := r.stream(Config{})
	sender := r.sender(s)
	began := time.Now()
	msgs := numbered(s, 0, 2)
	msgs[0].Header = broker.Header{"Color": {"red", "green"}, "Size": {"7"}}
	r.send(sender, msgs)
	c := r.consumer(s)
	first := c.take(2, 2)
	for i, d := range first {
		switch {
		case d.ID == "" || d.ID == first[1-i].ID:
			r.addf("the identity of message %d is %q, that of the other %q", i, d.ID, first[1-i].ID)
		case d.Subject != s.Subject:
			r.addf("the subject of message %d is %q, it was sent to %q", i, d.Subject, s.Subject)
		case d.Sequence > 0 && d.Sequence != first[0].Sequence+uint64(i):
			r.addf("the sequence of message %d is %d, that of the first %d", i, d.Sequence, first[0].Sequence)
		case !d.Stored.IsZero() && (d.Stored.Before(began.Add(-time.Hour)) || d.Stored.After(time.Now().Add(time.Hour))):
			r.addf("message %d was stored at %v", i, d.Stored)
		case d.Attempt > 1:
			r.addf("message %d is delivered for the %d. time", i, d.Attempt)
		}
	}
	if h := first[0].Header; len(h["Color"]) != 2 || h["Color"][1] != "green" || h.Get("Size") != "7" {
		r.addf("the headers of a message are %v, it was sent with %v", h, msgs[0].Header)
	}
	c.end(failed(0), first...)
	for _, d := range c.take(2, 2) {
		if n := number(&d); d.ID != first[n].ID || d.Sequence != first[n].Sequence || d.Attempt == first[n].Attempt && d.Attempt > 0 {
			r.addf("message %d was delivered as %q, sequence %d, attempt %d, and again as %q, sequence %d, attempt %d",
				n, first[n].ID, first[n].Sequence, first[n].Attempt, d.ID, d.Sequence, d.Attempt)
		}
	}
}

func limitsAsConfigured(r *trial) {
	full := broker.RefusesNew
	if r.Features.DropsOldest {
		full = broker.DropsOldest
	}
	s := r.stream(Config{Messages: 100, InFlight: 10, Full: full})
	sender, c := r.sender(s), r.consumer(s)
	if got := c.Limits(); got.InFlight != 10 || got.AckWait <= 0 {
		r.addf("a Fetcher of 10 in flight and an AckWait says %+v", got)
	}
	if got := sender.Limits(); got.InFlight <= 0 || got.Messages != 100 || got.Full != full {
		r.addf("a Sender to a stream of 100 messages, FullRule %d, says %+v", full, got)
	}
}
