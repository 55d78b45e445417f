package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
)

// Each connection of a service is a producer of its own, as long as it lasts.
func ExampleNewMergeHub() {
	hub := flow.NewMergeHub(1, flow.Edge[string]{Name: "messages", Capacity: 64})
	run, err := hub.Flow().ForEach(func(_ context.Context, text string) error {
		fmt.Println(text)
		return nil
	}).Start(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	conn, _ := hub.Attach()
	_, err = hub.Attach()
	fmt.Println(err)
	_ = conn.Do(context.Background(), "hello") // returns when it has been printed
	conn.Close()
	hub.Close()
	fmt.Println(run.Wait())
	// Output:
	// flow: the hub is full: it has 1 producers
	// hello
	// <nil>
}

// Two viewers of the same prices. One must see all of them; the other one, which runs later, sees the latest.
func ExampleNewBroadcastHub() {
	ctx := context.Background()
	hub := flow.NewBroadcastHub[int](8, 1024)
	all, _, _ := hub.Attach(flow.Edge[int]{Capacity: 16})
	latest, _, _ := hub.Attach(flow.Edge[int]{Capacity: 1, OnFull: flow.DropOldest})

	fmt.Println(flow.FromSlice([]int{100, 101, 103, 102}).ToHub(hub).Run(ctx))
	fmt.Println(all.Collect(ctx, 16))
	fmt.Println(latest.Collect(ctx, 16))
	// Output:
	// <nil>
	// [100 101 103 102] <nil>
	// [102] <nil>
}

func ExampleFlow_ToHub() {
	ctx := context.Background()
	hub := flow.NewBroadcastHub[int](1, 16)
	run, err := flow.FromSlice([]int{1, 2, 3}).ToHub(hub).Start(ctx) // waits for a member
	if err != nil {
		fmt.Println(err)
		return
	}
	member, leave, err := hub.Attach(flow.Edge[int]{Capacity: 16})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer leave()
	fmt.Println(member.Collect(ctx, 16))
	fmt.Println(run.Wait())
	// Output:
	// [1 2 3] <nil>
	// <nil>
}
