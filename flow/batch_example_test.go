package flow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-go/weir/flow"
)

// Groups for a later stage: three at a time, the rest at the end. In a stream that never ends nothing waits longer than a minute.
func ExampleFlow_Batch() {
	total := func(prices []int) (sum int) {
		for _, p := range prices {
			sum += p
		}
		return sum
	}
	err := flow.FromSlice([]int{5, 5, 5, 1, 2, 3, 9}).
		Batch(3, time.Minute).
		ForEach(func(_ context.Context, prices []int) error {
			fmt.Println(prices, total(prices))
			return nil
		}).Run(context.Background())
	fmt.Println(err)
	// Output:
	// [5 5 5] 15
	// [1 2 3] 6
	// [9] 9
	// <nil>
}

// Messages packed into packets of up to ten bytes. What is larger travels alone.
func ExampleFlow_BatchWeight() {
	size := func(s string) int64 { return int64(len(s)) }
	packets, err := flow.FromSlice([]string{"four", "five5", "tiny", "much too long", "end"}).
		BatchWeight(10, size, time.Minute).
		Collect(context.Background(), 10)
	fmt.Printf("%q %v\n", packets, err)
	// Output: [["four" "five5"] ["tiny"] ["much too long"] ["end"]] <nil>
}
