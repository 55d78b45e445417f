package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
)

// Several flows become one. The order between them is open, so the lines may come in any order.
func ExampleMerge() {
	web := flow.FromSlice([]string{"web: up", "web: down"})
	db := flow.FromSlice([]string{"db: up"})
	err := flow.Merge(web, db).ForEach(func(_ context.Context, line string) error {
		fmt.Println(line)
		return nil
	}).Run(context.Background())
	fmt.Println(err)
	// Unordered output:
	// web: up
	// web: down
	// db: up
	// <nil>
}
