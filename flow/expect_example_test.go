package flow_test

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/sizing"
)

func ExampleExpect() {
	store := func(context.Context, string) error { return nil }
	orders := flow.NewInlet(flow.Edge[string]{Name: "orders", Capacity: 10_000})
	p := orders.Flow().ForEach(store, flow.Name("store"), flow.Workers(10), flow.Expect(sizing.Load{
		Rate:    180,                    // orders a second
		Service: 50 * time.Millisecond,  // for one of them
		Latency: 250 * time.Millisecond, // nobody is to wait for longer
	}))
	line := regexp.MustCompile(` \(.*?\)`) // of the program, which is another one here
	for _, text := range p.Advice() {
		fmt.Println(line.ReplaceAllString(text, ""))
	}

	// Output:
	// flow: store: utilization 0.90: above 0.8 waiting grows faster than load; 12 workers keep it there
	// flow: orders: an unbounded queue in disguise: the last of 10000 places waits 50s at 200/s, and 250ms is wanted: 50 are enough
}
