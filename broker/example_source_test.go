package broker_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
	"github.com/weir-go/weir/flow"
)

// post stores payloads, and ends the stream behind them.
func post(stream *memory.Stream, payloads ...string) {
	ctx := context.Background()
	s := stream.Sender(memory.SendConfig{})
	if err := s.Open(ctx); err != nil {
		log.Fatal(err)
	}
	var msgs []broker.Message
	for _, p := range payloads {
		msgs = append(msgs, broker.Message{Subject: "bills", Data: []byte(p)})
	}
	if err := errors.Join(s.Send(ctx, msgs), s.Close()); err != nil {
		log.Fatal(err)
	}
	stream.End()
}

// A message is acknowledged when the pipeline is through with it, and not before.
func ExampleNewSource() {
	stream := memory.NewStream(memory.StreamConfig{Name: "bills", MaxMessages: 100})
	post(stream, "10", "25")

	source := broker.NewSource(stream.Fetcher(memory.FetchConfig{}), broker.JSON[int](), broker.SourceOptions{})
	err := flow.FromItems(source).ForEach(func(_ context.Context, amount int) error {
		fmt.Println("paid", amount, "of", stream.Info().Messages, "bills")
		return nil
	}).Run(context.Background())
	fmt.Println(err, stream.Info().Messages, "left")
	// Output:
	// paid 10 of 2 bills
	// paid 25 of 1 bills
	// <nil> 0 left
}

// What fails three times, or can't be decoded, ends in another stream. The original is ended when its dead letter is stored.
func ExampleNewSource_deadLetters() {
	bills := memory.NewStream(memory.StreamConfig{Name: "bills", MaxMessages: 100})
	dead := memory.NewStream(memory.StreamConfig{Name: "dead", MaxMessages: 100})
	post(bills, "10", "what?", "13")

	source := broker.NewSource(bills.Fetcher(memory.FetchConfig{}), broker.JSON[int](), broker.SourceOptions{
		Attempts:    3,
		DeadLetters: dead.Sender(memory.SendConfig{}),
		DeadSubject: "dead",
	})
	err := flow.FromItems(source).ForEach(func(_ context.Context, amount int) error {
		if amount == 13 {
			return errors.New("refused")
		}
		return nil
	}, flow.Name("pay"), flow.OnError(flow.Redeliver)).Run(context.Background())
	fmt.Println(err, source.Stats().DeadLetters, "dead letters")

	letters := dead.Fetcher(memory.FetchConfig{})
	if err := letters.Open(context.Background()); err != nil {
		log.Fatal(err)
	}
	ds := make([]broker.Delivery, 10)
	n, _ := letters.Fetch(context.Background(), ds)
	for _, d := range ds[:n] {
		h := d.Header
		fmt.Printf("%s: %s, stage %q, attempt %s\n", d.Data, h.Get(broker.HeaderDeadReason), h.Get(broker.HeaderDeadStage), h.Get(broker.HeaderDeadAttempt))
	}
	_ = letters.Close()
	// Output:
	// <nil> 2 dead letters
	// what?: undecodable, stage "", attempt 1
	// 13: failed, stage "pay", attempt 3
}
