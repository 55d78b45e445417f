package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
)

// The channel is closed behind the last value, and also when the run fails: what went wrong is what Wait says.
func ExampleFlow_ToChan() {
	squares := make(chan int)
	run, err := flow.FromSlice([]int{1, 2, 3}).
		Map(func(i int) int { return i * i }).
		ToChan(squares).
		Start(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for s := range squares {
		fmt.Println(s)
	}
	fmt.Println(run.Wait())
	// Output:
	// 1
	// 4
	// 9
	// <nil>
}
