package embedded_test

import (
	"context"
	"fmt"
	"log"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker/jetstream/embedded"
)

func ExampleStart() {
	srv, err := embedded.Start(embedded.Config{}) // no socket, a temporary folder
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
	js, err := jetstream.New(nc)
	if err != nil {
		log.Fatal(err)
	}
	stream := jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}, MaxMsgs: 100}
	if _, err := js.CreateStream(ctx, stream); err != nil {
		log.Fatal(err)
	}
	ack, err := js.Publish(ctx, "orders.new", []byte("42"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ack.Stream, ack.Sequence)
	// Output: ORDERS 1
}
