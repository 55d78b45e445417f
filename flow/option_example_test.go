package flow_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/weir-go/weir/flow"
)

// A name stands in errors, statistics and graphs, and stays when the chain changes. Unnamed stages are called "trymap#2".
func ExampleName() {
	_, err := flow.FromSlice([]string{"12", "x"}).
		TryMap(flow.NoContext(strconv.Atoi), flow.Name("parse-id")).
		Collect(context.Background(), 10)
	fmt.Println(err)
	// Output: parse-id: strconv.Atoi: parsing "x": invalid syntax
}

// A limit for one call. The function sees it in its context.
func ExampleTimeout() {
	slow := func(ctx context.Context, _ string) (string, error) {
		<-ctx.Done() // a server that does not answer
		return "", ctx.Err()
	}
	_, err := flow.FromSlice([]string{"http://example.com"}).
		TryMap(slow, flow.Name("fetch"), flow.Timeout(time.Millisecond)).
		Collect(context.Background(), 10)
	fmt.Println(err, errors.Is(err, context.DeadlineExceeded))
	// Output: fetch: context deadline exceeded true
}
