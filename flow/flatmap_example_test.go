package flow_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-go/weir/flow"
)

// One value in, any number out. An empty line has no words, and is done with that.
func ExampleFlow_FlatMap() {
	words, err := flow.FromSlice([]string{"the quick", "", "brown fox"}).
		FlatMap(strings.Fields).
		Collect(context.Background(), 10)
	fmt.Println(len(words), words, err)
	// Output: 4 [the quick brown fox] <nil>
}
