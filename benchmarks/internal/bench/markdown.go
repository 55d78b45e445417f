package bench

import (
	"fmt"
	"strings"
	"time"
)

// Markdown is the table of a full run, with what has to be known to read it.
func Markdown(results []Result, rounds int, at time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Results\n\nThe last full run of `make bench`, %s, written by it: do not edit.\n\n", at.Format(time.DateOnly))
	fmt.Fprintf(&b, "Machine: %s.\n\n", Machine())
	fmt.Fprintf(&b, "Medians of %d interleaved rounds, weir beside its baseline in each, after one that is not counted. \"Ratio\" is weir's\n", rounds)
	b.WriteString("figure divided by the baseline's in the same round: lower is better. \"Quartiles\" hold the middle half of its values, \"spread\" all of them.\n")
	b.WriteString("Allocations are per item, what a run allocates once included. Every trial verified its counts and sums, and the order\nwhere it is promised.\n\n")
	b.WriteString("| row | workload | baseline | ratio | target | | quartiles | spread | weir | baseline | allocations |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, r := range results {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n",
			r.Row, r.What, r.Against, r.Value, r.Target, r.verdict("**missed**"), r.Interval, r.Spread, r.Weir, r.Baseline, r.Allocs)
	}
	return b.String()
}
