package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/jetstream"
	"github.com/weir-go/weir/flow"
)

// pay reads bills. One that can't be paid five times, or that is no bill, ends in a stream of its own.
func pay(nc *nats.Conn, handle func(context.Context, int) error) flow.Pipeline {
	source := jetstream.NewSource(nc, broker.JSON[int](), jetstream.SourceConfig{
		Stream:      "BILLS",
		Durable:     "payment",
		Attempts:    5,
		DeadLetters: jetstream.NewSender(nc, jetstream.SenderConfig{Stream: "DEAD"}),
		DeadSubject: "dead.bills",
		Delay:       broker.Backoff(delay, 10*delay),
	})
	return flow.FromItems(source).ForEach(handle, flow.Name("pay"), flow.OnError(flow.Redeliver))
}

func ExampleNewSource_deadLetters() {
	nc, stop := serve(
		jetstream.StreamConfig{Name: "BILLS", Subjects: []string{"bills"}, MaxMessages: 1000},
		jetstream.StreamConfig{Name: "DEAD", Subjects: []string{"dead.>"}, MaxMessages: 1000},
	)
	defer stop()
	put(nc, "bills", "10", "13", "what?")

	calls := 0
	run, err := pay(nc, func(_ context.Context, amount int) error {
		if amount == 13 {
			calls++
			return errors.New("refused")
		}
		return nil
	}).Start(context.Background())
	if err != nil {
		log.Fatal(err)
	}

	letters := broker.NewSource(jetstream.NewFetcher(nc, jetstream.SourceConfig{Stream: "DEAD", Durable: "clerk"}), broker.Bytes(), broker.SourceOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	seen := 0
	err = broker.Consume(ctx, letters, func(_ context.Context, payload []byte) error {
		fmt.Printf("a dead letter: %s\n", payload)
		if seen++; seen == 2 {
			cancel()
		}
		return nil
	}, broker.ConsumeOptions{})
	fmt.Println(err, calls, run.Drain(context.Background()))
	// Output:
	// a dead letter: what?
	// a dead letter: 13
	// <nil> 5 <nil>
}
