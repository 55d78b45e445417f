package flow_test

import (
	"context"
	"fmt"

	"github.com/weir-go/weir/flow"
)

// Pages are fetched until one is empty, and not one more.
func ExampleFlow_TakeWhile() {
	fetch := func(_ context.Context, page int) ([]string, error) {
		fmt.Println("fetch page", page)
		return [][]string{{"a", "b"}, {"c"}, {}, {}}[page], nil
	}
	names, err := flow.FromSlice([]int{0, 1, 2, 3}).
		TryMap(fetch).
		TakeWhile(func(names []string) bool { return len(names) > 0 }).
		FlatMap(func(names []string) []string { return names }).
		Collect(context.Background(), 10)
	fmt.Println(names, err)
	// Output:
	// fetch page 0
	// fetch page 1
	// fetch page 2
	// [a b c] <nil>
}

// Comments at the head of a file, and only there.
func ExampleFlow_SkipWhile() {
	comment := func(line string) bool { return line[0] == '#' }
	lines, err := flow.FromSlice([]string{"# made", "# by hand", "x=1", "#y=2"}).
		SkipWhile(comment).
		Collect(context.Background(), 10)
	fmt.Println(lines, err)
	// Output: [x=1 #y=2] <nil>
}
