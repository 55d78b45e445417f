package flow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-go/weir/flow"
)

// Somebody is typing. The search is for what is there when they pause.
func ExampleFlow_Debounce() {
	searches, err := flow.FromSlice([]string{"w", "we", "wei", "weir"}).
		Debounce(time.Minute).
		Collect(context.Background(), 10)
	fmt.Println(searches, err)
	// Output: [weir] <nil>
}
