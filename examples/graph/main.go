// Command graph joins producers and consumers inside one process: two producers push into the graph, and two branches read it,
// of which one must get everything and the other may lose what it is too slow for.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"time"

	"github.com/weir-go/weir/flow"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

const each = 1000 // items that each producer sends

func run(ctx context.Context, out io.Writer) error {
	left := flow.NewInlet(flow.Edge[int]{Name: "left", Capacity: 16})
	right := flow.NewInlet(flow.Edge[int]{Name: "right", Capacity: 16})
	var ledger, display, dropped int // each is written by one goroutine, and read when the run has ended

	branches := flow.Merge(left.Flow(), right.Flow()).Broadcast(2)
	all := branches[0].Buffer(16, flow.Block, flow.Name("ledger")).
		ForEach(func(context.Context, int) error { ledger++; return nil })
	some := branches[1].Edge(flow.Edge[int]{
		Name: "display", Capacity: 16, OnFull: flow.DropOldest,
		Dropped: func(int, flow.DropReason) { dropped++ },
	}).ForEach(func(context.Context, int) error { display++; time.Sleep(time.Millisecond); return nil })

	r, err := flow.Join(all, some).Start(ctx)
	if err != nil {
		return err
	}
	var producers sync.WaitGroup
	producers.Go(func() { produce(ctx, left, 0) })
	producers.Go(func() { produce(ctx, right, each) })
	defer producers.Wait()
	if err := r.Wait(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "sent %d\nledger %d\ndisplay %d, dropped %d\n", 2*each, ledger, display, dropped)
	return err
}

// produce sends numbers from first on. Put waits while the edge is full, and fails once the run has ended.
func produce(ctx context.Context, in *flow.Inlet[int], first int) {
	defer in.Close()
	for i := range each {
		if _, err := in.Put(ctx, first+i); err != nil {
			return
		}
	}
}
