package flow_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// A list whose last page leads back to the first would never end. It is put aside, and the others go on.
func ExampleMaxResults() {
	next := map[string]string{"a1": "a2", "b1": "b2", "b2": "b1", "c1": "c2"}
	aside := stage.SinkFunc(func(_ context.Context, ls []stage.DeadLetter) error {
		for _, l := range ls {
			fmt.Println("aside:", l.Value, errors.Is(l.Err, flow.ErrTooMany))
		}
		return nil
	})
	pages := 0
	err := flow.FromSlice([]string{"a1", "b1", "c1"}).
		Expand(func(_ context.Context, page string, emit func(string) error) error {
			for ; page != ""; page = next[page] {
				if err := emit(page); err != nil {
					return err
				}
			}
			return nil
		}, flow.MaxResults(10), flow.OnError(flow.DeadLetter(aside))).
		ForEach(func(context.Context, string) error { pages++; return nil }).
		Run(context.Background())
	fmt.Println(pages, "pages,", err)
	// Output:
	// aside: b1 true
	// 14 pages, <nil>
}
