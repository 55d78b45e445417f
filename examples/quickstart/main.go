// Command quickstart is the program of the project's README: it squares the numbers that it reads, eight at a time, in order.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

func main() {
	err := flow.From(stage.Lines(os.Stdin, stage.LineOptions{})).
		TryMap(flow.NoContext(strconv.Atoi), flow.OnError(flow.Skip)). // what is no number is counted and let go
		Buffer(1024, flow.Block).                                      // an edge: here a full one makes the reading wait
		Parallel(8, func(_ context.Context, n int) (int, error) { return n * n, nil }).
		ForEach(func(_ context.Context, n int) error { _, err := fmt.Println(n); return err }).
		Run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
