package flow_test

import (
	"cmp"
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
)

// Log files, each in the order of time, become one.
func ExampleFlow_MergeSorted() {
	first := flow.FromSlice([]int{10, 20, 40})
	second := flow.FromSlice([]int{15, 30})
	third := flow.FromSlice([]int{5, 50})
	all, err := first.MergeSorted(cmp.Compare[int], second, third).Collect(context.Background(), 10)
	fmt.Println(all, err)
	// Output: [5 10 15 20 30 40 50] <nil>
}
