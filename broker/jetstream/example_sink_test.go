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

type order struct{ ID, Customer string }

func ExampleSink() {
	srv, err := embedded.Start(embedded.Config{}) // or a server anywhere: jetstream.Connect(url)
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
	err = jetstream.EnsureStream(ctx, nc, jetstream.StreamConfig{
		Name: "ORDERS", Subjects: []string{"orders.*"}, MaxMessages: 1000,
	})
	if err != nil {
		log.Fatal(err)
	}
	sink := jetstream.NewSink(nc, broker.JSON[order](), jetstream.SinkConfig[order]{
		Stream:  "ORDERS",
		Subject: func(o order) string { return "orders." + o.Customer },
		ID:      func(o order) string { return o.ID },
	})
	orders := []order{{"1", "ann"}, {"2", "bob"}, {"1", "ann"}} // the first one comes twice
	if err := flow.FromSlice(orders).To(sink).Run(ctx); err != nil {
		log.Fatal(err)
	}
	st := sink.Stats().Sender
	fmt.Println(st.Published, "confirmed,", st.Duplicates, "of them stored before")
	// Output: 3 confirmed, 1 of them stored before
}

func ExampleEnsureStream() {
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
	c := jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.*"}, MaxMessages: 1000}
	fmt.Println(jetstream.EnsureStream(ctx, nc, c))
	c.MaxMessages = 500
	fmt.Println(jetstream.EnsureStream(ctx, nc, c))
	// Output:
	// <nil>
	// jetstream: stream "ORDERS": MaxMsgs: the stream has 1000, 500 was asked for: limits of a stream in use are not lowered
}
