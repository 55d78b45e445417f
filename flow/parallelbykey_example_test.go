package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
)

// The bookings of one account are made one after the other, those of different accounts at the same time.
func ExampleFlow_ParallelByKey() {
	type booking struct {
		account string
		amount  int
	}
	bookings := []booking{{"ada", 10}, {"bob", 5}, {"ada", -4}, {"bob", 7}, {"ada", 1}}
	account := func(b booking) string { return b.account }
	book := func(_ context.Context, b booking) (booking, error) { return b, nil }

	amounts := map[string][]int{}
	err := flow.FromSlice(bookings).
		ParallelByKey(4, account, book).
		ForEach(func(_ context.Context, b booking) error {
			amounts[b.account] = append(amounts[b.account], b.amount)
			return nil
		}).Run(context.Background())
	fmt.Println(amounts, err)
	// Output: map[ada:[10 -4 1] bob:[5 7]] <nil>
}
