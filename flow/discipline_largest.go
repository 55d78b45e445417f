package flow

import (
	"time"

	"github.com/weir-go/weir/internal/queue"
)

// ShedLargest serves items in the order in which they came, and lets the one of the largest cost pay when the edge is full, the arriving
// one included: so most of those who wait are served. Who has waited longer than age does not pay any more, or large work would never
// be done.
//
//	Shape:        order kept.
//	Backpressure: never: the policy must be DropNewest or DropOldest, which says who pays of those that cost the same.
//	              Where all that wait are older than age, the arriving item pays.
//	Errors:       a nil cost, age <= 0 and other policies are build errors. A negative cost and a panic in cost stop the
//	              run.
//	Concurrency:  cost is called by the producers, perhaps at the same time, outside the edge's lock.
//	Cost:         a call of cost, and the logarithm of what waits (BenchmarkOrders in internal/queue); no
//	              allocation.
//
// It creates no capacity: the work that is refused is the price of that which is done.
func ShedLargest[T any](cost func(T) int64, age time.Duration) Discipline[T] {
	d := &discipline[T]{
		name: "ShedLargest", policies: []Policy{DropNewest, DropOldest}, because: "the policy must be DropNewest or DropOldest: the others drop nothing",
		cost: cost, of: queue.Order{Kind: queue.Largest, Age: age},
	}
	d.check(cost != nil, "cost must not be nil")
	d.check(age > 0, argument("age", "> 0", age))
	return d
}
