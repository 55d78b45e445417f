package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// Both branches must be consumed in the same pipeline.
func ExampleFlow_Split() {
	large, small := stage.NewCollector[int](10), stage.NewCollector[int](10)
	yes, no := flow.FromSlice([]int{5, 120, 7, 300}).Split(func(i int) bool { return i >= 100 })
	err := flow.Join(yes.To(large), no.To(small)).Run(context.Background())
	fmt.Println(large.Items(), small.Items(), err)
	// Output: [120 300] [5 7] <nil>
}
