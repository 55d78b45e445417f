package flow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-go/weir/flow"
)

// The memory is bounded: here it holds two keys, and "Ann" is forgotten when "Cid" comes.
func ExampleFlow_Distinct() {
	key := func(name string) string { return name }
	names, err := flow.FromSlice([]string{"Ann", "Bob", "Bob", "Cid", "Bob", "Ann"}).
		Distinct(2, key).
		Collect(context.Background(), 10)
	fmt.Println(names, err)
	// Output: [Ann Bob Cid Ann] <nil>
}

// An alert is repeated once a minute at most, for up to a thousand hosts.
func ExampleFlow_Dedup() {
	type alert struct{ host, text string }
	alerts := []alert{{"db1", "disk full"}, {"db1", "disk full"}, {"db2", "disk full"}, {"db1", "disk full"}}
	_ = flow.FromSlice(alerts).
		Dedup(time.Minute, 1000, func(a alert) string { return a.host }).
		ForEach(func(_ context.Context, a alert) error {
			fmt.Println(a.host, a.text)
			return nil
		}).
		Run(context.Background())
	// Output:
	// db1 disk full
	// db2 disk full
}
