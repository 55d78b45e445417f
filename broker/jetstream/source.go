package jetstream

import (
	"context"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/broker"
)

// Source reads a durable consumer of a stream. It is a [broker.Source], which says what becomes of the messages; how it gets them is
// this package's.
//
//	Emits:  up to as many values as there is demand for, in the order of the stream; those that come again come later.
//	Waits:  see [Fetcher].
//	Ends:   never by itself: it is the run that is stopped or drained.
//	Errors: those of Open and Fetch of its [Fetcher].
//	Claims: see [broker.Source] and [Fetcher].
type Source[T any] struct {
	*broker.Source[T]
	fetcher *Fetcher
}

// NewSource returns a source of what is in a stream, decoded by c. The connection stays the caller's, and must outlive the run. There
// is no I/O before Open, which the run calls, and wrong options are errors of Validate.
func NewSource[T any](nc *nats.Conn, c broker.Codec[T], s SourceConfig) *Source[T] {
	f := NewFetcher(nc, s)
	return &Source[T]{Source: broker.NewSource(f, c, s.SourceOptions), fetcher: f}
}

// Stats returns what has been counted so far. It is safe for concurrent use.
func (s *Source[T]) Stats() SourceStats {
	return SourceStats{s.Source.Stats(), s.fetcher.Stats()}
}

// Ready returns nil where the source is connected, its consumer exists and nothing keeps messages from coming; see [Fetcher.Ready].
func (s *Source[T]) Ready(ctx context.Context) error { return s.fetcher.Ready(ctx) }

// Warnings returns what Open has noticed; see [Fetcher.Warnings].
func (s *Source[T]) Warnings() []string { return s.fetcher.Warnings() }
