package jetstream_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/jetstream"
	"github.com/weir-go/weir/flow"
)

// An edge between two steps that outlives the process. The stream is made when the run starts, and the flow ends when
// upstream has ended and the stream is empty.
func ExampleDurable() {
	nc, stop := serve()
	defer stop()
	edge := jetstream.Durable(nc, broker.JSON[string](), jetstream.DurableConfig{Stream: "WORDS", Capacity: 1000})

	err := flow.FromSlice([]string{"to be", "or not"}).
		FlatMap(strings.Fields).
		Apply(edge).
		Map(strings.ToUpper).
		ForEach(func(_ context.Context, word string) error {
			_, err := fmt.Println(word)
			return err
		}).
		Run(context.Background())
	fmt.Println(err)
	// Output:
	// TO
	// BE
	// OR
	// NOT
	// <nil>
}

// The halves of an edge in two programs. Both have the same DurableConfig.
func ExampleDurableIn() {
	nc, stop := serve()
	defer stop()
	edge := jetstream.DurableConfig{Stream: "WORDS", Capacity: 1000}

	// The first program: it is through when everything is stored.
	in := jetstream.DurableIn(nc, broker.JSON[string](), edge)
	if err := flow.FromSlice([]string{"to", "be"}).ToItems(in).Run(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(in.Stats().Stored, "stored")

	// The second one, whenever it comes. It has no end.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err := jetstream.DurableOut(nc, broker.JSON[string](), edge).ForEach(func(_ context.Context, word string) error {
		fmt.Println(word)
		if word == "be" {
			cancel()
		}
		return nil
	}).Run(ctx)
	fmt.Println(err)
	// Output:
	// 2 stored
	// to
	// be
	// context canceled
}
