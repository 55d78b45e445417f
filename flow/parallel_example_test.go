package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
)

// Results come in the order of the input, whichever call was the first to return.
func ExampleFlow_Parallel() {
	square := func(_ context.Context, i int) (int, error) { return i * i, nil }
	squares, err := flow.FromSlice([]int{1, 2, 3, 4, 5}).
		Parallel(4, square).
		Collect(context.Background(), 10)
	fmt.Println(squares, err)
	// Output: [1 4 9 16 25] <nil>
}

// Where the order does not matter, no result waits for an earlier one: here the call for 1 returns only when the results of
// the others are through.
func ExampleParallelOption_unordered() {
	through := make(chan int, 3)
	fetch := func(_ context.Context, i int) (int, error) {
		for n := 0; i == 1 && n < 3; n++ {
			<-through
		}
		return i, nil
	}
	last := 0
	err := flow.FromSlice([]int{1, 2, 3, 4}).
		Parallel(2, fetch, flow.Unordered).
		ForEach(func(_ context.Context, i int) error {
			if last = i; i != 1 {
				through <- i
			}
			return nil
		}).Run(context.Background())
	fmt.Println("last:", last, err)
	// Output: last: 1 <nil>
}
