package flow_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-go/weir/flow"
)

// A result with a limit, so that no input can fill the memory.
func ExampleFlow_Collect() {
	numbers := flow.FromSlice([]int{1, 2, 3, 4})
	fmt.Println(numbers.Collect(context.Background(), 10))

	first, err := numbers.Collect(context.Background(), 2)
	fmt.Println(first, errors.Is(err, flow.ErrTooMany))
	// Output:
	// [1 2 3 4] <nil>
	// [1 2] true
}

// One value made of all.
func ExampleFlow_Reduce() {
	longest, err := flow.FromSlice([]string{"oak", "hornbeam", "birch"}).
		Reduce(context.Background(), "", func(best, s string) string {
			if len(s) > len(best) {
				return s
			}
			return best
		})
	fmt.Println(longest, err)
	// Output: hornbeam <nil>
}

// A run as a loop. Leaving it ends the run, and what the loop did not ask for is still in the source.
func ExampleFlow_All() {
	ch := make(chan int, 5)
	for i := range 5 {
		ch <- i
	}
	for v, err := range flow.FromChan(ch).Map(func(i int) int { return i * i }).All(context.Background()) {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(v)
		if v == 4 {
			break
		}
	}
	fmt.Println(len(ch), "left")
	// Output:
	// 0
	// 1
	// 4
	// 2 left
}
