// Package memory is a message broker inside the process: for tests, and for programs that want to try a pipeline before they
// have a real one. It keeps every rule of package broker, and passes brokertest.
//
//	         Sender ─┐      Stream: at most MaxMessages, MaxBytes     ┌─▶ Fetcher ─▶ a pipeline
//	                 ├─▶ [ stored ][ delivered ][ waits for a delay ] ┤
//	         Sender ─┘   acknowledged: gone, and its place is free    └─▶ Fetcher ─▶ another
//
//	stream := memory.NewStream(memory.StreamConfig{Name: "orders", MaxMessages: 1000})
//	src := broker.NewSource(stream.Fetcher(memory.FetchConfig{}), broker.JSON[Order](), broker.SourceOptions{})
//	err := flow.FromItems(src).Parallel(8, work).To(sink).Run(ctx)
//
// # Rules that hold everywhere
//
//   - A stream is a work queue. Each message goes to one of its Fetchers, until one of them settles it as done or terminated.
//   - Messages are delivered in the order they were stored. Those delivered again come first.
//   - A message whose Fetcher has shown no sign of life for AckWait is delivered again, to whoever fetches next.
//   - A depth is required, as in package flow. What happens there is [StreamConfig].Full: new messages are refused, or the oldest
//     are dropped, delivered ones included.
//   - An identity that was stored within the last DedupWindow is not stored again.
//   - All methods are safe for concurrent use, but Fetch has one caller at a time. There is no goroutine: timers run only
//     while something is unsettled or delayed. In a bubble of testing/synctest all time is virtual.
//
// # Faults
//
// Tests can take the broker away ([Stream.Down], [Stream.Up]), have it answer into the void ([Stream.LoseConfirmations]), delete
// the stream or its consumers, change its limits while it is full ([Stream.Resize]) and end a consumer as the death of its
// process does ([Fetcher.Kill]).
//
// # When not to use it
//
// Nothing is written anywhere: what is stored is gone with the process. Between two halves of a pipeline that may be lost
// together, an edge does the same for less.
package memory
