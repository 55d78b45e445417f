package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// A drain takes nothing in any more and finishes what is inside.
func ExampleRun_Drain() {
	ctx := context.Background()
	in := flow.NewInlet(flow.Edge[int]{Capacity: 10})
	for i := range 3 {
		_, _ = in.Offer(ctx, i)
	}
	run, _ := in.Flow().ForEach(func(_ context.Context, i int) error {
		fmt.Println("job", i)
		return nil
	}).Start(ctx)
	fmt.Println("drained:", run.Drain(ctx)) // ctx would limit the wait
	_, err := in.Offer(ctx, 4)
	fmt.Println(errors.Is(err, flow.ErrClosed))
	// Output:
	// job 0
	// job 1
	// job 2
	// drained: <nil>
	// true
}

// A stop abandons what is inside. Wait tells why the run has ended.
func ExampleRun_Stop() {
	forever := func(ctx context.Context) (int, error) {
		<-ctx.Done()
		return 0, context.Cause(ctx)
	}
	run, _ := flow.FromFunc(forever).To(stage.Discard[int]()).Start(context.Background())
	run.Stop()
	fmt.Println(run.Wait())
	// Output: flow: stopped
}

// What each stage and each edge has seen, while the run goes on or after its end.
func ExampleRun_Stats() {
	run, _ := flow.FromSlice([]int{1, 2, 3, 4, 5}, flow.Name("numbers")).
		Filter(func(i int) bool { return i%2 == 1 }, flow.Name("odd")).
		Buffer(10, flow.Block, flow.Name("queue")).
		To(stage.Discard[int](), flow.Name("table")).
		Start(context.Background())
	err := run.Wait()
	stats := run.Stats()
	for _, s := range stats.Stages {
		fmt.Println(s.Name, s.In, s.Out)
	}
	for _, e := range stats.Edges {
		fmt.Println(e.Name, e.In, e.Out, "dropped", e.Dropped.Total())
	}
	fmt.Println(err)
	// Output:
	// numbers 0 5
	// odd 5 3
	// table 3 3
	// queue 3 3 dropped 0
	// <nil>
}

// How the items ended.
func ExampleRun_Report() {
	run, _ := flow.FromSlice([]string{"1", "two", "3"}).
		TryMap(flow.NoContext(strconv.Atoi), flow.OnError(flow.Skip)).
		To(stage.Discard[int]()).
		Start(context.Background())
	err := run.Wait()
	report := run.Report()
	fmt.Println(report.Done, "done,", report.Skipped, "skipped,", report.Failed, "failed,", err)
	// Output: 2 done, 1 skipped, 0 failed, <nil>
}
