package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// A function that may fail. The first error ends the run, with the name of the stage.
func ExampleFlow_TryMap() {
	parse := func(_ context.Context, s string) (int, error) { return strconv.Atoi(s) }
	numbers, err := flow.FromSlice([]string{"1", "2", "three", "4"}).
		TryMap(parse, flow.Name("parse")).
		Collect(context.Background(), 10)
	failed, _ := errors.AsType[*stage.Error](err)
	fmt.Println(numbers)
	fmt.Println(failed.Stage)
	fmt.Println(errors.Is(err, strconv.ErrSyntax))
	// Output:
	// [1 2]
	// parse
	// true
}

// A function of the standard library, which has no use for a context.
func ExampleNoContext() {
	numbers, err := flow.FromSlice([]string{"1", "2", "3"}).
		TryMap(flow.NoContext(strconv.Atoi)).
		Collect(context.Background(), 10)
	fmt.Println(numbers, err)
	// Output: [1 2 3] <nil>
}
