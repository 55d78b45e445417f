package flow_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-go/weir/flow"
)

// Block loses nothing: whoever does not want to wait is told so, and whoever does gets through once there is room.
func ExamplePolicy_block() {
	ctx := context.Background()
	in := flow.NewInlet(flow.Edge[int]{Name: "jobs", Capacity: 2, OnFull: flow.Block})
	_, _ = in.Offer(ctx, 1)
	_, _ = in.Offer(ctx, 2)
	_, err := in.Offer(ctx, 3)
	fmt.Println(err)

	put := make(chan error)
	go func() {
		_, err := in.Put(ctx, 3) // waits for room
		in.Close()
		put <- err
	}()
	numbers, err := in.Flow().Collect(ctx, 10)
	fmt.Println(numbers, err, <-put)
	// Output:
	// flow: edge "jobs" is full (capacity 2)
	// [1 2 3] <nil> <nil>
}

// DropNewest keeps what came first: the arriving item is the one that is lost.
func ExamplePolicy_dropNewest() {
	in := flow.NewInlet(flow.Edge[string]{Capacity: 2, OnFull: flow.DropNewest})
	for _, s := range []string{"first", "second", "third"} {
		if _, err := in.Offer(context.Background(), s); errors.Is(err, flow.ErrDropped) {
			fmt.Println("lost", s)
		}
	}
	in.Close()
	fmt.Println(in.Flow().Collect(context.Background(), 10))
	// Output:
	// lost third
	// [first second] <nil>
}

// DropOldest keeps what is fresh: the positions of a moving thing, for example.
func ExamplePolicy_dropOldest() {
	in := flow.NewInlet(flow.Edge[int]{Capacity: 2, OnFull: flow.DropOldest})
	for position := range 5 {
		_, _ = in.Offer(context.Background(), position)
	}
	in.Close()
	fmt.Println(in.Flow().Collect(context.Background(), 10))
	// Output: [3 4] <nil>
}

// Reject tells the caller at once, who can tell his own caller: try again, elsewhere, or later.
func ExamplePolicy_reject() {
	in := flow.NewInlet(flow.Edge[string]{Name: "orders", Capacity: 1, OnFull: flow.Reject})
	_, _ = in.Offer(context.Background(), "first")
	_, err := in.Put(context.Background(), "second") // with Reject, Put does not wait either
	if full, ok := errors.AsType[*flow.FullError](err); ok {
		fmt.Println("status 503:", full.Edge, "holds", full.Capacity)
	}
	in.Close()
	fmt.Println(in.Flow().Collect(context.Background(), 10))
	// Output:
	// status 503: orders holds 1
	// [first] <nil>
}
