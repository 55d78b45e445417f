package broker_test

import (
	"context"
	"fmt"
	"strconv"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
	"github.com/weir-go/weir/flow"
)

// An item is done when the broker has confirmed it. Here a full stream lets go what arrives; Block would wait for a reader.
func ExampleNewSink() {
	stream := memory.NewStream(memory.StreamConfig{Name: "positions", MaxMessages: 3})
	sink := broker.NewSink(stream.Sender(memory.SendConfig{}), broker.JSON[int](), broker.SinkOptions[int]{
		Subject: func(int) string { return "positions" },
		ID:      strconv.Itoa, // one message of each
		OnFull:  flow.DropNewest,
		Dropped: func(n int) { fmt.Println("no room for", n) },
	})
	err := flow.FromSlice([]int{1, 2, 2, 3, 4, 5}).To(sink).Run(context.Background())
	fmt.Println(err, sink.Stats().Stored, "confirmed,", stream.Info().Messages, "in the stream")
	// Output:
	// no room for 4
	// no room for 5
	// <nil> 4 confirmed, 3 in the stream
}
