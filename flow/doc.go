// Package flow builds and runs bounded streaming pipelines: typed stages joined by edges, each with a fixed capacity and a
// policy for when it is full.
//
//	Source ──Pull──▶ [step·step·step] ══edge══▶ [step·step] ══edge══▶ [step·sink]
//	        demand = len(dst)   one goroutine   bounded    one goroutine
//
// A [Flow] is a blueprint: operators return new ones, and nothing happens before the [Pipeline] at its end runs.
//
//	err := flow.From(stage.Lines(os.Stdin, stage.LineOptions{})).
//		TryMap(flow.NoContext(strconv.Atoi), flow.OnError(flow.Skip)).
//		Buffer(1024, flow.DropOldest).
//		Parallel(8, enrich).
//		To(table, flow.Gather(500, 200*time.Millisecond)).
//		Run(ctx)
//
// # How it moves
//
// Everything is pulled. A sink asks for what it can take, the demand travels to the source, and nothing is fetched that there
// is no room for. Steps such as Map and Filter run in the goroutine of whoever pulls them and cost a function call per item.
// Only an edge costs a goroutine and a queue, and only in an edge do items wait. Operators that need an edge (Parallel,
// Batch, Gather, Merge, Broadcast, Tee, Via) bring a small blocking one of [DefaultCapacity]; a Buffer or Edge that is
// written at that place takes its place.
//
// # Rules that hold everywhere
//
//   - Bounds. Nothing is unbounded: [Graph] gives the most items that can be inside.
//   - Order. It is kept, except by Merge between its inputs, by Unordered, and by several Workers.
//   - Errors. An error, a panic or a Goexit in a stage stops the run, and Run returns it as a *stage.Error with the stage's
//     name, unless [OnError] says otherwise. Within a goroutine the items before an error are handed on first; across edges
//     the error overtakes what waits.
//   - Mistakes. The chain never panics. What is wrong with a blueprint comes out of Start, Run and Check, all of it at once,
//     with the line that made it.
//   - Ends. stage.ErrEnd ends a stream. A consumer that wants no more stops its upstream, up to a source that is waiting.
//     Drain is an end of the stream at every source; Stop and a cancelled context abandon what is inside.
//   - Closing. Sinks that are io.Closers are closed once when the run has ended, then dead-letter sinks, then sources.
//   - Values. T is smaller than 64 KiB, which is the most that a channel of Go's takes; larger values go by pointer.
//   - Concurrency. A Flow and a Pipeline are immutable and may be shared. User functions are called by one goroutine at a
//     time, except by Parallel and Workers.
//   - Names. Stages and edges have names, given with [Name] or like "map#3", which errors, [Stats] and [Graph] use.
//
// # When not to use it
//
// Work that fits in memory and neither waits nor fails needs a loop. Jobs that must survive the process need a broker at
// both ends. Windows over event time and joins of streams are the business of other tools.
package flow
