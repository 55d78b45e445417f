package flow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-go/weir/flow"
)

// Two calls in 20 ms: the first two at once, and then one every 10 ms.
func ExampleFlow_Throttle() {
	began := time.Now()
	calls, err := flow.FromSlice([]string{"a", "b", "c", "d"}).
		Throttle(2, 20*time.Millisecond).
		Collect(context.Background(), 10)
	fmt.Println(calls, err, time.Since(began) >= 20*time.Millisecond)
	// Output: [a b c d] <nil> true
}

// A link of 100 bytes in 10 ms. The last packet is larger than that; it waits until all 100 are there.
func ExampleFlow_ThrottleCost() {
	size := func(packet string) int64 { return int64(len(packet)) }
	began := time.Now()
	err := flow.FromSlice([]string{"small", string(make([]byte, 200))}).
		ThrottleCost(size, 100, 10*time.Millisecond).
		ForEach(func(_ context.Context, packet string) error {
			fmt.Println(len(packet), "bytes")
			return nil
		}).Run(context.Background())
	fmt.Println(err, time.Since(began) >= 500*time.Microsecond)
	// Output:
	// 5 bytes
	// 200 bytes
	// <nil> true
}
