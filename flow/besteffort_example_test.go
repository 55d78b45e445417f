package flow_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// Messages are acknowledged when they are stored. The dashboard shows what it can.
func ExampleFlow_BestEffort() {
	orders := flow.NewInlet(flow.Edge[int]{Name: "orders", Capacity: 10})
	table := stage.NewCollector[int](10)
	show := func(context.Context, int) error { return errors.New("the dashboard is down") }

	branches := orders.Flow().Broadcast(2)
	run, err := flow.Join(
		branches[0].To(table),
		branches[1].BestEffort().Buffer(1, flow.DropNewest).ForEach(show, flow.OnError(flow.Skip)),
	).Start(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for id := range 3 {
		fmt.Println(orders.Do(context.Background(), id)) // nil: the order is done
	}
	orders.Close()
	fmt.Println(run.Wait(), table.Items())
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// <nil> [0 1 2]
}
