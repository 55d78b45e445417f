package flow_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-go/weir/flow"
)

// A feed that falls silent without a word.
func ExampleFlow_IdleTimeout() {
	feed := make(chan int, 2)
	feed <- 1
	feed <- 2
	err := flow.FromChan(feed).
		IdleTimeout(10*time.Millisecond, flow.Name("feed")).
		ForEach(func(_ context.Context, i int) error {
			fmt.Println(i)
			return nil
		}).Run(context.Background())
	fmt.Println(err)
	fmt.Println(errors.Is(err, flow.ErrIdle))
	// Output:
	// 1
	// 2
	// feed: flow: nothing has come for too long
	// true
}
