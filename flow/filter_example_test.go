package flow_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-go/weir/flow"
)

// What is let go is settled as done: nobody will deliver it again.
func ExampleFlow_Filter() {
	lines, err := flow.FromSlice([]string{"INFO up", "ERROR disk", "INFO ok", "ERROR net"}).
		Filter(func(line string) bool { return strings.HasPrefix(line, "ERROR") }).
		Collect(context.Background(), 10)
	fmt.Println(lines, err)
	// Output: [ERROR disk ERROR net] <nil>
}

// A map and a filter in one: functions with a boolean as second result fit as they are.
func ExampleFlow_FilterMap() {
	errorsOnly := func(line string) (string, bool) { return strings.CutPrefix(line, "ERROR ") }
	texts, err := flow.FromSlice([]string{"INFO up", "ERROR disk", "ERROR net"}).
		FilterMap(errorsOnly).
		Collect(context.Background(), 10)
	fmt.Println(texts, err)
	// Output: [disk net] <nil>
}
