package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/jetstream"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

const (
	attempts = 3                // deliveries of an order that fails; then it is a dead letter
	grace    = 10 * time.Second // for orders in hand when the worker is told to stop
)

// work handles orders until ctx ends. All workers read as the same consumer, so each order goes to one of them.
func work(ctx context.Context, nc *nats.Conn, name string, w io.Writer) error {
	src := jetstream.NewSource(nc, broker.JSON[Order](), jetstream.SourceConfig{
		Stream: ordersStream, Durable: "workers",
		Attempts: attempts, Delay: broker.Backoff(20*time.Millisecond, time.Second),
		DeadLetters: jetstream.NewSender(nc, jetstream.SenderConfig{Stream: lettersName}), DeadSubject: letters,
	})
	t := &tally{last: map[string]int{}}
	p := flow.FromItems(src).
		ParallelByKey(4, func(o Order) string { return o.Customer }, handle, flow.Name("handle"), flow.OnError(flow.Redeliver)).
		ForEach(t.count, flow.Name("count"))
	if err := runUntil(ctx, p, func() { _, _ = fmt.Fprintf(w, "%s is ready\n", name) }); err != nil {
		return err
	}
	s := src.Stats()
	_, err := fmt.Fprintf(w, "%s: %d handled, %d out of order, %d redelivered, %d dead letters, %d given back\n",
		name, t.handled, t.misplaced, s.Redelivered, s.DeadLetters, s.GivenBack+int64(s.Returned))
	return err
}

// runUntil runs p until ctx ends, and then drains it: nothing more is fetched, orders in hand are handled, the others go back
// to the stream for the other workers. flow.RunUntilSignal does the same with signals.
func runUntil(ctx context.Context, p flow.Pipeline, ready func()) error {
	r, err := p.Start(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	ready()
	select {
	case <-r.Done():
		return r.Wait()
	case <-ctx.Done():
	}
	over, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return r.Drain(over)
}

// tally counts what a worker has handled. It belongs to one goroutine.
type tally struct {
	handled, misplaced int
	last               map[string]int // of each customer
}

// count counts an order, and those that come too late: an order must not be overtaken by a later one of its customer in the same process,
// unless it has failed, or has been given back by another one.
func (t *tally) count(ctx context.Context, o Order) error {
	t.handled++
	if m, _ := stage.MetaFrom(ctx); m.Attempt == 1 {
		if o.Number < t.last[o.Customer] {
			t.misplaced++
		}
		t.last[o.Customer] = o.Number
	}
	return nil
}
