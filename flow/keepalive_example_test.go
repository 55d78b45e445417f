package flow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/weir-go/weir/flow"
)

// Comments that keep a stream of server-sent events open while there are no events.
func ExampleFlow_KeepAlive() {
	events := make(chan string, 1)
	events <- "data: hello"
	lines, err := flow.FromChan(events).
		KeepAlive(time.Millisecond, func() string { return ": ping" }).
		Filter(func(line string) bool { return line == ": ping" }).
		Take(2).
		Collect(context.Background(), 10)
	fmt.Println(lines, err)
	// Output: [: ping : ping] <nil>
}
