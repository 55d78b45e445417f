package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
)

// SinkConfig says where and how a [Sink] stores values. Stream, and either Subject or To, must be set.
type SinkConfig[T any] struct {
	Stream string
	Domain string // JetStream domain; "" means that of the server

	// Subject is where a value is sent: one of the stream's subjects, or the value is refused.
	Subject func(T) string
	// To is the subject of all values, instead of Subject.
	To string
	// ID is the identity of a value. The stream stores one message of each identity, as long as it remembers: two minutes unless it
	// says otherwise. Without it each message has its own, so a value that comes again is stored again.
	ID func(T) string
	// Header adds headers to the message of a value. Metadata is in them already. Those that begin with Nats- are not sent.
	Header func(T, broker.Header)

	// OnFull is what happens to a value where the stream is full: see [broker.SinkOptions]. Open checks that the stream does that.
	OnFull flow.Policy
	// Dropped is called for each value that flow.DropNewest lets go.
	Dropped func(T)

	Window     int           // messages sent and not confirmed; 0 means 1,024, at most 65,536
	Ordered    bool          // keeps the order where the stream is full, too. For one writer per stream
	AckTimeout time.Duration // without any answer for so long, messages are sent again: see SenderConfig; 0 means 1 s, at least 10 ms
	PushSize   int           // items that a push gets at most; 0 means 2,048

	Unbounded bool // allows a stream with neither MaxMsgs nor MaxBytes
	Tolerate  bool // makes warnings of settings by which the stream may lose messages, or wait for ever
}

func (c *SinkConfig[T]) sender() SenderConfig {
	return SenderConfig{
		Stream: c.Stream, Domain: c.Domain,
		Window: c.Window, Ordered: c.Ordered, AckTimeout: c.AckTimeout,
		OnFull: c.OnFull, Unbounded: c.Unbounded, Tolerate: c.Tolerate,
	}
}

func (c *SinkConfig[T]) options() broker.SinkOptions[T] {
	o := broker.SinkOptions[T]{
		Subject: c.Subject, ID: c.ID, Header: c.Header,
		OnFull: c.OnFull, Tolerate: c.Tolerate, Dropped: c.Dropped, PushSize: c.PushSize,
	}
	if o.Subject == nil && c.To != "" {
		o.Subject = func(T) string { return c.To }
	}
	return o
}

// Sink stores values in a stream. It is a [broker.Sink] with a [Sender]: an item is done when the stream's leader has confirmed its
// message.
//
//	Backpressure: a push returns when every message is stored; with flow.Block it waits while the stream is full.
//	Order:        that of the items, as long as nothing fails. With Ordered also where the stream is full.
//	Errors:       item by item, as those of [Sender].
//	Concurrency:  Push may be called by many goroutines; flow.Workers loses the order.
type Sink[T any] struct {
	*broker.Sink[T]
	sender *Sender
	cfg    SinkConfig[T]
}

// NewSink returns a sink that encodes with c. It does no I/O before Open, which the run calls. The connection stays the caller's,
// and must outlive the run. Wrong settings are errors of Validate.
func NewSink[T any](nc *nats.Conn, c broker.Codec[T], s SinkConfig[T]) *Sink[T] {
	sender := NewSender(nc, s.sender())
	return &Sink[T]{Sink: broker.NewSink(sender, c, s.options()), sender: sender, cfg: s}
}

// Validate implements stage.Validator.
func (s *Sink[T]) Validate() error {
	var errs []error
	if s.cfg.Subject != nil && s.cfg.To != "" {
		errs = append(errs, errors.New("jetstream: SinkConfig: Subject and To exclude each other"))
	}
	if s.cfg.To != "" && !validSubject(s.cfg.To) {
		errs = append(errs, fmt.Errorf("jetstream: SinkConfig.To: %q is no subject", s.cfg.To))
	}
	return errors.Join(append(errs, s.Sink.Validate())...)
}

// SinkStats counts what a [Sink] and its sender have done.
type SinkStats struct {
	broker.SinkStats
	Sender SenderStats
}

// Stats returns what has been counted so far. It is safe for concurrent use.
func (s *Sink[T]) Stats() SinkStats {
	return SinkStats{SinkStats: s.Sink.Stats(), Sender: s.sender.Stats()}
}

// Ready returns nil where the sink is open, connected, and its stream has a leader.
func (s *Sink[T]) Ready(ctx context.Context) error { return s.sender.Ready(ctx) }

// Warnings returns what Open has noticed; see [Sender.Warnings].
func (s *Sink[T]) Warnings() []string { return s.sender.Warnings() }
