// Package breaker is a circuit breaker for [flow.Breaker]: it knows from the calls to a dependency whether the dependency is up.
//
//	          failures                 OpenFor is over
//	closed ─────────────▶ open ◀──────────────────────▶ half-open ──▶ closed
//	 calls are made        no calls      a probe fails   Probes calls   all have gone well
//
// It opens when calls fail in a row, or when too many of the calls of the last Window have failed. After OpenFor a probe is let
// through, and when that has gone well, everything. In a flow the workers wait meanwhile, each with an item:
//
//	payments, err := breaker.New(breaker.Config{})
//	...
//	orders.Parallel(32, charge, flow.Breaker(payments), flow.Timeout(time.Second),
//		flow.OnError(flow.Retry(5, backoff), flow.DeadLetter(dlq)))
//
// A breaker belongs to a dependency. Make one for each, and give it to every stage that calls it and to no other: a stage that looks
// into a cache first, and calls only for what is not there, is two stages.
//
// The states and the counting are those of [github.com/sony/gobreaker/v2]; the wait for a better time, what is no fault of the
// dependency, and calls that take longer than the window are this package's.
package breaker
