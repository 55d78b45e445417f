package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
)

// All pages of each list, one request after the other. As many are fetched as the sink has room for.
func ExampleFlow_Expand() {
	pages := map[string][]string{"fruit": {"apple", "pear"}, "empty": nil, "fish": {"cod", "eel", "ray"}}
	err := flow.FromSlice([]string{"fruit", "empty", "fish"}).
		Expand(func(_ context.Context, list string, emit func(string) error) error {
			for _, page := range pages[list] {
				if err := emit(list + ": " + page); err != nil {
					return err
				}
			}
			return nil
		}).
		ForEach(func(_ context.Context, page string) error {
			fmt.Println(page)
			return nil
		}).Run(context.Background())
	fmt.Println(err)
	// Output:
	// fruit: apple
	// fruit: pear
	// fish: cod
	// fish: eel
	// fish: ray
	// <nil>
}
