package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
)

// Take reads what it needs and not one more, so that what is behind it is still in the source.
func ExampleFlow_Take() {
	ch := make(chan string, 4)
	for _, s := range []string{"a", "b", "c", "d"} {
		ch <- s
	}
	first, _ := flow.FromChan(ch).Take(2).Collect(context.Background(), 10)
	fmt.Println(first, len(ch), "left")
	// Output: [a b] 2 left
}

// A header that is not data.
func ExampleFlow_Skip() {
	rows, _ := flow.FromSlice([]string{"name,age", "Ann,31", "Bob,47"}).
		Skip(1).
		Collect(context.Background(), 10)
	fmt.Println(rows)
	// Output: [Ann,31 Bob,47]
}
