package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// Metadata set once, where the tenant is known, is there in all that follows: in contexts, errors and dead letters.
func ExampleFlow_Stamp() {
	type order struct {
		tenant string
		cents  int
	}
	err := flow.FromSlice([]order{{"acme", 250}, {"globex", 990}}).
		Stamp(func(o order, m stage.Meta) stage.Meta {
			m.Key = o.tenant
			return m
		}).
		Map(func(o order) int { return o.cents }). // the tenant is gone from the value
		ForEach(func(ctx context.Context, cents int) error {
			m, _ := stage.MetaFrom(ctx)
			fmt.Println(m.Key, cents)
			return nil
		}).Run(context.Background())
	fmt.Println(err)
	// Output:
	// acme 250
	// globex 990
	// <nil>
}
