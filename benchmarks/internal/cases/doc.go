// Package cases holds the workloads that weir is measured with, each with the code that a Go programmer would write instead.
//
// Both sides of a case do the same work on the same values with the same capacities, and both verify what came out: how many
// items, their sum, and the order where it is promised.
package cases

import (
	"slices"

	"github.com/weir-go/weir/benchmarks/internal/bench"
)

// edge is the capacity of the edges and channels of the hop graphs.
const edge = 1024

// amortised is how many items allocations are counted over: enough that what a run allocates once is below 0.00005 an item.
const amortised = 8_000_000

// All returns the cases in the order of the table.
func All() []bench.Case {
	return slices.Concat([]bench.Case{
		Hop(), HopWork(), HopWatched(),
		Fused(), FusedTry(),
		ParallelWork(false), ParallelWork(true), Parallel(false), Parallel(true),
		DropNewest(), DropOldest(), OfferNewest(), OfferOldest(),
		NATSSource(), NATSCumulative(), NATSCumulativeAlike(), NATSSink(), NATSSinkBare(),
		Latency(),
	}, Controls(), []bench.Case{
		Claims(),
		Small(), SmallEdges(), SmallBuilt(),
	})
}
