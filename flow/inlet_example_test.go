package flow_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// The push side of a pipeline: handlers and callbacks put items in.
func ExampleNewInlet() {
	events := flow.NewInlet(flow.Edge[string]{Name: "events", Capacity: 64, OnFull: flow.DropOldest})
	seen := stage.NewCollector[string](64)
	run, err := events.Flow().To(seen).Start(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, key := range []string{"w", "e", "i", "r"} {
		if _, err := events.Offer(context.Background(), key); err != nil { // in a callback, for example
			fmt.Println(key, err)
		}
	}
	events.Close()
	fmt.Println(run.Wait(), seen.Items())
	// Output: <nil> [w e i r]
}

// Offer never waits, and says what became of the item.
func ExampleInlet_Offer() {
	in := flow.NewInlet(flow.Edge[int]{Name: "orders", Capacity: 1, OnFull: flow.Reject})
	_, err := in.Offer(context.Background(), 1)
	fmt.Println(err)
	_, err = in.Offer(context.Background(), 2)
	fmt.Println(err)
	in.Close()
	_, err = in.Offer(context.Background(), 3)
	fmt.Println(err)
	// Output:
	// <nil>
	// flow: edge "orders" is full (capacity 1)
	// flow: closed
}

// Put waits for room, as long as its context lasts.
func ExampleInlet_Put() {
	in := flow.NewInlet(flow.Edge[int]{Capacity: 1})
	_, err := in.Put(context.Background(), 1)
	fmt.Println(err)

	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("the client has gone"))
	_, err = in.Put(ctx, 2)
	fmt.Println(err)
	// Output:
	// <nil>
	// the client has gone
}

// Do waits until the item is done: when it returns nil, the order is in the table.
func ExampleInlet_Do() {
	var table []string
	orders := flow.NewInlet(flow.Edge[string]{Name: "orders", Capacity: 64})
	run, _ := orders.Flow().
		Map(func(id string) string { return "order " + id }).
		ForEach(func(_ context.Context, row string) error {
			table = append(table, row)
			return nil
		}).Start(context.Background())

	err := orders.Do(context.Background(), "17") // in a handler
	fmt.Println(table, err)

	orders.Close()
	fmt.Println(run.Wait())
	// Output:
	// [order 17] <nil>
	// <nil>
}
