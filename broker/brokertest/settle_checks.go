package brokertest

import (
	"sync"
	"time"

	"github.com/weir-go/weir/stage"
)

func doneAndTerminated(r *trial) {
	s := r.stream(Config{})
	r.fill(s, 4)
	c := r.consumer(s)
	ds := c.take(4, 4)
	c.end(done(), ds[0], ds[2])
	c.end(stage.Outcome{Kind: stage.Terminated, Err: errCause}, ds[1], ds[3])
	r.gone(s, c, "it was done or terminated")
}

func failedAtOnce(r *trial) {
	s := r.stream(Config{})
	r.fill(s, 3)
	c := r.consumer(s)
	ds := c.take(3, 3)
	began := time.Now()
	c.end(failed(0), ds...)
	again := c.take(3, 3)
	if took := time.Since(began); took > r.soon() {
		r.addf("messages that failed without a delay came again after %v", took)
	}
	seen := make(map[int]bool)
	for _, d := range again {
		seen[number(&d)] = true
		if d.Attempt > 0 && d.Attempt != 2 {
			r.addf("message %d came again as attempt %d", number(&d), d.Attempt)
		}
	}
	if len(seen) != 3 {
		r.addf("%d of 3 failed messages came again", len(seen))
	}
	c.end(done(), again...)
}

func oncePerToken(r *trial) {
	s := r.stream(Config{})
	r.fill(s, 2)
	c := r.consumer(s)
	ds := c.take(2, 2)
	c.end(done(), ds...)
	c.end(failed(0), ds...)
	r.gone(s, c, "its token had settled as done before it settled as failed")
}

func settleAtOnce(r *trial) {
	const total = 32
	s := r.stream(Config{})
	r.fill(s, total)
	c := r.consumer(s)
	ds := c.take(total, total)
	o := r.call(func() (int, error) {
		var all sync.WaitGroup
		for _, d := range ds {
			all.Go(func() { c.Settle(d.Token, done()) })
		}
		all.Wait()
		return 0, nil
	})
	if u := o.unexpected(); u != "" {
		r.fatalf("%d calls of Settle at once: %s", total, u)
	}
	clear(c.unsettled)
	r.gone(s, c, "it was done")
}

func settleWhileDown(r *trial) {
	s := r.stream(Config{})
	r.needsDown(s)
	r.fill(s, 3)
	c := r.consumer(s)
	ds := c.take(3, 3)
	s.Down()
	for _, d := range ds {
		o := r.call(func() (int, error) {
			c.Settle(d.Token, done())
			return 0, nil
		})
		if u := o.unexpected(); u != "" || o.took > r.soon() {
			r.addf("Settle took %v while the broker was down %s", o.took, u)
		}
	}
	clear(c.unsettled)
	s.Up()
	r.gone(s, c, "it was done while the broker was down, and the Fetcher still open")
}

// failedLate has a message taken away from a Fetcher that the broker can't hear. A broker that stops its clocks while it is down
// may not do so; then there is nothing to see.
func failedLate(r *trial) {
	s := r.stream(Config{})
	r.needsDown(s)
	r.fill(s, 1)
	slow, other := r.consumer(s), r.consumer(s)
	ds := slow.take(1, 1)
	s.Down()
	time.Sleep(r.afterwards())
	s.Up()
	ctx, cancel := r.within(r.afterwards())
	defer cancel()
	if again, _ := other.fetch(ctx, 1); len(again) == 0 {
		return
	}
	slow.end(failed(0), ds...)
	other.nothing(r.while(), "it is with this consumer, and failed where it had been taken away")
}

// gone sees that nothing comes again, neither to the consumer nor to another one when it has closed.
func (r *trial) gone(s Stream, c *consumer, why string) {
	c.nothing(r.while(), why)
	c.mustClose()
	r.consumer(s).nothing(r.afterwards(), why)
}

func closeGivesBack(r *trial) {
	s := r.stream(Config{AckWait: r.longAckWait()})
	r.fill(s, 6)
	c, other := r.consumer(s), r.consumer(s)
	ds := c.take(4, 4)
	c.end(done(), ds[0], ds[2])
	began := time.Now()
	c.mustClose()
	seen := make(map[int]int)
	for _, d := range other.take(4, 6) {
		seen[number(&d)]++
	}
	if took := time.Since(began); took > r.soon() {
		r.addf("what Close gave back came again after %v", took)
	}
	for n, want := range []int{0, 1, 0, 1, 1, 1} {
		if seen[n] != want {
			r.addf("message %d was delivered %d times after Close, want %d", n, seen[n], want)
		}
	}
}

func closeTwice(r *trial) {
	for _, calls := range []int{0, 1} {
		s := r.stream(Config{})
		r.fill(s, 1)
		c := r.consumer(s)
		c.take(calls, 1)
		c.mustClose()
		c.mustClose()
	}
	s := r.stream(Config{})
	f := s.Fetcher()
	if o := r.call(func() (int, error) { return 0, f.Close() }); o.err != nil || o.unexpected() != "" {
		r.addf("Close of a Fetcher that was never open: %v %s", o.err, o.unexpected())
	}
}

func closeWhileDown(r *trial) {
	s := r.stream(Config{})
	r.needsDown(s)
	r.fill(s, 3)
	c := r.consumer(s)
	ds := c.take(3, 3)
	s.Down()
	c.end(done(), ds[0])
	if o := c.closed(); o.err == nil {
		r.addf("Close returned nil although the broker was down, with one message done and two unsettled")
	}
	s.Up()
	again := make(map[int]bool)
	other := r.consumer(s)
	for !again[1] || !again[2] {
		for _, d := range other.take(1, 1) {
			again[number(&d)] = true
			other.end(done(), d)
		}
	}
}

// needsDown is for checks that take the broker away.
func (r *trial) needsDown(s Stream) { r.needs(s.Down != nil && s.Up != nil, "Stream.Down and Up") }
