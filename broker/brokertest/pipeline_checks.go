package brokertest

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
)

// work is what a pipeline does with the messages of a check.
type work struct {
	mu    sync.Mutex
	calls tally
	fn    func(ctx context.Context, n int) error
}

func (w *work) handle(ctx context.Context, data []byte) error {
	n, err := strconv.Atoi(string(data))
	if err != nil {
		n = -1
	}
	w.mu.Lock()
	w.calls[n]++
	w.mu.Unlock()
	return w.fn(ctx, n)
}

// of returns how often message n was handled.
func (w *work) of(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[n]
}

// calm fails when there are too many deliveries. A message that comes again and again, at once, would never let virtual time pass.
type calm struct {
	broker.Fetcher
	left int
}

func (c *calm) Fetch(ctx context.Context, dst []broker.Delivery) (int, error) {
	if c.left <= 0 {
		return 0, errors.New("there is no end of deliveries")
	}
	n, err := c.Fetcher.Fetch(ctx, dst)
	c.left -= n
	return n, err
}

// started runs a pipeline of a Source, which opens and closes f.
func (r *trial) started(f broker.Fetcher, o broker.SourceOptions, w *work, opts ...flow.SinkOption) *flow.Run {
	w.calls = make(tally)
	run, err := flow.FromItems(broker.NewSource(&calm{f, 100}, broker.Bytes(), o)).ForEach(w.handle, opts...).Start(r.ctx)
	if err != nil {
		r.fatalf("a pipeline with this Fetcher does not start: %v", err)
	}
	return run
}

// drained ends a run in order.
func (r *trial) drained(run *flow.Run) {
	o := r.call(func() (int, error) { return 0, run.Drain(r.ctx) })
	if o.err != nil || o.unexpected() != "" {
		r.addf("Drain: %v%s", o.err, o.unexpected())
	}
}

// poison has one message fail always. It is the second of three.
func poison(r *trial) {
	const attempts = 3
	s, dead := r.stream(Config{}), r.stream(Config{})
	r.fill(s, 3)
	var w work
	w.fn = func(_ context.Context, n int) error {
		if n == 1 {
			return errors.New("poison")
		}
		return nil
	}
	run := r.started(s.Fetcher(), broker.SourceOptions{
		Attempts: attempts, DeadLetters: dead.Sender(), DeadSubject: cmp.Or(dead.Subject, "dead"),
		Delay: func(int) time.Duration { return 100 * time.Millisecond },
	}, &w, flow.OnError(flow.Redeliver))
	graveyard := r.consumer(dead)
	letters := graveyard.take(1, 5)
	if h := letters[0].Header.Get(broker.HeaderDeadReason); number(&letters[0]) != 1 || h != "failed" {
		r.addf("the dead letter is message %d, for the reason %q; want message 1, failed", number(&letters[0]), h)
	}
	graveyard.nothing(r.afterwards(), "message 1 was a dead letter before")
	r.drained(run)
	for n, want := range []int{1, attempts, 1} {
		if got := w.of(n); got != want {
			r.addf("message %d was handled %d times, want %d", n, got, want)
		}
	}
	r.consumer(s).nothing(r.afterwards(), "it was done, or is a dead letter")
}

// drain stops a pipeline in the middle of its work.
func drain(r *trial) {
	const total, most = 20, 6
	s := r.stream(Config{InFlight: most, AckWait: r.longAckWait()})
	r.fill(s, total)
	some := make(chan struct{})
	handled := 0 // by one goroutine at a time
	var w work
	w.fn = func(context.Context, int) error {
		time.Sleep(r.either(time.Second, 20*time.Millisecond))
		if handled++; handled == 5 {
			close(some)
		}
		return nil
	}
	run := r.started(s.Fetcher(), broker.SourceOptions{}, &w)
	r.reached(some)
	r.drained(run)
	c, left := r.rest(s, &w, total)
	for n := range total {
		if times := w.of(n) + left[n]; times != 1 {
			r.addf("message %d was handled %d times, and delivered %d times behind the drain; want one of both", n, w.of(n), left[n])
		}
	}
	c.nothing(r.longAckWait()+r.while(), "it was handled before the drain, or by this consumer")
}

// drainLate stops a pipeline that has more in flight than it can finish in time. Handlers give up when they are told to.
func drainLate(r *trial) {
	const total, most = 20, 6
	s := r.stream(Config{InFlight: most, AckWait: r.longAckWait()})
	r.fill(s, total)
	some := make(chan struct{})
	taken := 0
	var w work
	w.fn = func(ctx context.Context, _ int) error {
		if taken++; taken == 3 {
			close(some)
		}
		if taken < 3 {
			return nil
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
	run := r.started(s.Fetcher(), broker.SourceOptions{}, &w)
	r.reached(some)
	r.settled() // as much as possible is in flight
	ctx, cancel := r.within(r.either(time.Second, 100*time.Millisecond))
	defer cancel()
	if o := r.call(func() (int, error) { return 0, run.Drain(ctx) }); o.err == nil {
		r.addf("a drain that ran out of time %s returned nil", o.unexpected())
	}
	_, left := r.rest(s, &work{}, total-2) // the two that were handled are done
	for n := range total {
		if want := min(max(n-1, 0), 1); left[n] != want {
			r.addf("message %d was delivered %d times behind the drain, want %d", n, left[n], want)
		}
	}
}

// reached waits for a moment in a pipeline.
func (r *trial) reached(moment <-chan struct{}) {
	o := r.call(func() (int, error) {
		select {
		case <-moment:
			return 0, nil
		case <-r.ctx.Done():
			return 0, context.Cause(r.ctx)
		}
	})
	if o.unexpected() != "" {
		r.fatalf("a pipeline whose messages are there %s", o.unexpected())
	}
}

// rest has another consumer get what w has not handled, which is to happen soon.
func (r *trial) rest(s Stream, w *work, total int) (*consumer, tally) {
	rest := 0
	for n := range total {
		if w.of(n) == 0 {
			rest++
		}
	}
	began := time.Now()
	c, left := r.consumer(s), make(tally)
	c.work(left, rest, func(d *broker.Delivery) { c.end(done(), *d) })
	if took := time.Since(began); took > r.soon() {
		r.addf("what a drain gave back came after %v", took)
	}
	return c, left
}

// graphInFlight has a batch of all that may be in flight.
func graphInFlight(r *trial) {
	const most = 16
	s := r.stream(Config{InFlight: most})
	r.fill(s, most)
	f := s.Fetcher()
	r.closes = append(r.closes, f.Close)
	full := make(chan struct{})
	run, err := flow.FromItems(broker.NewSource(f, broker.Bytes(), broker.SourceOptions{})).
		Batch(most, 0).
		ForEach(func(_ context.Context, batch [][]byte) error {
			if len(batch) == most {
				close(full)
			}
			return nil
		}).Start(r.ctx)
	if err != nil {
		r.fatalf("a pipeline that holds %d messages of %d does not start: %v", most, most, err)
	}
	r.reached(full)
	r.drained(run)
}
