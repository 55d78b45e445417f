package flow_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-go/weir/flow"
)

// One value in, one value out. The type may change.
func ExampleFlow_Map() {
	lengths, err := flow.FromSlice([]string{"go", "weir", "stream"}).
		Map(strings.ToUpper).
		Map(func(s string) int { return len(s) }).
		Collect(context.Background(), 10)
	fmt.Println(lengths, err)
	// Output: [2 4 6] <nil>
}

// A look at what passes, without changing it.
func ExampleFlow_Tap() {
	bytes := 0
	lines, _ := flow.FromSlice([]string{"GET /", "GET /favicon.ico"}).
		Tap(func(line string) { bytes += len(line) }).
		Collect(context.Background(), 10)
	fmt.Println(len(lines), "lines,", bytes, "bytes")
	// Output: 2 lines, 21 bytes
}
