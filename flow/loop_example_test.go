package flow_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/weir-go/weir/flow"
)

// Calls that fail go round until they succeed. No more than two are inside, and what is inside is finished before the loop ends.
func ExampleFlow_Loop() {
	type call struct {
		name  string
		tries int
	}
	try := func(c call) call { return call{c.name, c.tries + 1} }
	succeeded := func(c call) bool { return c.tries == len(c.name) }
	err := flow.FromSlice([]call{{name: "a"}, {name: "ccc"}, {name: "bb"}}).
		Loop(flow.Gated(2), func(in flow.Flow[call]) (out, again flow.Flow[call]) {
			return in.Map(try).Split(succeeded)
		}).
		ForEach(func(_ context.Context, c call) error {
			fmt.Println(c.name, c.tries)
			return nil
		}).
		Run(context.Background())
	if err != nil {
		fmt.Println(err)
	}
	// Unordered output:
	// a 1
	// bb 2
	// ccc 3
}

// A tree is walked from its root: each node leads to two more. The gate counts them, and at most a hundred wait to go round.
func ExampleGated() {
	visited := flow.FromSlice([]int{1}).Loop(flow.Gated(4).Children(100), func(in flow.Flow[int]) (out, again flow.Flow[int]) {
		nodes := in.Broadcast(2)
		return nodes[0], nodes[1].FlatMap(func(n int) []int {
			if n > 7 {
				return nil
			}
			return []int{2 * n, 2*n + 1}
		})
	})
	all, err := visited.Collect(context.Background(), 1000)
	slices.Sort(all)
	fmt.Println(all, err)
	// Output: [1 2 3 4 5 6 7 8 9 10 11 12 13 14 15] <nil>
}

// Without a gate, a feedback edge that drops bounds what goes round.
func ExampleLossy() {
	loop := flow.FromSlice([]int{1}).Loop(flow.Lossy(1, flow.DropNewest), func(in flow.Flow[int]) (out, again flow.Flow[int]) {
		bs := in.Broadcast(2)
		return bs[0], bs[1].Filter(func(n int) bool { return n < 5 }).Map(func(n int) int { return n + 1 })
	})
	all, err := loop.Collect(context.Background(), 1000)
	fmt.Println(all, err)
	// Output: [1 2 3 4 5] <nil>
}

// Two connections serve all jobs: each job waits for one, and hands it back.
func ExampleFlow_PrimedLoop() {
	type conn struct{ name string }
	conns := []*conn{{"left"}, {"right"}}
	served := flow.FromSlice([]string{"a", "b", "c", "d"}).
		PrimedLoop(conns, func(in flow.Flow[flow.Pair[string, *conn]]) (out flow.Flow[string], again flow.Flow[*conn]) {
			bs := in.Broadcast(2)
			return bs[0].Map(func(p flow.Pair[string, *conn]) string { return p.First + " by " + p.Second.name }),
				bs[1].Map(func(p flow.Pair[string, *conn]) *conn { return p.Second })
		})
	all, err := served.Collect(context.Background(), 10)
	fmt.Println(all, err)
	// Output: [a by left b by right c by left d by right] <nil>
}

// A worker that never has anything to do, and places that are never taken.
func ExamplePipeline_Advice() {
	p := flow.FromSlice([]int{1, 2, 3}).
		Loop(flow.Gated(4), func(in flow.Flow[int]) (out, again flow.Flow[int]) {
			work := func(_ context.Context, n int) (int, error) { return n - 1, nil }
			return in.Parallel(16, work, flow.Name("work")).Split(func(n int) bool { return n == 0 })
		}, flow.Name("countdown")).
		ForEach(func(context.Context, int) error { return nil })
	for _, text := range p.Advice() {
		fmt.Println(text)
	}
	// Output: flow: work (loop_example_test.go:85): it has 16 workers, of which 4 ever have something to do: the gate of countdown lets in no more
}
