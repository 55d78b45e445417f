package flow_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-go/weir/flow"
)

// tidy is a combination of operators, written like any other function.
func tidy(lines flow.Flow[string]) flow.Flow[string] {
	return lines.
		Map(strings.TrimSpace).
		Filter(func(line string) bool { return line != "" && line[0] != '#' })
}

// Operators of one's own stand in the chain where they are used.
func ExampleFlow_Apply() {
	lines, err := flow.FromSlice([]string{"# settings", "  port = 80", "", "host = a "}).
		Apply(tidy).
		Collect(context.Background(), 10)
	fmt.Printf("%q %v\n", lines, err)
	// Output: ["port = 80" "host = a"] <nil>
}
