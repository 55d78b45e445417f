// Package jetstream connects pipelines to NATS JetStream.
//
//	nc, err := jetstream.Connect("nats://127.0.0.1:4222")
//	err = jetstream.EnsureStream(ctx, nc, jetstream.StreamConfig{
//		Name: "ORDERS", Subjects: []string{"orders.>"}, MaxMessages: 100_000,
//	})
//
// # What is stored
//
// A message counts as stored when the stream's leader has confirmed it. The server does so before the disk has written it:
// a process that is killed loses nothing, a machine that loses power may lose up to two minutes of one replica. What must
// survive that needs three replicas, and sync_interval: always on the servers. A stream with one replica, or in memory, is
// reported as a warning.
//
// # What a full stream does
//
// Backpressure through a broker needs a stream that refuses new messages when it is full, and that forgets those that were
// acknowledged. [EnsureStream] makes such streams, and what is opened here checks the stream for every setting that would
// lose messages, or wait for ever, without a word. The findings come all at once, each with the stream and the setting.
//
// # Servers
//
// From 2.10.4 on. Older ones drop settings that they don't know, and are refused.
package jetstream
