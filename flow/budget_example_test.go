package flow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-go/weir/flow"
)

// A budget can be asked outside of a flow as well: of ten requests, one may be repeated.
func ExampleNewBudget() {
	budget, err := flow.NewBudget(flow.BudgetConfig{Ratio: 0.1, Least: -1})
	if err != nil {
		panic(err)
	}
	for range 10 {
		budget.Request()
	}
	fmt.Println(budget.Retry(), budget.Retry())
	fmt.Printf("%+v\n", budget.Stats())
	// Output:
	// true false
	// {Requests:10 Retries:1 Refused:1}
}

// A service that fails all the time gets 110 calls for 100 orders, although each of them may be retried five times.
func ExampleRetryBudget() {
	budget, err := flow.NewBudget(flow.BudgetConfig{})
	if err != nil {
		panic(err)
	}
	service := newService(1000)
	orders := make([]string, 100)
	err = flow.FromSlice(orders).
		ForEach(func(ctx context.Context, order string) error { _, err := service.call(ctx, order); return err },
			flow.RetryBudget(budget),
			flow.OnError(flow.Retry(5, flow.Exponential(time.Microsecond, 10*time.Microsecond)), flow.Skip)).
		Run(context.Background())
	fmt.Println(service.calls.Load(), "calls,", err)
	// Output: 110 calls, <nil>
}
