package jetstream_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/jetstream"
	"github.com/weir-go/weir/broker/jetstream/embedded"
	"github.com/weir-go/weir/flow"
)

// What docs/jetstream.md begins with, to the letter.

type parcel struct {
	ID     string
	Weight int
}

// prepare connects, and makes the stream where there is none.
func prepare(ctx context.Context, url string) (*nats.Conn, error) {
	nc, err := jetstream.Connect(url)
	if err != nil {
		return nil, err
	}
	return nc, jetstream.EnsureStream(ctx, nc, jetstream.StreamConfig{
		Name:        "PARCELS",
		Subjects:    []string{"parcels.>"},
		MaxMessages: 100_000,
	})
}

// store returns when the server has confirmed every parcel.
func store(ctx context.Context, nc *nats.Conn, parcels []parcel) error {
	sink := jetstream.NewSink(nc, broker.JSON[parcel](), jetstream.SinkConfig[parcel]{
		Stream: "PARCELS",
		To:     "parcels.new",
		ID:     func(p parcel) string { return p.ID }, // a parcel that comes twice is stored once
	})
	return flow.FromSlice(parcels).To(sink).Run(ctx)
}

// ship weighs and sends parcels until the process gets SIGTERM, or ctx ends.
func ship(ctx context.Context, nc *nats.Conn, weigh func(context.Context, parcel) (parcel, error), send func(context.Context, parcel) error) error {
	source := jetstream.NewSource(nc, broker.JSON[parcel](), jetstream.SourceConfig{
		Stream:  "PARCELS",
		Durable: "shipping", // all processes of this name share the work
	})
	p := flow.FromItems(source).
		Parallel(4, weigh, flow.OnError(flow.Redeliver)). // what fails comes again, later each time
		ForEach(send)
	return flow.RunUntilSignal(ctx, p, 30*time.Second)
}

// each is for those who need no graph: a handler, which is called with one parcel after another until ctx ends.
func each(ctx context.Context, nc *nats.Conn, handle func(context.Context, parcel) error) error {
	return jetstream.Consume(ctx, nc, broker.JSON[parcel](), "PARCELS", "shipping", handle, func(c *jetstream.ConsumeConfig) {
		c.Workers = 8
	})
}

// shipByWay cuts a pipeline in two. What the first half has made waits in a stream, also while no process is there.
func shipByWay(ctx context.Context, nc *nats.Conn, parcels []parcel, weigh func(context.Context, parcel) (parcel, error), send func(context.Context, parcel) error) error {
	return flow.FromSlice(parcels).
		TryMap(weigh).
		Apply(jetstream.Durable(nc, broker.JSON[parcel](), jetstream.DurableConfig{Stream: "WEIGHED", Capacity: 10_000})).
		ForEach(send).
		Run(ctx)
}

func Example() {
	srv, err := embedded.Start(embedded.Config{Listen: "127.0.0.1:0"}) // in the place of a server somewhere
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = srv.Close() }()
	ctx := context.Background()
	nc, err := prepare(ctx, srv.URL())
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()

	parcels := []parcel{{ID: "a"}, {ID: "b"}, {ID: "a"}}
	if err := store(ctx, nc, parcels); err != nil {
		log.Fatal(err)
	}

	weigh := func(_ context.Context, p parcel) (parcel, error) {
		p.Weight = 7
		return p, nil
	}
	until, enough := context.WithCancelCause(ctx)
	err = ship(until, nc, weigh, func(_ context.Context, p parcel) error {
		fmt.Println("shipped", p.ID, p.Weight)
		if p.ID == "b" {
			enough(os.ErrProcessDone)
		}
		return nil
	})
	fmt.Println(errors.Is(err, os.ErrProcessDone))

	if err := store(ctx, nc, []parcel{{ID: "c"}}); err != nil {
		log.Fatal(err)
	}
	until, enough = context.WithCancelCause(ctx)
	err = each(until, nc, func(_ context.Context, p parcel) error {
		fmt.Println("handled", p.ID)
		enough(nil)
		return nil
	})
	fmt.Println(err)

	err = shipByWay(ctx, nc, parcels, weigh, func(_ context.Context, p parcel) error {
		fmt.Println("by way of a stream", p.ID)
		return nil
	})
	fmt.Println(err)
	// Output:
	// shipped a 7
	// shipped b 7
	// true
	// handled c
	// <nil>
	// by way of a stream a
	// by way of a stream b
	// by way of a stream a
	// <nil>
}
