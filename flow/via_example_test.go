package flow_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// joinPairs is a stage that keeps an item until its partner comes, and hands on what it makes of the two.
type joinPairs struct{}

func (joinPairs) Run(ctx context.Context, in *stage.In[string], out *stage.Out[string]) error {
	var first stage.Item[string]
	waiting := false
	for it, err := range in.All(ctx) {
		if err != nil {
			return err
		}
		if !waiting {
			first, waiting = in.Keep(it), true
			continue
		}
		pair := stage.Combine(first.Value+"+"+it.Value, first, in.Keep(it))
		if err := out.Emit(ctx, pair); err != nil {
			return err
		}
		waiting = false
	}
	if waiting {
		first.Done()
	}
	return nil
}

// A stage with a loop of its own, for what no operator does.
func ExampleFlow_Via() {
	pairs, err := flow.FromSlice(strings.Split("abcde", "")).
		Via(joinPairs{}).
		Collect(context.Background(), 10)
	fmt.Println(pairs, err)
	// Output: [a+b c+d] <nil>
}
