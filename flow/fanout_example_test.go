package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// A side pipeline beside the chain: all readings are archived, alarms go on.
func ExampleFlow_Tee() {
	archive := stage.NewCollector[int](100)
	alarms, err := flow.FromSlice([]int{20, 21, 95, 22, 97}).
		Tee(func(readings flow.Flow[int]) flow.Pipeline { return readings.To(archive) }).
		Filter(func(celsius int) bool { return celsius > 90 }).
		Collect(context.Background(), 10)
	fmt.Println("alarms:", alarms, err)
	fmt.Println("archive:", archive.Items())
	// Output:
	// alarms: [95 97] <nil>
	// archive: [20 21 95 22 97]
}

// Every branch gets every value, and must be consumed in the same pipeline.
func ExampleFlow_Broadcast() {
	even, odd := stage.NewCollector[int](100), stage.NewCollector[int](100)
	branches := flow.FromSlice([]int{1, 2, 3, 4, 5, 6}).Broadcast(2)
	err := flow.Join(
		branches[0].Filter(func(i int) bool { return i%2 == 0 }).To(even),
		branches[1].Filter(func(i int) bool { return i%2 == 1 }).To(odd),
	).Run(context.Background())
	fmt.Println(even.Items(), odd.Items(), err)
	// Output: [2 4 6] [1 3 5] <nil>
}

// A branch may leave early; the other one goes on.
func ExampleFlow_Broadcast_leave() {
	sample, all := stage.NewCollector[int](100), stage.NewCollector[int](100)
	branches := flow.FromSlice([]int{1, 2, 3, 4, 5, 6}).Broadcast(2)
	err := flow.Join(branches[0].Take(1).To(sample), branches[1].To(all)).Run(context.Background())
	fmt.Println(sample.Items(), all.Items(), err)
	// Output: [1] [1 2 3 4 5 6] <nil>
}
