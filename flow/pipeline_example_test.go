package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// Several sinks that run together: an error in one of them stops all.
func ExampleJoin() {
	words, lengths := stage.NewCollector[string](10), stage.NewCollector[int](10)
	branches := flow.FromSlice([]string{"go", "weir"}).Broadcast(2)
	p := flow.Join(
		branches[0].To(words),
		branches[1].Map(func(s string) int { return len(s) }).To(lengths),
	)
	fmt.Println(p.Run(context.Background()), words.Items(), lengths.Items())
	// Output: <nil> [go weir] [2 4]
}

// A pipeline runs until its sources end or ctx does. Cancelling gives the cause.
func ExamplePipeline_Run() {
	ctx, cancel := context.WithCancelCause(context.Background())
	err := flow.FromSlice([]int{1, 2, 3}).
		ForEach(func(ctx context.Context, i int) error {
			if i == 2 {
				cancel(errors.New("enough"))
			}
			return ctx.Err()
		}).Run(ctx)
	fmt.Println(err)
	// Output: enough
}

// A run in the background, which can be watched, drained and stopped.
func ExamplePipeline_Start() {
	sum := 0
	run, err := flow.FromSlice([]int{1, 2, 3}).
		ForEach(func(_ context.Context, i int) error {
			sum += i
			return nil
		}).Start(context.Background())
	if err != nil {
		fmt.Println("not started:", err) // something is wrong with the blueprint
		return
	}
	fmt.Println(run.Wait(), sum)
	// Output: <nil> 6
}

// All that is wrong with a blueprint, with the lines that made it. Nothing runs.
func ExamplePipeline_Check() {
	err := flow.FromSlice([]int{1, 2, 3}).
		Buffer(0, flow.Block).
		Batch(10, -1).
		To(nil).
		Check()
	for line := range strings.Lines(err.Error()) {
		name, text, _ := strings.Cut(line, " (pipeline_example_test.go:")
		_, text, _ = strings.Cut(text, "): ")
		fmt.Println(name, "...", strings.TrimSpace(text))
	}
	// Output:
	// flow: buffer#2 ... capacity must be 1 to 2147483647, got 0
	// flow: batch#3 ... maxWait must be >= 0, got -1ns
	// flow: to#4 ... sink must not be nil
}

// The graph as a diagram: thick arrows are edges, thin ones join the stages of one goroutine.
func ExamplePipeline_Graph() {
	p := flow.FromSlice([]string{"1", "2"}, flow.Name("numbers")).
		Map(strings.TrimSpace, flow.Name("trim")).
		Buffer(100, flow.DropOldest, flow.Name("recent")).
		To(stage.Discard[string](), flow.Name("table"))
	fmt.Print(p.Graph().Mermaid())
	// Output:
	// flowchart LR
	//   s0["numbers"]
	//   s1["trim"]
	//   s2["table"]
	//   s0 --> s1
	//   s1 ==>|"recent 100 drop-oldest"| s2
}
