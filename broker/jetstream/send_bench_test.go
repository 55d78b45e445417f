package jetstream

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/jetstream/embedded"
	"github.com/weir-go/weir/flow"
)

// BenchmarkSend compares Send with the client's asynchronous publishing at the same window, with and without a message ID. They take
// turns, and the medians count: the machine is never quiet. The server is in the process, so its share is in all of them.
func BenchmarkSend(b *testing.B) {
	for _, batch := range []int{256, 2048} {
		for _, ordered := range []bool{false, true} {
			b.Run(fmt.Sprintf("batch=%d/ordered=%v", batch, ordered), func(b *testing.B) { benchSend(b, batch, ordered) })
		}
	}
}

func benchSend(b *testing.B, batch int, ordered bool) {
	b.Helper()
	srv, err := embedded.Start(embedded.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = srv.Close() })
	msgs := make([]broker.Message, batch)
	for i := range msgs {
		msgs[i] = broker.Message{Subject: "S", Data: make([]byte, 256)}
	}
	ways := []struct {
		name string
		send func()
		took []float64
	}{
		{name: "send", send: senderOf(b, srv, "SEND", msgs, ordered)},
		{name: "async+id", send: asyncOf(b, srv, "ASYNC-ID", msgs, true)},
		{name: "async", send: asyncOf(b, srv, "ASYNC", msgs, false)},
	}
	for b.Loop() {
		for i := range ways {
			began := time.Now()
			ways[i].send()
			ways[i].took = append(ways[i].took, float64(time.Since(began).Nanoseconds())/float64(batch))
		}
	}
	median := make([]float64, len(ways))
	for i, w := range ways {
		slices.Sort(w.took)
		median[i] = w.took[len(w.took)/2]
		b.ReportMetric(median[i], w.name+"-ns/msg")
	}
	b.ReportMetric(median[0]/median[1], "of-async+id")
	b.ReportMetric(median[0]/median[2], "of-async")
}

// limitedStream makes a stream that keeps the last messages, on a connection of its own, and gives the messages its subject.
func limitedStream(b *testing.B, srv *embedded.Server, name string, msgs []broker.Message) (*nats.Conn, jetstream.JetStream, []broker.Message) {
	b.Helper()
	nc, err := Connect(srv.URL())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(nc.Close)
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(defaultWindow), jetstream.WithPublishAsyncTimeout(5*time.Second))
	if err != nil {
		b.Fatal(err)
	}
	cfg := jetstream.StreamConfig{
		Name: name, Subjects: []string{name}, MaxMsgs: 10_000, Discard: jetstream.DiscardOld,
		Storage: jetstream.MemoryStorage, Duplicates: time.Second,
	}
	if _, err := js.CreateStream(context.Background(), cfg); err != nil {
		b.Fatal(err)
	}
	msgs = slices.Clone(msgs)
	for i := range msgs {
		msgs[i].Subject = name
	}
	return nc, js, msgs
}

func senderOf(b *testing.B, srv *embedded.Server, name string, msgs []broker.Message, ordered bool) func() {
	b.Helper()
	nc, _, msgs := limitedStream(b, srv, name, msgs)
	s := NewSender(nc, SenderConfig{Stream: name, OnFull: flow.DropOldest, Ordered: ordered})
	if err := s.Open(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return func() {
		if err := s.Send(b.Context(), msgs); err != nil {
			b.Fatal(err)
		}
	}
}

func asyncOf(b *testing.B, srv *embedded.Server, name string, msgs []broker.Message, withID bool) func() {
	b.Helper()
	_, js, msgs := limitedStream(b, srv, name, msgs)
	futures := make([]jetstream.PubAckFuture, len(msgs))
	next := 0
	return func() {
		for i := range msgs {
			m := &nats.Msg{Subject: name, Data: msgs[i].Data}
			if withID {
				next++
				m.Header = nats.Header{idHeader: []string{"0123456789012345678901." + strconv.Itoa(next)}}
			}
			var err error
			if futures[i], err = js.PublishMsgAsync(m); err != nil {
				b.Fatal(err)
			}
		}
		for _, f := range futures {
			select {
			case <-f.Ok():
			case err := <-f.Err():
				b.Fatal(err)
			}
		}
	}
}
