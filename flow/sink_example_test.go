package flow_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// A sink takes slices: as many items as there are.
func ExampleFlow_To() {
	rows := 0
	table := stage.SinkFunc(func(_ context.Context, names []string) error {
		rows += len(names) // one statement for all of them
		return nil
	})
	err := flow.FromSlice([]string{"Ann", "Bob", "Cid"}).To(table).Run(context.Background())
	fmt.Println(rows, err)
	// Output: 3 <nil>
}

// A sink may say which items it could not take: only these are affected.
func ExampleFlow_To_batchError() {
	table := stage.SinkFunc(func(_ context.Context, ages []int) error {
		var bad stage.BatchError
		for i, age := range ages {
			if age < 0 {
				bad.Add(i, errors.New("check constraint"))
				continue
			}
			fmt.Println("insert", age)
		}
		return bad.OrNil()
	})
	err := flow.FromSlice([]int{31, -1, 47}).To(table, flow.OnError(flow.Skip)).Run(context.Background())
	fmt.Println(err)
	// Output:
	// insert 31
	// insert 47
	// <nil>
}

// bulk is a sink for which each push is a round trip.
type bulk struct{}

func (bulk) PushSize() int { return 500 }

func (bulk) Push(_ context.Context, names []string) error {
	fmt.Println("one round trip for", names)
	return nil
}

// A sink may say how many items it likes to get at a time. It gets what is there, and none is held back for more to come.
func ExampleFlow_To_pushSize() {
	answered := make(chan string)
	go func() {
		defer close(answered)
		answered <- "Ann"
	}()
	fmt.Println(flow.FromChan(answered).To(bulk{}).Run(context.Background()))
	// Output:
	// one round trip for [Ann]
	// <nil>
}

// outbox is a sink that writes metadata beside the value.
type outbox struct{}

func (outbox) PushItems(_ context.Context, items []stage.Item[string]) error {
	for _, it := range items {
		fmt.Printf("key=%s body=%s\n", it.Meta().Key, it.Value)
	}
	return nil
}

// A sink of items sees their metadata: a message broker's headers, for example.
func ExampleFlow_ToItems() {
	err := flow.FromSlice([]string{"acme:hello"}).
		Stamp(func(s string, m stage.Meta) stage.Meta {
			m.Key = s[:4]
			return m
		}).
		Map(func(s string) string { return s[5:] }).
		ToItems(outbox{}).
		Run(context.Background())
	fmt.Println(err)
	// Output:
	// key=acme body=hello
	// <nil>
}

// A function for each value, in the goroutine of what is in front of it.
func ExampleFlow_ForEach() {
	err := flow.FromSlice([]string{"Ann", "Bob"}).ForEach(func(_ context.Context, name string) error {
		_, err := fmt.Println("hello", name)
		return err
	}).Run(context.Background())
	fmt.Println(err)
	// Output:
	// hello Ann
	// hello Bob
	// <nil>
}

// Two pushes at the same time: each of these waits for the other.
func ExampleWorkers() {
	var both sync.WaitGroup
	both.Add(2)
	slow := func(_ context.Context, _ string) error {
		both.Done()
		both.Wait()
		return nil
	}
	err := flow.FromSlice([]string{"left", "right"}).ForEach(slow, flow.Workers(2)).Run(context.Background())
	fmt.Println(err)
	// Output: <nil>
}

// Groups for a sink, without making them values: errors and claims stay with the rows.
func ExampleGather() {
	table := stage.SinkFunc(func(_ context.Context, rows []int) error {
		fmt.Println("insert", rows)
		return nil
	})
	err := flow.FromSlice([]int{1, 2, 3, 4, 5, 6, 7}).
		To(table, flow.Gather(3, time.Minute)).
		Run(context.Background())
	fmt.Println(err)
	// Output:
	// insert [1 2 3]
	// insert [4 5 6]
	// insert [7]
	// <nil>
}
