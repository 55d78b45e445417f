package breaker_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-go/weir/flow/breaker"
)

// A breaker without a flow: whoever may call says how the call has ended.
func ExampleNew() {
	b, err := breaker.New(breaker.Config{InARow: 3})
	if err != nil {
		panic(err)
	}
	call := func() error {
		report, err := b.Allow(0)
		if err != nil {
			return err
		}
		err = errors.New("connection refused") // the call
		report(err)
		return err
	}
	for range 4 {
		fmt.Println(call())
	}
	fmt.Println(b.State())
	// Output:
	// connection refused
	// connection refused
	// connection refused
	// breaker: open
	// open
}

// What is wrong with one item is no fault of the dependency.
func ExampleFailed() {
	fmt.Println(breaker.Failed(errors.New("connection refused")))
	fmt.Println(breaker.Failed(nil))
	b, _ := breaker.New(breaker.Config{Failed: func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }})
	for range 100 {
		report, _ := b.Allow(0)
		report(errors.New("no such customer"))
	}
	fmt.Println(b.State())
	// Output:
	// true
	// false
	// closed
}
