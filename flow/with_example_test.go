package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
)

// The two halves meet in a channel, which the graph knows nothing of. One call runs both.
func ExampleFlow_With() {
	ch := make(chan int, 2)
	writes := flow.FromSlice([]int{1, 2, 3}).ToChan(ch)
	err := flow.FromChan(ch).With(writes).
		ForEach(func(_ context.Context, v int) error {
			fmt.Println(v)
			return nil
		}).
		Run(context.Background())
	fmt.Println(err)
	// Output:
	// 1
	// 2
	// 3
	// <nil>
}
