package jetstream_test

import (
	"context"
	"log"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/broker/jetstream"
	"github.com/weir-go/weir/broker/jetstream/embedded"
)

// serve starts a server for an example, with the streams that it needs. stop ends it.
func serve(streams ...jetstream.StreamConfig) (nc *nats.Conn, stop func()) {
	srv, err := embedded.Start(embedded.Config{})
	if err != nil {
		log.Fatal(err)
	}
	nc, err = srv.Conn()
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range streams {
		if err := jetstream.EnsureStream(context.Background(), nc, s); err != nil {
			log.Fatal(err)
		}
	}
	return nc, func() {
		nc.Close()
		if err := srv.Close(); err != nil {
			log.Fatal(err)
		}
	}
}

// put stores payloads.
func put(nc *nats.Conn, subject string, payloads ...string) {
	for _, p := range payloads {
		if _, err := nc.Request(subject, []byte(p), nats.DefaultTimeout); err != nil {
			log.Fatal(err)
		}
	}
}
