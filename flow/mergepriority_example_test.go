package flow_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/weir-go/weir/flow"
)

// What is urgent overtakes what is not, wherever both wait.
func ExampleMergePriority() {
	urgent := flow.FromSlice([]string{"fire", "flood"})
	routine := flow.FromSlice([]string{"report", "invoice", "order"})
	tasks, err := flow.MergePriority(urgent, routine).Collect(context.Background(), 10)

	slices.Sort(tasks) // here all are there at once, and which comes first depends on who is faster
	fmt.Println(tasks, err)
	// Output: [fire flood invoice order report] <nil>
}
