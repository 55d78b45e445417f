package jetstream

import (
	"context"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/jetstream/embedded"
	"github.com/weir-go/weir/stage"
)

const benchItems, benchCredit = 20_000, 256

// benchStream starts a server with a consumer that has benchItems messages of 256 bytes in front of it.
func benchStream(b *testing.B) (*nats.Conn, jetstream.Consumer) {
	b.Helper()
	srv, err := embedded.Start(embedded.Config{Dir: b.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = srv.Close() })
	nc, err := Connect(srv.URL())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := js.CreateStream(b.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.x"}, MaxMsgs: 1 << 20, Storage: jetstream.MemoryStorage}); err != nil {
		b.Fatal(err)
	}
	payload := make([]byte, 256)
	for range benchItems {
		if _, err := js.PublishAsync("s.x", payload); err != nil {
			b.Fatal(err)
		}
	}
	<-js.PublishAsyncComplete()
	c, err := js.CreateConsumer(b.Context(), "S", jetstream.ConsumerConfig{Durable: "d", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1024})
	if err != nil {
		b.Fatal(err)
	}
	return nc, c
}

// BenchmarkFetch reads and acknowledges a stream: through the source's fetcher, and with the calls of the client made by hand.
func BenchmarkFetch(b *testing.B) {
	for name, read := range map[string]func(*testing.B, *nats.Conn, jetstream.Consumer){
		"fetcher": readFetcher, "by hand": readByHand,
	} {
		b.Run(name, func(b *testing.B) {
			nc, c := benchStream(b)
			round := 0
			for b.Loop() {
				if round++; round > 1 {
					b.StopTimer()
					js, _ := jetstream.New(nc)
					name := fmt.Sprint("d", round)
					next, err := js.CreateConsumer(b.Context(), "S", jetstream.ConsumerConfig{Durable: name, AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1024})
					if err != nil {
						b.Fatal(err)
					}
					c = next
					b.StartTimer()
				}
				read(b, nc, c)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchItems, "ns/item")
		})
	}
}

func readFetcher(b *testing.B, nc *nats.Conn, c jetstream.Consumer) {
	b.Helper()
	f := NewFetcher(nc, SourceConfig{Stream: "S", Durable: c.CachedInfo().Name})
	if err := f.Open(b.Context()); err != nil {
		b.Fatal(err)
	}
	dst := make([]broker.Delivery, benchCredit)
	for n := 0; n < benchItems; {
		k, err := f.Fetch(context.Background(), dst)
		if err != nil {
			b.Fatal(err)
		}
		for _, d := range dst[:k] {
			f.Settle(d.Token, stage.Outcome{})
		}
		n += k
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

// readByHand does what the fetcher does on the wire, and nothing else.
func readByHand(b *testing.B, nc *nats.Conn, c jetstream.Consumer) {
	b.Helper()
	inbox, ch := nc.NewInbox(), make(chan *nats.Msg, 2048)
	sub, err := nc.ChanSubscribe(inbox, ch)
	if err != nil {
		b.Fatal(err)
	}
	subject := "$JS.API.CONSUMER.MSG.NEXT.S." + c.CachedInfo().Name
	credit := 0
	for range benchItems {
		if credit <= benchCredit/2 {
			n := benchCredit - credit
			credit += n
			if err := nc.PublishRequest(subject, inbox, fmt.Appendf(nil, `{"batch":%d,"expires":4000000000,"idle_heartbeat":1000000000}`, n)); err != nil {
				b.Fatal(err)
			}
		}
		m := <-ch
		if _, err := m.Metadata(); err != nil {
			b.Fatal(err)
		}
		credit--
		if err := m.Ack(); err != nil {
			b.Fatal(err)
		}
	}
	if err := sub.Unsubscribe(); err != nil {
		b.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		b.Fatal(err)
	}
}
