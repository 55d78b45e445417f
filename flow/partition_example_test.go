package flow_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-go/weir/flow"
)

// Each branch counts the words that come to it; no word is in two of them.
func ExampleFlow_Partition() {
	words := strings.Fields("to be or not to be that is the question")
	counts := make([]map[string]int, 3)
	var counters []flow.Pipeline
	for i, branch := range flow.FromSlice(words).Partition(3, strings.ToLower) {
		counts[i] = map[string]int{}
		counters = append(counters, branch.ForEach(func(_ context.Context, word string) error {
			counts[i][word]++
			return nil
		}))
	}
	err := flow.Join(counters...).Run(context.Background())

	var all []string
	for _, count := range counts {
		for word, n := range count {
			all = append(all, fmt.Sprint(word, n))
		}
	}
	slices.Sort(all)
	fmt.Println(all, err)
	// Output: [be2 is1 not1 or1 question1 that1 the1 to2] <nil>
}
