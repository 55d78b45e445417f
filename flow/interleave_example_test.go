package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
)

// Two values of each in turn; what is left of the longer one follows.
func ExampleFlow_Interleave() {
	ads := flow.FromSlice([]string{"ad1", "ad2"})
	posts, err := flow.FromSlice([]string{"p1", "p2", "p3", "p4", "p5", "p6"}).
		Interleave(2, ads).
		Collect(context.Background(), 10)
	fmt.Println(posts, err)
	// Output: [p1 p2 ad1 ad2 p3 p4 p5 p6] <nil>
}
