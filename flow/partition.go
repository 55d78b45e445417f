package flow

import "hash/maphash"

// Partition spreads the values over n flows by their keys: all values with the same key are in the same flow, in order. Which one
// that is differs from run to run. All n must be consumed in the same pipeline; each has an edge of its own: a
// Buffer or Edge written at its start is that edge.
//
//	Shape:        T → n times T, order kept in each; one goroutine, an edge for each branch, holds one item beside them.
//	Backpressure: as for Split: where a branch is full, the first value for it waits and holds back all values behind
//	              it. The room in the branches' edges bounds how far apart they can get.
//	Ends:         as for Split.
//	Errors:       key can't fail. A panic in it stops the run, and so does a key that can't be compared, inside an
//	              interface. n < 1, n > 65536 and a nil key are build errors, and so is a branch that nobody consumes.
//	Claims:       as for Split.
//	Cost:         a call of key, a hash and a copy, and for each chunk a look at every branch; no allocation per item.
//
// To call a function for several values at a time, in order for each key, use [Flow.ParallelByKey].
func (f Flow[T]) Partition[K comparable](n int, key func(T) K, opts ...StepOption) []Flow[T] {
	nd := stepNode("partition", f, opts)
	nd.check(n >= 1 && n <= maxWorkers, argument("n", "1 to 65536", n))
	nd.check(key != nil, "key must not be nil")
	n = clampWorkers(n)
	return newRoute(f, nd, n, func() func(T) int { return byKey(n, key) })
}

// byKey returns a function that gives each key a number below n. The seed is its own: two partitions in a row that hashed alike
// would leave most branches of the second empty.
func byKey[T any, K comparable](n int, key func(T) K) func(T) int {
	seed := maphash.MakeSeed()
	return func(v T) int { return int(maphash.Comparable(seed, key(v)) % uint64(n)) }
}
