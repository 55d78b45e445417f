package flow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/flow/breaker"
	"github.com/weir-go/weir/stage"
)

// A dependency that fails its first hundred calls, and everything that is around a call to it.
func Example_aroundACall() {
	payments, err := breaker.New(breaker.Config{OpenFor: 10 * time.Millisecond}) // one of each for the dependency, not for the stage
	if err != nil {
		panic(err)
	}
	limiter, err := admission.NewLimiter(4, 100)
	if err != nil {
		panic(err)
	}
	budget, err := flow.NewBudget(flow.BudgetConfig{})
	if err != nil {
		panic(err)
	}
	service, rejected := newService(100), stage.NewCollector[stage.DeadLetter](10)
	around := []flow.ParallelOption{
		flow.OnError(
			flow.Retry(5, flow.Exponential(time.Millisecond, 20*time.Millisecond)),
			flow.DeadLetter(rejected),
		),
		flow.RetryBudget(budget),
		flow.Limit(limiter),
		flow.Breaker(payments),
		flow.Timeout(time.Second),
	}
	orders := make([]string, 1000)
	charged, err := flow.FromSlice(orders).
		Parallel(16, service.call, around...).
		Collect(context.Background(), len(orders))
	fmt.Println(len(charged), "charged,", len(rejected.Items()), "rejected,", err)
	fmt.Println("at most", service.most, "at a time,", service.calls.Load(), "calls")
	// Output:
	// 1000 charged, 0 rejected, <nil>
	// at most 4 at a time, 1100 calls
}
