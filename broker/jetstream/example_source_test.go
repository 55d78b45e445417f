package jetstream_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/jetstream"
	"github.com/weir-go/weir/broker/jetstream/embedded"
	"github.com/weir-go/weir/flow"
)

// A message is acknowledged when the pipeline is through with it.
func ExampleNewSource() {
	srv, err := embedded.Start(embedded.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = srv.Close() }()
	nc, err := srv.Conn()
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	ctx := context.Background()
	err = jetstream.EnsureStream(ctx, nc, jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}, MaxMessages: 1000})
	if err != nil {
		log.Fatal(err)
	}
	for i := range 3 {
		if err := nc.Publish("orders.new", fmt.Appendf(nil, "%d", i)); err != nil {
			log.Fatal(err)
		}
	}

	src := jetstream.NewSource(nc, broker.JSON[int](), jetstream.SourceConfig{Stream: "ORDERS", Durable: "billing"})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sum := 0
	err = flow.FromItems(src).ForEach(func(_ context.Context, order int) error {
		fmt.Println("order", order)
		if sum += order; sum == 3 {
			cancel() // for the example: a source has no end
		}
		return nil
	}).Run(ctx)
	fmt.Println(err)
	fmt.Println(src.Stats().Received)
	// Output:
	// order 0
	// order 1
	// order 2
	// context canceled
	// 3
}
