package jetstream

import (
	"context"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/broker"
)

// ConsumeConfig is how [Consume] reads, and how it handles what it has read.
type ConsumeConfig struct {
	SourceConfig
	broker.ConsumeOptions
}

// Consume calls handle for every message of a stream, as the durable consumer of that name, until ctx ends. It is for those who need
// no graph, and promises what a pipeline does: a message is acknowledged when handle has returned nil, comes again after a
// while when it has not, and is kept alive while it takes long. See [broker.Consume]. Functions may change the config.
//
//	err := jetstream.Consume(ctx, nc, broker.JSON[Order](), "ORDERS", "billing", bill)
func Consume[T any](ctx context.Context, nc *nats.Conn, c broker.Codec[T], stream, durable string,
	handle func(context.Context, T) error, change ...func(*ConsumeConfig),
) error {
	config := ConsumeConfig{Stream: stream, Durable: durable}
	for _, fn := range change {
		fn(&config)
	}
	return broker.Consume(ctx, NewSource(nc, c, config.SourceConfig).Source, handle, config.ConsumeOptions)
}
