package flow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// An edge between two stages: they run at the same time, and the second may be 16 items behind, not more.
func ExampleFlow_Buffer() {
	frames := stage.NewCollector[string](10)
	p := flow.FromSlice([]int{1, 2, 3}).
		Map(func(i int) string { return fmt.Sprint("frame ", i) }).
		Buffer(16, flow.Block, flow.Name("frames")).
		To(frames)
	fmt.Println(p.Run(context.Background()), frames.Items())
	fmt.Println(p.Graph().Goroutines, "goroutines")
	// Output:
	// <nil> [frame 1 frame 2 frame 3]
	// 2 goroutines
}

// Everything about an edge that the two arguments of Buffer do not say. Written in front of Parallel, it is Parallel's own.
func ExampleFlow_Edge() {
	p := flow.FromSlice([]string{"a.txt", "b.txt"}).
		Edge(flow.Edge[string]{
			Name:      "uploads",
			Capacity:  64,
			MaxWeight: 1 << 20, // bytes
			Weight:    func(file string) int64 { return int64(len(file)) },
		}).
		Parallel(4, func(_ context.Context, file string) (string, error) { return file + ".gz", nil }).
		ForEach(func(_ context.Context, file string) error {
			fmt.Println("stored", file)
			return nil
		})
	err := p.Run(context.Background())
	e := p.Graph().Edges[0]
	fmt.Println(e.Name, e.From, e.To, e.Capacity, e.MaxWeight, err)
	// Output:
	// stored a.txt.gz
	// stored b.txt.gz
	// uploads [from#1] [parallel#3] 64 1048576 <nil>
}

// The hook is told of each item that the edge drops, and why.
func ExampleEdge_dropped() {
	in := flow.NewInlet(flow.Edge[int]{
		Capacity: 2,
		OnFull:   flow.DropOldest,
		Dropped:  func(v int, why flow.DropReason) { fmt.Println("dropped", v, "because the edge was", why) },
	})
	for v := range 4 { // nobody takes anything yet
		_, _ = in.Offer(context.Background(), v)
	}
	in.Close()
	fmt.Println(in.Flow().Collect(context.Background(), 10))
	// Output:
	// dropped 0 because the edge was full
	// dropped 1 because the edge was full
	// [2 3] <nil>
}

// A price that is a while old is worth nothing: the edge drops it when the consumer comes for it.
func ExampleEdge_maxWait() {
	in := flow.NewInlet(flow.Edge[float64]{
		Capacity: 16,
		MaxWait:  time.Nanosecond,
		Dropped:  func(price float64, why flow.DropReason) { fmt.Println(price, why) },
	})
	_, _ = in.Offer(context.Background(), 9.5)
	_, _ = in.Offer(context.Background(), 9.6)
	in.Close()
	<-time.After(time.Millisecond) // the consumer is late
	prices, err := in.Flow().Collect(context.Background(), 10)
	fmt.Println(len(prices), "prices in time,", err)
	// Output:
	// 9.5 expired
	// 9.6 expired
	// 0 prices in time, <nil>
}

// A bound by weight beside the one by number: at most ten bytes wait.
func ExampleEdge_maxWeight() {
	in := flow.NewInlet(flow.Edge[string]{
		Name:      "outbox",
		Capacity:  100,
		OnFull:    flow.Reject,
		MaxWeight: 10,
		Weight:    func(s string) int64 { return int64(len(s)) },
	})
	for _, s := range []string{"seven..", "four", "two"} {
		_, err := in.Offer(context.Background(), s)
		fmt.Println(s, err)
	}
	in.Close()
	fmt.Println(in.Flow().Collect(context.Background(), 10))
	// Output:
	// seven.. <nil>
	// four flow: edge "outbox" is full (capacity 100)
	// two <nil>
	// [seven.. two] <nil>
}
