package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
)

// What was stored comes first, then what is live, which nobody reads before.
func ExampleFlow_Concat() {
	live := make(chan string, 2)
	live <- "now 1"
	live <- "now 2"
	close(live)
	events, err := flow.FromSlice([]string{"then 1", "then 2"}).
		Concat(flow.FromChan(live)).
		Collect(context.Background(), 10)
	fmt.Println(events, err)
	// Output: [then 1 then 2 now 1 now 2] <nil>
}
