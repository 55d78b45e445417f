package brokertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/stage"
)

// consumer is a Fetcher and what it has delivered.
type consumer struct {
	*trial
	broker.Fetcher
	unsettled map[uint64]broker.Delivery
}

// guard is what the kit puts behind dst.
const guard = ^uint64(0)

// fetch calls Fetch once for up to n deliveries, and looks for what is wrong whatever the check.
func (c *consumer) fetch(ctx context.Context, n int) ([]broker.Delivery, outcome) {
	over, take := c.begin(ctx, n)
	return take(c.await(over))
}

// begin calls Fetch in another goroutine; take is to be given what came of it.
func (c *consumer) begin(ctx context.Context, n int) (over <-chan outcome, take func(outcome) ([]broker.Delivery, outcome)) {
	const guards = 2
	buf := make([]broker.Delivery, n+guards)
	for i := range buf {
		buf[i].Token = guard
	}
	over = c.start(func() (int, error) { return c.Fetch(ctx, buf[:n]) })
	return over, func(o outcome) ([]broker.Delivery, outcome) {
		switch s := o.unexpected(); {
		case s != "":
			c.fatalf("Fetch %s", s)
		case o.n < 0 || o.n > n:
			c.breach("F3", "Fetch returned n = %d for a dst of %d", o.n, n)
			panic(stopped{})
		case o.n == 0 && o.err == nil && n > 0:
			c.breach("F2", "Fetch returned (0, nil) for a dst of %d", n)
			panic(stopped{})
		}
		for i := range buf[n:] {
			if buf[n+i].Token != guard {
				c.breach("F3", "Fetch wrote to dst[%d] of a dst of %d", n+i, n)
			}
		}
		c.note(buf[:o.n])
		return buf[:o.n], o
	}
}

// note remembers deliveries until they settle.
func (c *consumer) note(ds []broker.Delivery) {
	for _, d := range ds {
		if other, ok := c.unsettled[d.Token]; ok {
			c.breach("delivery", "the token %d names %q and %q, of which neither has settled", d.Token, other.Data, d.Data)
		}
		c.unsettled[d.Token] = d
	}
	if most := c.Limits().InFlight; len(c.unsettled) > most {
		c.breach("F3", "%d deliveries are unsettled, Limits().InFlight is %d", len(c.unsettled), most)
	}
}

// take fetches exactly n deliveries, in calls of up to size.
func (c *consumer) take(n, size int) []broker.Delivery {
	ctx, cancel := c.within(c.patience() / 2)
	defer cancel()
	var got []broker.Delivery
	for len(got) < n {
		ds, o := c.fetch(ctx, min(size, n-len(got)))
		if got = append(got, ds...); len(got) < n {
			c.goesOn(o.err, len(got), n)
		}
	}
	return got
}

// goesOn ends the check where Fetch gave up before all messages had come.
func (c *consumer) goesOn(err error, got, want int) {
	switch {
	case errors.Is(err, errCause):
		c.fatalf("%d of %d messages were delivered, and no more within %v", got, want, c.patience()/2)
	case err != nil:
		c.fatalf("%d of %d messages were delivered, then Fetch returned %v", got, want, err)
	}
}

// tally counts deliveries of each message.
type tally map[int]int

// work fetches and settles until total different messages have been processed.
func (c *consumer) work(seen tally, total int, process func(d *broker.Delivery)) {
	ctx, cancel := c.within(c.patience() / 2)
	defer cancel()
	for len(seen) < total {
		ds, o := c.fetch(ctx, 5)
		for i := range ds {
			seen[number(&ds[i])]++
			process(&ds[i])
		}
		if len(seen) < total {
			c.goesOn(o.err, len(seen), total)
		}
	}
}

// repeats is how many deliveries were not the first of their message.
func (t tally) repeats() int {
	n := 0
	for _, times := range t {
		n += times - 1
	}
	return n
}

// nothing sees that nothing is delivered for a while.
func (c *consumer) nothing(d time.Duration, why string) {
	ctx, cancel := c.within(d)
	defer cancel()
	ds, o := c.fetch(ctx, 1)
	switch {
	case len(ds) > 0:
		c.addf("message %d was delivered, for the %d. time, although %s", number(&ds[0]), ds[0].Attempt, why)
	case !errors.Is(o.err, errCause):
		c.addf("Fetch returned %v although it had to wait: %s", o.err, why)
	}
}

// end settles deliveries.
func (c *consumer) end(how stage.Outcome, ds ...broker.Delivery) {
	for _, d := range ds {
		delete(c.unsettled, d.Token)
		o := c.call(func() (int, error) {
			c.Settle(d.Token, how)
			return 0, nil
		})
		if s := o.unexpected(); s != "" {
			c.breach("F5", "Settle %s", s)
			panic(stopped{})
		}
	}
}

// closed closes the Fetcher and returns what Close said.
func (c *consumer) closed() outcome {
	o := c.call(func() (int, error) { return 0, c.Close() })
	if s := o.unexpected(); s != "" {
		c.fatalf("Close %s", s)
	}
	clear(c.unsettled)
	return o
}

// mustClose closes the Fetcher, which must work.
func (c *consumer) mustClose() {
	if o := c.closed(); o.err != nil {
		c.addf("Close returned %v", o.err)
	}
}

// wantOrder compares what was delivered with the numbers from, from+1, and so on.
func (r *trial) wantOrder(ds []broker.Delivery, from int) {
	got := make([]int, len(ds))
	want := make([]int, len(ds))
	for i := range ds {
		got[i], want[i] = number(&ds[i]), from+i
	}
	if !slices.Equal(got, want) {
		r.addf("messages %s were delivered, want %s", list(got), list(want))
	}
}

func done() stage.Outcome { return stage.Outcome{} }

func failed(delay time.Duration) stage.Outcome {
	return stage.Outcome{Kind: stage.Failed, Err: errCause, Delay: delay}
}

// numbered makes the messages from to to-1.
func numbered(s Stream, from, to int) []broker.Message {
	var msgs []broker.Message
	for i := from; i < to; i++ {
		msgs = append(msgs, broker.Message{Subject: s.Subject, Data: fmt.Appendf(nil, "%06d", i)})
	}
	return msgs
}

// number is the number of a message, -1 where it is none of the kit's.
func number(d *broker.Delivery) int {
	n, err := strconv.Atoi(string(d.Data))
	if err != nil {
		return -1
	}
	return n
}

// send sends messages that must be stored.
func (r *trial) send(s broker.Sender, msgs []broker.Message) {
	if o := r.trySend(r.ctx, s, msgs); o.err != nil {
		r.fatalf("Send of %d messages returned %v", len(msgs), o.err)
	}
}

func (r *trial) trySend(ctx context.Context, s broker.Sender, msgs []broker.Message) outcome {
	o := r.call(func() (int, error) { return 0, s.Send(ctx, msgs) })
	if u := o.unexpected(); u != "" {
		r.fatalf("Send %s", u)
	}
	return o
}

// fill opens a Sender and sends n messages, from 0 on.
func (r *trial) fill(s Stream, n int) broker.Sender {
	sender := r.sender(s)
	r.send(sender, numbered(s, 0, n))
	return sender
}

// failures returns the error of each of n messages.
func (r *trial) failures(err error, n int) []error {
	errs := make([]error, n)
	if err == nil {
		return errs
	}
	bad, ok := errors.AsType[*stage.BatchError](err)
	if !ok {
		return slices.Repeat([]error{err}, n)
	}
	for _, it := range bad.Items {
		if it.Index < 0 || it.Index >= n || errs[it.Index] != nil {
			r.breach("S3", "a BatchError lists index %d twice, or it is none of %d messages", it.Index, n)
			panic(stopped{})
		}
		errs[it.Index] = it.Err
	}
	return errs
}
