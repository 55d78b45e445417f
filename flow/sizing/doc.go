// Package sizing answers how large an edge should be, and what to expect of it: the queueing rules that everybody looks up, as
// functions.
//
//	 arrivals         edge: places to wait          workers
//	 rate per s  ==> [ | | | |target| | | | ] ==> concurrency x service time ==>
//	                  <----- capacity ------>      throughput = concurrency / service time
//
//	advice := sizing.Recommend(sizing.Load{
//		Rate:        640,                    // items per second
//		Service:     50 * time.Millisecond,  // for one item
//		Concurrency: 40,                     // workers
//		Latency:     250 * time.Millisecond, // longest wait
//	})
//	fmt.Println(advice) // capacity 200 by latency (250ms), target 20 (25ms), ...
//
// [Recommend] takes everything that is known and says what follows, with warnings. The single steps are there for those who
// know what they want:
//
//   - How long will the next item wait? [Wait]
//   - How many places? [ForLatency], [ForBurst], [ForCallers]; where a standing queue begins: [Target].
//   - How many workers, and what do they do? [ForRate], [Throughput], [Utilization], [ZoneOf].
//   - What happens on average, with random arrivals? [Bounded] for an edge that refuses, [Unbounded] for one that never does.
//   - How long until it is over? [Recovery]. Are the measurements right? [Little].
//
// # Rules that hold everywhere
//
//   - Units. Rates are items per second, times are time.Duration, sizes are items.
//   - Mistakes. What makes no sense (NaN, infinity, zero or less where there must be something) is an error that names all of
//     it at once. Nothing is adjusted in silence.
//   - Large results stop at a limit: items at [MaxItems], times at [MaxTime], floating-point numbers at math.MaxFloat64. Workers are 1
//     to [MaxConcurrency].
//   - All functions are pure: the same arguments give the same answer, at any time, from any goroutine.
//
// # When not to use it
//
// The formulas describe a load that stays as it is for a while. They size an edge; they do not steer it. What goes on while the
// load changes is what edges measure, and no formula replaces a look at the sojourn times of the real thing.
package sizing
