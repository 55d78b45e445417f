package brokertest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weir-go/weir/broker"
)

func openSenderDown(r *trial) {
	s := r.stream(Config{})
	r.needsDown(s)
	s.Down()
	r.send(waitsForBroker(r, s, "Sender", s.Sender), numbered(s, 0, 1))
}

func storedWhenNil(r *trial) {
	s := r.stream(Config{})
	sender := r.sender(s)
	if o := r.trySend(r.ctx, sender, nil); o.err != nil {
		r.addf("Send of no message returned %v", o.err)
	}
	r.send(sender, numbered(s, 0, 50))
	r.wantOrder(r.consumer(s).take(50, 50), 0)
}

func sendOrder(r *trial) {
	s := r.stream(Config{})
	sender := r.sender(s)
	next := 0
	for _, n := range []int{1, 2, 7, 300} {
		r.send(sender, numbered(s, next, next+n))
		next += n
	}
	c := r.consumer(s)
	for from := 0; from < next; {
		ds, _ := c.fetch(r.ctx, 50)
		r.wantOrder(ds, from)
		c.end(done(), ds...)
		from += max(len(ds), 1)
	}
}

// wantStored compares what Send said of messages with what is right, and the messages in the stream with both.
func (r *trial) wantStored(s Stream, err error, msgs []broker.Message, stored []int) {
	for i, err := range r.failures(err, len(msgs)) {
		switch {
		case slices.Contains(stored, i) && err != nil:
			r.addf("Send said %v of message %d, for which there was room", err, i)
		case !slices.Contains(stored, i) && err == nil:
			r.addf("Send said nil of message %d, for which there was no room", i)
		case !slices.Contains(stored, i) && !isFull(err):
			r.addf("Send said %v of message %d, for which there was no room: that is no ErrFull", err, i)
		}
	}
	var got []int
	c := r.consumer(s)
	for _, d := range c.take(len(stored), 10) {
		got = append(got, number(&d))
	}
	slices.Sort(got)
	if !slices.Equal(got, stored) {
		r.addf("messages %s are stored, want %s", list(got), list(stored))
	}
	c.nothing(r.while(), "it was not stored")
	c.mustClose()
}

// isFull sees that an error says that there was no room, and nothing else.
func isFull(err error) bool {
	return errors.Is(err, broker.ErrFull) && !errors.Is(err, broker.ErrRefused) && !errors.Is(err, broker.ErrUnknown)
}

func fullIsErrFull(r *trial) {
	s := r.stream(Config{Messages: 5})
	sender := r.sender(s)
	msgs := numbered(s, 0, 8)
	o := r.trySend(r.ctx, sender, msgs)
	r.wantStored(s, o.err, msgs, []int{0, 1, 2, 3, 4})
	if o := r.trySend(r.ctx, sender, numbered(s, 8, 9)); !isFull(o.err) {
		r.addf("Send to a full stream returned %v, want ErrFull", o.err)
	}
}

func fullByBytes(r *trial) {
	r.needs(r.Features.Bytes, "Features.Bytes")
	s := r.stream(Config{Bytes: 20 << 10, Message: 8 << 10})
	sender := r.sender(s)
	stored := 0
	for ; stored < 30; stored++ {
		o := r.trySend(r.ctx, sender, []broker.Message{{Subject: s.Subject, Data: make([]byte, 1<<10)}})
		if o.err == nil {
			continue
		}
		if !isFull(o.err) {
			r.addf("Send to a stream full by bytes returned %v, want ErrFull", o.err)
		}
		break
	}
	if stored < 15 || stored > 20 {
		r.addf("%d messages of 1 KiB are stored in a stream of 20 KiB", stored)
	}
}

func roomAgain(r *trial) {
	s := r.stream(Config{Messages: 3})
	sender := r.fill(s, 3)
	c := r.consumer(s)
	ds := c.take(3, 3)
	if o := r.trySend(r.ctx, sender, numbered(s, 3, 4)); !isFull(o.err) {
		r.addf("Send returned %v although three of three messages were unsettled, want ErrFull", o.err)
	}
	c.end(done(), ds[1])
	r.eventually("Send still fails after a message was acknowledged", func() error { return sender.Send(r.ctx, numbered(s, 3, 4)) })
	if o := r.trySend(r.ctx, sender, numbered(s, 4, 5)); !isFull(o.err) {
		r.addf("Send returned %v although only one place was free and is taken, want ErrFull", o.err)
	}
}

// eventually tries until it works: an acknowledgement takes its time to a real broker.
func (r *trial) eventually(otherwise string, try func() error) {
	began := time.Now()
	for {
		o := r.call(func() (int, error) { return 0, try() })
		if o.err == nil && o.unexpected() == "" {
			return
		}
		if time.Since(began) > r.soon() {
			r.fatalf("%s: %v%s", otherwise, o.err, o.unexpected())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func lowerLimit(r *trial) {
	s := r.stream(Config{Messages: 10})
	r.needs(s.Resize != nil, "Stream.Resize")
	sender := r.fill(s, 5)
	s.Resize(3)
	if o := r.trySend(r.ctx, sender, numbered(s, 5, 6)); !isFull(o.err) {
		r.addf("Send to a stream of three messages that holds five returned %v, want ErrFull", o.err)
	}
	c := r.consumer(s)
	ds := c.take(5, 5)
	r.wantOrder(ds, 0)
	c.end(done(), ds[:3]...)
	r.eventually("Send still fails after the depth is below the limit", func() error { return sender.Send(r.ctx, numbered(s, 5, 6)) })
}

// exactUnderSenders has eight senders fill a stream.
func exactUnderSenders(r *trial) {
	const most, senders, each = 50, 8, 20
	s := r.stream(Config{Messages: most})
	calls := make([]<-chan outcome, senders)
	for i := range calls {
		sender := r.sender(s)
		calls[i] = r.start(func() (int, error) { return 0, sender.Send(r.ctx, numbered(s, i*each, (i+1)*each)) })
	}
	stored := make(map[int]bool)
	for i, over := range calls {
		o := r.await(over)
		if u := o.unexpected(); u != "" {
			r.fatalf("Send %s", u)
		}
		for k, err := range r.failures(o.err, each) {
			switch {
			case err == nil:
				stored[i*each+k] = true
			case !isFull(err):
				r.addf("Send returned %v, want ErrFull", err)
			}
		}
	}
	if len(stored) != most {
		r.addf("%d senders were told that %d messages are stored, in a stream of %d", senders, len(stored), most)
	}
	c := r.consumer(s)
	for _, d := range c.take(len(stored), 16) {
		if !stored[number(&d)] {
			r.addf("message %d is stored, its sender was told that it is not", number(&d))
		}
	}
	c.nothing(r.while(), "its sender was told that it is not stored")
}

func dropsTheOldest(r *trial) {
	r.needs(r.Features.DropsOldest, "Features.DropsOldest")
	s := r.stream(Config{Messages: 3, Full: broker.DropsOldest})
	sender := r.sender(s)
	for i := range 4 {
		r.send(sender, numbered(s, 2*i, 2*i+2))
	}
	c := r.consumer(s)
	ds := c.take(3, 3)
	r.wantOrder(ds, 5)
	r.send(sender, numbered(s, 8, 10))
	c.end(done(), ds[0]) // of a message that may be gone: harmless
	c.end(done(), ds[1], ds[2])
	r.wantOrder(c.take(2, 3), 8)
}

func nothingBehindFull(r *trial) {
	r.needs(r.Features.Bytes, "Features.Bytes")
	s := r.stream(Config{Bytes: 10 << 10, Message: 9 << 10})
	sender := r.sender(s)
	r.needs(sender.Limits().Ordered, "Limits().Ordered")
	msgs := numbered(s, 0, 3)
	for i, size := range []int{4 << 10, 8 << 10, 1 << 10} {
		msgs[i].Data = fmt.Appendf(make([]byte, 0, size), "%0*d", size, i)
	}
	o := r.trySend(r.ctx, sender, msgs)
	r.wantStored(s, o.err, msgs, []int{0})
}

// nothingBehindFullAgain is nothingBehindFull where the first answers get lost, so that messages are sent again.
func nothingBehindFullAgain(r *trial) {
	r.needs(r.Features.Bytes, "Features.Bytes")
	s := r.stream(Config{Bytes: 12 << 10, Message: 9 << 10})
	r.needs(s.LoseConfirmations != nil, "Stream.LoseConfirmations")
	sender := r.sender(s)
	r.needs(sender.Limits().Ordered, "Limits().Ordered")
	msgs := numbered(s, 0, 5)
	for i, size := range []int{2 << 10, 3 << 10, 8 << 10, 1 << 10, 1 << 10} {
		msgs[i].Data = fmt.Appendf(make([]byte, 0, size), "%0*d", size, i)
	}
	s.LoseConfirmations(2)
	o := r.trySend(r.ctx, sender, msgs)
	r.wantStored(s, o.err, msgs, []int{0, 1})
}

func fullDoesNotWait(r *trial) {
	s := r.stream(Config{Messages: 2})
	sender := r.fill(s, 2)
	for i := range 3 {
		if o := r.trySend(r.ctx, sender, numbered(s, 2+i, 4+i)); o.took > r.soon() || r.Features.Bubble && o.took > 0 {
			r.addf("Send to a full stream took %v", o.took)
		}
	}
}

func messagesNotKept(r *trial) {
	const callers, each = 8, 10
	s := r.stream(Config{InFlight: callers * each})
	sender := r.sender(s)
	calls := make([]<-chan outcome, callers)
	for i := range calls {
		calls[i] = r.start(func() (int, error) {
			msgs := numbered(s, i*each, (i+1)*each)
			for k := range msgs {
				msgs[k].Header = broker.Header{"Number": {string(msgs[k].Data)}}
			}
			err := sender.Send(r.ctx, msgs)
			for k := range msgs {
				copy(msgs[k].Data, "XXXXXX")
				msgs[k].Header["Number"][0] = "XXXXXX"
			}
			clear(msgs)
			return 0, err
		})
	}
	for _, over := range calls {
		if o := r.await(over); o.err != nil || o.unexpected() != "" {
			r.fatalf("Send by one of %d callers at once: %v%s", callers, o.err, o.unexpected())
		}
	}
	seen := make(tally)
	for _, d := range r.consumer(s).take(callers*each, 20) {
		seen[number(&d)]++
		if h := d.Header.Get("Number"); h != string(d.Data) {
			r.addf("message %q has the header %q: it was changed after Send", d.Data, h)
		}
	}
	if seen[-1] > 0 || len(seen) != callers*each {
		r.addf("%d of %d messages are as they were sent", len(seen), callers*each)
	}
}

func closeSenderTwice(r *trial) {
	s := r.stream(Config{})
	for _, sender := range []broker.Sender{r.fill(s, 1), s.Sender()} {
		for range 2 {
			if o := r.call(func() (int, error) { return 0, sender.Close() }); o.err != nil || o.unexpected() != "" {
				r.addf("Close of a Sender: %v%s", o.err, o.unexpected())
			}
		}
	}
}

func oversize(r *trial) {
	const most = 2 << 10
	s := r.stream(Config{Message: most})
	sender := r.sender(s)
	if known := sender.Limits().Message; known != 0 && known != most {
		r.addf("Limits().Message is %d, want %d", known, most)
	}
	msgs := numbered(s, 0, 5)
	msgs[1].Data = make([]byte, 2*most)
	msgs[3].Header = broker.Header{"Long": {string(bytes.Repeat([]byte("x"), 2*most))}}
	r.wantRefused(s, sender, msgs, 1, 3)
}

// wantRefused sends messages of which some must be refused, and the others stored.
func (r *trial) wantRefused(s Stream, sender broker.Sender, msgs []broker.Message, refused ...int) {
	o := r.trySend(r.ctx, sender, msgs)
	stored := 0
	for i, err := range r.failures(o.err, len(msgs)) {
		if !slices.Contains(refused, i) {
			stored++
		}
		switch {
		case slices.Contains(refused, i) && !errors.Is(err, broker.ErrRefused):
			r.addf("Send said %v of message %d, which is bad, want ErrRefused", err, i)
		case !slices.Contains(refused, i) && err != nil:
			r.addf("Send said %v of message %d, which is good", err, i)
		}
	}
	c := r.consumer(s)
	for _, d := range c.take(stored, 10) {
		if n := number(&d); n < 0 || slices.Contains(refused, n) || !carries(d.Header, msgs[n].Header) {
			r.addf("a message of %d bytes with the headers %v was delivered", len(d.Data), d.Header)
		}
	}
	c.nothing(r.while(), "it had to be refused")
}

// carries reports whether the headers that were sent have arrived. A broker may add its own.
func carries(got, sent broker.Header) bool {
	for name, values := range sent {
		if !slices.Equal(got[name], values) {
			return false
		}
	}
	return true
}

func badHeaders(r *trial) {
	s := r.stream(Config{})
	bad := []broker.Header{
		{"Break": {"one\r\nInjected: two"}},
		{"Broken\r\nInjected": {"one"}},
		{"With space": {"one"}},
		{"Colon:": {"one"}},
		{"": {"one"}},
	}
	msgs := numbered(s, 0, len(bad)+2)
	refused := make([]int, len(bad))
	for i, h := range bad {
		msgs[i+1].Header, refused[i] = h, i+1
	}
	r.wantRefused(s, r.sender(s), msgs, refused...)
}

func stableIdentity(r *trial) {
	s := r.stream(Config{})
	sender, other := r.sender(s), r.sender(s)
	msgs := numbered(s, 0, 3)
	for i := range msgs {
		msgs[i].ID = fmt.Sprint("identity-", i)
	}
	r.send(sender, msgs)
	r.send(sender, msgs[1:])
	r.send(other, msgs[:2])
	r.send(sender, numbered(s, 3, 4))
	r.send(sender, numbered(s, 4, 5)) // no identity: not the same as the one before
	c := r.consumer(s)
	r.wantOrder(c.take(5, 10), 0)
	c.nothing(r.while(), "its identity was stored already")
}

func ambiguousResults(r *trial) {
	s := r.stream(Config{})
	r.needs(s.LoseConfirmations != nil, "Stream.LoseConfirmations")
	sender := r.sender(s)
	s.LoseConfirmations(2)
	msgs := append(numbered(s, 0, 3), broker.Message{Subject: s.Subject, ID: "named", Data: []byte("000003")})
	r.send(sender, msgs)
	r.send(sender, numbered(s, 4, 5))
	c := r.consumer(s)
	r.wantOrder(c.take(5, 10), 0)
	c.nothing(r.while(), "it was stored before, and sent again because its confirmation was lost")
}

// unknownAtTheEnd loses every confirmation.
func unknownAtTheEnd(r *trial) {
	s := r.stream(Config{})
	r.needs(s.LoseConfirmations != nil, "Stream.LoseConfirmations")
	sender := r.sender(s)
	s.LoseConfirmations(1 << 20)
	ctx, cancel := r.within(r.either(time.Minute, 2*time.Second))
	defer cancel()
	msgs := numbered(s, 0, 2)
	o := r.trySend(ctx, sender, msgs)
	s.LoseConfirmations(0)
	for i, err := range r.failures(o.err, len(msgs)) {
		if !errors.Is(err, broker.ErrUnknown) {
			r.addf("Send said %v of message %d, whose confirmation never came, want ErrUnknown", err, i)
		}
	}
	r.wantOrder(r.consumer(s).take(2, 2), 0)
}
