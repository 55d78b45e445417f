package broker_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
	"github.com/weir-go/weir/flow"
)

// A stream between two steps: what it holds survives the run, and the run ends when it is empty.
func ExampleDurable() {
	stream := memory.NewStream(memory.StreamConfig{Name: "words", MaxMessages: 100})
	edge := broker.Durable(stream.Sender(memory.SendConfig{}), stream.Fetcher(memory.FetchConfig{}),
		broker.JSON[string](), broker.DurableOptions{Name: "words", Subject: "words"})

	err := flow.FromSlice([]string{"to be", "or not"}).
		FlatMap(strings.Fields).
		Apply(edge).
		ForEach(func(_ context.Context, word string) error {
			fmt.Println(word)
			return nil
		}).
		Run(context.Background())
	fmt.Println(err)
	// Output:
	// to
	// be
	// or
	// not
	// <nil>
}

// The halves alone, one run behind the other.
func ExampleDurableIn() {
	stream := memory.NewStream(memory.StreamConfig{Name: "words", MaxMessages: 100})
	options := broker.DurableOptions{Name: "words", Subject: "words"}
	ctx := context.Background()

	in := broker.DurableIn(stream.Sender(memory.SendConfig{}), broker.JSON[string](), options)
	err := flow.FromSlice([]string{"to", "be"}).ToItems(in).Run(ctx)
	fmt.Println(err, stream.Info().Messages, "in the stream")

	out := stream.Fetcher(memory.FetchConfig{})
	out.EndWhenEmpty() // nobody writes any more
	err = broker.DurableOut(out, broker.JSON[string](), options).ForEach(func(_ context.Context, word string) error {
		fmt.Println(word)
		return nil
	}).Run(ctx)
	fmt.Println(err, stream.Info().Messages, "in the stream")
	// Output:
	// <nil> 2 in the stream
	// to
	// be
	// <nil> 0 in the stream
}
