package brokertest

import (
	"context"
	"errors"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/stage"
)

// vanish ends a consumer without a word to the broker where the adapter can do that, and closes it otherwise.
func (c *consumer) vanish(s Stream) {
	if s.Kill == nil {
		c.mustClose()
		return
	}
	s.Kill(c.Fetcher)
	clear(c.unsettled)
}

func ackAfterSuccess(r *trial) {
	s := r.stream(Config{})
	r.fill(s, 4)
	c := r.consumer(s)
	ds := c.take(4, 4)
	c.end(done(), ds[0])
	r.settled()
	c.vanish(s)
	other := r.consumer(s)
	seen := make(tally)
	other.work(seen, 3, func(d *broker.Delivery) { other.end(done(), *d) })
	for n := 1; n < 4; n++ {
		if seen[n] == 0 {
			r.addf("message %d had not been settled, and was lost", n)
		}
	}
}

func killAndResume(r *trial) {
	const total, most = 60, 8
	s := r.stream(Config{InFlight: most})
	r.needs(s.Kill != nil, "Stream.Kill")
	r.fill(s, total)
	seen := make(tally)
	kills := 0
	for _, until := range []int{5, 13, 24, 40} {
		c := r.consumer(s)
		c.workUntil(seen, until)
		r.settled()
		s.Kill(c.Fetcher)
		kills++
	}
	c := r.consumer(s)
	c.work(seen, total, func(d *broker.Delivery) { c.end(done(), *d) })
	c.stragglers(seen)
	if got := seen.repeats(); got > kills*most {
		r.addf("%d messages were repeated after %d kills with up to %d in flight", got, kills, most)
	}
}

// workUntil processes messages until so many have been, and settles all of them but the last: it may as well die between the two.
// What was delivered with that one is not even processed.
func (c *consumer) workUntil(seen tally, until int) {
	for {
		for _, d := range c.take(4, 4) {
			if len(seen) == until {
				return
			}
			if seen[number(&d)]++; len(seen) < until {
				c.end(done(), d)
			}
		}
	}
}

// stragglers settles what still comes again.
func (c *consumer) stragglers(seen tally) {
	ctx, cancel := c.within(c.afterwards())
	defer cancel()
	for {
		ds, o := c.fetch(ctx, 5)
		for _, d := range ds {
			seen[number(&d)]++
		}
		c.end(done(), ds...)
		if o.err != nil {
			return
		}
	}
}

func downAtStart(r *trial) {
	s := r.stream(Config{})
	r.needsDown(s)
	r.fill(s, 1)
	s.Down()
	c := r.consume(waitsForBroker(r, s, "Fetcher", s.Fetcher))
	r.wantOrder(c.take(1, 1), 0)
}

// part is a Fetcher or a Sender.
type part interface {
	Open(ctx context.Context) error
	Close() error
}

// waitsForBroker sees that a part gives up with its context while the broker is down, and that another one waits until it is
// back, which is returned.
func waitsForBroker[P part](r *trial, s Stream, what string, fresh func() P) P {
	impatient, patient := fresh(), fresh()
	r.closes = append(r.closes, impatient.Close, patient.Close)
	ctx, cancel := r.within(r.either(time.Minute, time.Second))
	defer cancel()
	o := r.call(func() (int, error) { return 0, impatient.Open(ctx) })
	if u := o.unexpected(); u != "" || !errors.Is(o.err, errCause) {
		r.addf("Open of a %s returned %v%s while the broker was down, want it to wait until its context is done with %q", what, o.err, u, errCause)
	}
	over := r.start(func() (int, error) { return 0, patient.Open(r.ctx) })
	if o, waiting := r.waits(over); !waiting {
		r.fatalf("Open of a %s returned %v%s although the broker was down", what, o.err, o.unexpected())
	}
	s.Up()
	if o := r.await(over); o.err != nil || o.unexpected() != "" {
		r.fatalf("Open of a %s returned %v%s when the broker was back", what, o.err, o.unexpected())
	}
	return patient
}

func restart(r *trial) {
	const most, rounds, each = 8, 3, 20
	s := r.stream(Config{InFlight: most})
	r.needsDown(s)
	sender, c := r.sender(s), r.consumer(s)
	seen := make(tally)
	for round := range rounds {
		half := round*each + each/2
		r.send(sender, numbered(s, round*each, half))
		c.overRestart(s, sender, numbered(s, half, half+each/2), seen)
		c.work(seen, (round+1)*each, func(d *broker.Delivery) { c.end(done(), *d) })
	}
	c.stragglers(seen)
	if got := seen.repeats(); got > rounds*most {
		r.addf("%d messages were repeated after %d restarts with up to %d in flight", got, rounds, most)
	}
}

// overRestart has a Fetch, a Send and some of what is in flight outlast the absence of the broker.
func (c *consumer) overRestart(s Stream, sender broker.Sender, msgs []broker.Message, seen tally) {
	ds := c.take(4, 4)
	s.Down()
	sent := c.start(func() (int, error) { return 0, sender.Send(c.ctx, msgs) })
	c.end(done(), ds[:2]...)
	over, take := c.begin(c.ctx, 3)
	time.Sleep(c.either(10*time.Second, time.Second))
	o, waiting := c.waits(over)
	s.Up()
	c.end(done(), ds[2:]...)
	if waiting {
		o = c.await(over)
	}
	more, o := take(o)
	if o.err != nil {
		c.fatalf("Fetch returned %v over a restart", o.err)
	}
	c.end(done(), more...)
	for _, d := range append(ds, more...) {
		seen[number(&d)]++
	}
	if o := c.await(sent); o.err != nil || o.unexpected() != "" {
		c.fatalf("Send returned %v%s over a restart", o.err, o.unexpected())
	}
}

// ackWhileDown has one consumer that stays until the broker is back, and one that goes before.
func ackWhileDown(r *trial) {
	s := r.stream(Config{AckWait: r.longAckWait()})
	r.needsDown(s)
	r.fill(s, 6)
	stays, goes := r.consumer(s), r.consumer(s)
	kept, lost := stays.take(3, 3), goes.take(3, 3)
	s.Down()
	stays.end(done(), kept...)
	goes.end(done(), lost...)
	if o := goes.closed(); o.err == nil {
		r.addf("Close returned nil although the broker was down and had not been told of three messages")
	}
	s.Up()
	seen := make(tally)
	stays.work(seen, 3, func(d *broker.Delivery) { stays.end(done(), *d) })
	stays.stragglers(seen)
	stays.mustClose()
	r.consumer(s).stragglers(seen)
	for _, d := range kept {
		if n := number(&d); seen[n] > 0 {
			r.addf("message %d was delivered again although its Fetcher was still there to acknowledge it when the broker was back", n)
		}
	}
	for _, d := range lost {
		if n := number(&d); seen[n] == 0 {
			r.addf("message %d was not delivered again although its acknowledgement can't have reached the broker", n)
		}
	}
}

func deletedStream(r *trial) {
	s := r.stream(Config{})
	r.needs(s.Delete != nil, "Stream.Delete")
	sender, c := r.fill(s, 1), r.consumer(s)
	d := c.take(1, 1)
	r.wantDeleted(c, s.Delete)
	c.end(done(), d...)
	ctx, cancel := r.within(r.either(time.Minute, 5*time.Second))
	defer cancel()
	if o := r.trySend(ctx, sender, numbered(s, 1, 2)); o.err == nil {
		r.addf("Send to a stream that was deleted returned nil")
	}
}

func deletedConsumer(r *trial) {
	s := r.stream(Config{})
	r.needs(s.DeleteConsumer != nil, "Stream.DeleteConsumer")
	c := r.consumer(s)
	r.wantDeleted(c, s.DeleteConsumer)
}

// wantDeleted has a Fetch wait while what it needs is deleted, and calls it some more times.
func (r *trial) wantDeleted(c *consumer, remove func()) {
	over, take := c.begin(r.ctx, 2)
	r.settled()
	began := time.Now()
	remove()
	_, o := take(r.await(over))
	allowed := r.either(5*time.Second, 20*time.Second) // on a machine that has time it is 5 s as well
	if took := time.Since(began); took > allowed {
		r.addf("Fetch returned %v after the deletion, %v are allowed", took, allowed)
	}
	for i := range 100 {
		if o.err == stage.ErrEnd || !errors.Is(o.err, broker.ErrDeleted) {
			r.fatalf("call %d of Fetch after the deletion returned %v, want ErrDeleted", i+1, o.err)
		}
		_, o = c.fetch(r.ctx, 2)
	}
}

func longWork(r *trial) {
	s := r.stream(Config{})
	r.fill(s, 3)
	c, other := r.consumer(s), r.consumer(s)
	ds := c.take(3, 3)
	other.nothing(3*r.ackWait(), "its Fetcher is alive")
	c.end(done(), ds...)
	other.nothing(r.afterwards(), "it was done")
}

func nakDelayed(r *trial) {
	s := r.stream(Config{})
	r.fill(s, 2)
	c := r.consumer(s)
	ds := c.take(2, 2)
	wait := r.either(time.Minute, 3*time.Second)
	c.end(failed(wait), ds[0])
	c.end(done(), ds[1])
	began := time.Now()
	again := c.take(1, 1)
	took := time.Since(began)
	if number(&again[0]) != 0 {
		r.addf("message %d was delivered, want message 0", number(&again[0]))
	}
	// A real broker counts from when it was told, by its own clock, and in its own steps.
	if least := r.either(wait, wait-time.Second); took < least {
		r.addf("message 0 came again %v after it failed, its delay was %v", took, wait)
	}
	if r.Features.Bubble && took > wait+r.soon() {
		r.addf("message 0 came again %v after it failed, its delay was %v", took, wait)
	}
	c.end(done(), again...)
}
