package flow_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-go/weir/flow"
)

// A search over three shards, one of which refuses. An answer without it is better than none.
func ExampleScatter() {
	shard := func(_ context.Context, query string, i int) (string, error) {
		if i == 1 {
			return "", errors.New("overloaded")
		}
		return fmt.Sprintf("%s from shard %d", query, i), nil
	}
	search := func(ctx context.Context, query string) (flow.Gathered[string], error) {
		return flow.Scatter(ctx, 3, flow.ScatterConfig{MayMiss: 1, Timeout: time.Second},
			func(ctx context.Context, i int) (string, error) { return shard(ctx, query, i) })
	}
	answers, err := flow.FromSlice([]string{"blue"}).Parallel(2, search).Collect(context.Background(), 10)
	for _, a := range answers {
		fmt.Printf("%q degraded: %t\n", a.Values, a.Degraded())
		fmt.Println("missing:", a.Missing)
	}
	fmt.Println(err)
	// Output:
	// ["blue from shard 0" "" "blue from shard 2"] degraded: true
	// missing: [{1 overloaded}]
	// <nil>
}
