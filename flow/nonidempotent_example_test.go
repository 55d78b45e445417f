package flow_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-go/weir/flow"
)

// A payment must not be made twice, so nothing behind it may lose the message that it was made for.
func ExampleFlow_TryMap_nonIdempotent() {
	pay := func(_ context.Context, cents int) (string, error) { return fmt.Sprintf("paid %d", cents), nil }
	show := func(_ context.Context, s string) error { fmt.Println(s); return nil }
	paid := flow.FromSlice([]int{100, 250}).TryMap(pay, flow.Name("pay"), flow.NonIdempotent)

	if err := paid.Buffer(8, flow.Block).ForEach(show).Run(context.Background()); err != nil {
		fmt.Println(err)
	}
	err := paid.Buffer(8, flow.DropOldest, flow.Name("shown")).ForEach(show).Check()
	_, why, _ := strings.Cut(err.Error(), "): ")
	fmt.Println(why)
	// Output:
	// paid 100
	// paid 250
	// it can drop items behind pay, which is NonIdempotent: a message that is delivered again would repeat the effect
}
