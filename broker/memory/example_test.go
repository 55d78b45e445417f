package memory_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// Two pipelines with a stream between them.
func Example() {
	ctx := context.Background()
	stream := memory.NewStream(memory.StreamConfig{Name: "words", MaxMessages: 100})

	sink := broker.NewSink(stream.Sender(memory.SendConfig{}), broker.JSON[string](), broker.SinkOptions[string]{
		Subject: func(string) string { return "words" },
	})
	if err := flow.FromSlice([]string{"to", "be", "or", "not"}).To(sink).Run(ctx); err != nil {
		fmt.Println(err)
	}
	stream.End() // no more will come

	src := broker.NewSource(stream.Fetcher(memory.FetchConfig{}), broker.JSON[string](), broker.SourceOptions{})
	show := func(_ context.Context, word string) error {
		_, err := fmt.Println(word)
		return err
	}
	if err := flow.FromItems(src).ForEach(show).Run(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println(stream.Info().Messages, "left")
	// Output:
	// to
	// be
	// or
	// not
	// 0 left
}

func ExampleNewStream() {
	ctx := context.Background()
	stream := memory.NewStream(memory.StreamConfig{Name: "greetings", MaxMessages: 2})
	in, out := stream.Sender(memory.SendConfig{}), stream.Fetcher(memory.FetchConfig{})
	if err := errors.Join(in.Open(ctx), out.Open(ctx)); err != nil {
		fmt.Println(err)
		return
	}

	err := in.Send(ctx, []broker.Message{{Data: []byte("hello")}, {Data: []byte("hi")}, {Data: []byte("good evening")}})
	fmt.Println(err)

	dst := make([]broker.Delivery, 10)
	n, _ := out.Fetch(ctx, dst)
	for _, d := range dst[:n] {
		fmt.Println(d.ID, string(d.Data))
		out.Settle(d.Token, stage.Outcome{Kind: stage.Done})
	}
	fmt.Println(stream.Info().Messages, "left")
	// Output:
	// item 2: memory: greetings: broker: the stream is full
	// greetings:1 hello
	// greetings:2 hi
	// 0 left
}
