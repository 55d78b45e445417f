package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/jetstream"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

type job struct {
	ID        string
	Tries     int
	NotBefore time.Time
}

// delay is how long a job waits that has failed. It is the same for all, so they are due in the order of their stream.
const delay = 50 * time.Millisecond

// later encodes a job that has failed.
func later(dst []byte, l stage.DeadLetter) ([]byte, error) {
	j, ok := l.Value.(job)
	if !ok {
		return dst, fmt.Errorf("%T is no job", l.Value)
	}
	j.Tries, j.NotBefore = j.Tries+1, time.Now().Add(delay)
	return broker.JSON[job]().Encode(dst, j)
}

// whenDue holds a job back until its time has come.
func whenDue(ctx context.Context, j job) (job, error) {
	select {
	case <-time.After(time.Until(j.NotBefore)):
		return j, nil
	case <-ctx.Done():
		return j, context.Cause(ctx)
	}
}

// work handles jobs. Those that fail wait in a stream of their own, and the consumer of the first one has its places back at once.
func work(nc *nats.Conn, handle func(context.Context, job) error) flow.Pipeline {
	jobs := jetstream.NewSource(nc, broker.JSON[job](), jetstream.SourceConfig{Stream: "JOBS", Durable: "workers"})
	retry := jetstream.DurableConfig{Stream: "RETRY", Capacity: 10_000, MaxAckPending: 64}
	failed := jetstream.NewSink(nc, broker.CodecFunc(later, nil), jetstream.SinkConfig[stage.DeadLetter]{
		Stream: "RETRY",
		To:     "weir.RETRY",
		ID: func(l stage.DeadLetter) string { // one try is stored once, also when its job comes again
			j, _ := l.Value.(job)
			return fmt.Sprint(j.ID, "/", j.Tries)
		},
		OnFull: flow.Reject, // to wait for room here would stop the only reader of the stream
	})
	due := jetstream.DurableOut(nc, broker.JSON[job](), retry).TryMap(whenDue)
	return flow.Merge(flow.FromItems(jobs), due).
		ForEach(handle, flow.OnError(flow.DeadLetter(failed), flow.Redeliver))
}

// A job that fails waits without taking a place among those in flight.
func Example_retryStream() {
	nc, stop := serve(jetstream.StreamConfig{Name: "JOBS", Subjects: []string{"jobs"}, MaxMessages: 1000})
	defer stop()
	put(nc, "jobs", `{"ID":"a"}`, `{"ID":"b"}`, `{"ID":"c"}`)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err := work(nc, func(_ context.Context, j job) error {
		if j.ID == "a" && j.Tries < 2 {
			return errors.New("not now")
		}
		fmt.Println(j.ID, "after", j.Tries, "failures")
		if j.ID == "a" {
			cancel()
		}
		return nil
	}).Run(ctx)
	fmt.Println(err)
	// Output:
	// b after 0 failures
	// c after 0 failures
	// a after 2 failures
	// context canceled
}
