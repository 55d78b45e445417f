package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
)

// A balance after each booking.
func ExampleFlow_Scan() {
	balances, err := flow.FromSlice([]int{100, -30, 5}).
		Scan(0, func(balance, booking int) int { return balance + booking }).
		Collect(context.Background(), 10)
	fmt.Println(balances, err)
	// Output: [100 70 75] <nil>
}
