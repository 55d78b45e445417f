// Package broker is the contract between a message broker and a pipeline, and the parts that turn one into the other.
//
// An adapter for a broker implements two small interfaces: a [Fetcher] hands over deliveries and is told how each of them
// ended, a [Sender] stores messages and says which of them the broker had no room for. Everything that is the same for every
// broker stands here: decoding, metadata in headers, the attempt limit, dead letters, what to do where a stream is full.
//
//	src := broker.NewSource(fetcher, broker.JSON[Order](), broker.SourceOptions{})
//	err := flow.FromItems(src).Parallel(8, work).To(sink).Run(ctx)
//
// [NewSource] makes a stage.ItemSource: a message is acknowledged when everything made of it has left the pipeline, so delivery
// is at least once. [NewSink] makes a sink whose items are confirmed by the broker before they count as done. [Durable] cuts a
// flow in two with a broker's stream between the halves.
//
// Adapters: broker/jetstream for NATS JetStream, broker/memory inside the process. Package brokertest proves others.
package broker
