package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
)

// Zip ends with the shorter side.
func ExampleFlow_Zip() {
	names := flow.FromSlice([]string{"ada", "bob", "cyd"})
	ages := flow.FromSlice([]int{36, 41})
	pairs, err := names.Zip(ages).Collect(context.Background(), 10)
	for _, p := range pairs {
		fmt.Println(p.First, p.Second)
	}
	fmt.Println(err)
	// Output:
	// ada 36
	// bob 41
	// <nil>
}

func ExampleFlow_ZipWith() {
	prices := flow.FromSlice([]float64{1.5, 2, 10})
	amounts := flow.FromSlice([]int{2, 3, 1})
	total := func(price float64, amount int) float64 { return price * float64(amount) }
	totals, err := prices.ZipWith(amounts, total).Collect(context.Background(), 10)
	fmt.Println(totals, err)
	// Output: [3 6 10] <nil>
}
