// Command quickstart is the program of the project's README: it reads numbers from lines, squares them in parallel and prints
// them in groups.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

const lines = "1\n2\nthree\n4\n5\n6\n7\n"

func main() {
	if err := run(context.Background(), strings.NewReader(lines), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, in io.Reader, out io.Writer) error {
	square := func(_ context.Context, n int) (int, error) { return n * n, nil }
	show := func(_ context.Context, squares []int) error {
		_, err := fmt.Fprintln(out, squares)
		return err
	}
	return flow.From(stage.Lines(in, stage.LineOptions{})).
		TryMap(flow.NoContext(strconv.Atoi), flow.OnError(flow.Skip)).
		Buffer(1024, flow.Block).
		Parallel(8, square).
		To(stage.SinkFunc(show), flow.Gather(3, time.Second)).
		Run(ctx)
}
