package flow_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/breaker"
	"github.com/weir-go/weir/stage"
)

// A service is down for its first fifty calls. Ten workers wait for it with their orders, and none of these fails.
func ExampleBreaker() {
	payments, err := breaker.New(breaker.Config{OpenFor: time.Millisecond})
	if err != nil {
		panic(err)
	}
	service := newService(50)
	charged, err := flow.FromSlice([]string{"A-1", "A-2", "A-3", "A-4", "A-5", "A-6", "A-7", "A-8"}).
		Parallel(10, service.call,
			flow.Breaker(payments),
			flow.OnError(flow.Retry(10, flow.Exponential(time.Millisecond, 10*time.Millisecond)))).
		Collect(context.Background(), 10)
	fmt.Println(len(charged), "charged,", err)
	fmt.Println(payments.State(), payments.Stats().Opened > 0)
	// Output:
	// 8 charged, <nil>
	// closed true
}

// What can be done without the dependency is done without it: these orders are kept for later instead of waiting.
func ExampleIfOpen() {
	prices, err := breaker.New(breaker.Config{InARow: 1, OpenFor: time.Hour})
	if err != nil {
		panic(err)
	}
	later := stage.NewCollector[stage.DeadLetter](10)
	err = flow.FromSlice([]string{"A-1", "A-2", "A-3"}).
		ForEach(func(context.Context, string) error { return errors.New("connection refused") },
			flow.Breaker(prices),
			flow.OnError(flow.IfOpen(flow.DeadLetter(later)))).
		Run(context.Background())
	for _, l := range later.Items() {
		fmt.Println(l.Value, "after", l.Attempt, "calls:", l.Err)
	}
	fmt.Println(err)
	// Output:
	// A-1 after 1 calls: connection refused
	// A-2 after 0 calls: flow: refused by the breaker: breaker: open
	// A-3 after 0 calls: flow: refused by the breaker: breaker: open
	// <nil>
}
