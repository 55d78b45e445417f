package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
)

// Counts for a slow table: what comes while it is written to is added up, so that nothing waits long and nothing is lost.
func ExampleFlow_Conflate() {
	written := 0
	err := flow.FromSlice([]int{1, 2, 3, 4, 5}).
		Conflate(func(waiting, next int) int { return waiting + next }).
		ForEach(func(_ context.Context, count int) error {
			written += count
			return nil
		}).Run(context.Background())
	fmt.Println(written, err)
	// Output: 15 <nil>
}
