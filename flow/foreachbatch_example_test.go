package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
)

// One statement for up to three rows.
func ExampleFlow_ForEachBatch() {
	insert := func(_ context.Context, rows []string) error {
		fmt.Println("insert", rows)
		return nil
	}
	err := flow.FromSlice([]string{"a", "b", "c", "d"}).
		ForEachBatch(3, 0, insert).
		Run(context.Background())
	fmt.Println(err)
	// Output:
	// insert [a b c]
	// insert [d]
	// <nil>
}
