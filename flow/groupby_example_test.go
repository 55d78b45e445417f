package flow_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// Each word is counted by a stage of its own, which knows that there are no more when its input ends.
func ExampleFlow_GroupBy() {
	count := func(word string) stage.Stage[string, string] {
		return stage.StageFunc(func(ctx context.Context, in *stage.In[string], out *stage.Out[string]) error {
			n := 0
			for _, err := range in.All(ctx) {
				if err != nil {
					return err
				}
				n++
			}
			return out.Emit(ctx, stage.NewItem(fmt.Sprint(word, " ", n), stage.Meta{}))
		})
	}
	same := func(word string) string { return word }

	counts, err := flow.FromSlice(strings.Fields("to be or not to be")).
		GroupBy(flow.Groups[string]{}, same, count).
		Collect(context.Background(), 10)
	slices.Sort(counts)
	fmt.Println(counts, err)
	// Output: [be 2 not 1 or 1 to 2] <nil>
}

// firstOfPair takes two orders, hands on the first, and returns.
func firstOfPair(string) stage.Stage[string, string] {
	return stage.StageFunc(func(ctx context.Context, in *stage.In[string], out *stage.Out[string]) error {
		first, err := in.Next(ctx)
		if err != nil {
			return err
		}
		if err := out.Emit(ctx, first); err != nil {
			return err
		}
		_, err = in.Next(ctx)
		return err
	})
}

func customer(order string) string { return order[:3] }

// A stage that returns is followed by another one, so of each customer every other order comes.
func ExampleEndedGroup_reopen() {
	orders, err := flow.FromSlice([]string{"ada 1", "ada 2", "ada 3", "ada 4", "ada 5"}).
		GroupBy(flow.Groups[string]{Ended: flow.Reopen}, customer, firstOfPair).
		Collect(context.Background(), 10)
	fmt.Println(orders, err)
	// Output: [ada 1 ada 3 ada 5] <nil>
}

// A stage that returns is the last of its key, and what comes then is dropped.
func ExampleEndedGroup_dropRest() {
	lost := 0
	orders, err := flow.FromSlice([]string{"ada 1", "ada 2", "ada 3", "ada 4", "ada 5"}).
		GroupBy(flow.Groups[string]{
			Ended: flow.DropRest,
			Lane:  flow.Edge[string]{Dropped: func(string, flow.DropReason) { lost++ }},
		}, customer, firstOfPair).
		Collect(context.Background(), 10)
	fmt.Println(orders, err, "and", lost, "dropped")
	// Output: [ada 1] <nil> and 3 dropped
}
