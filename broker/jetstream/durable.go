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

// DurableConfig describes a durable edge: a work-queue stream, and its consumer. Stream and Capacity must be set.
type DurableConfig struct {
	// Stream is the name of the stream. It is made when it does not exist; see [EnsureStream] for when it does.
	Stream string
	// Capacity is how many messages the stream holds at most.
	Capacity int64
	// MaxBytes is how many bytes it holds at most; 0 is no limit of this kind.
	MaxBytes int64
	// Subject is where the messages are sent; "weir.STREAM" by default.
	Subject string
	// Durable is the name of the consumer; "weir" by default. All processes that read the edge share it.
	Durable string
	// Domain is the JetStream domain, "" for that of the connection.
	Domain string
	// Name names the edge, and its stages Name.in and Name.out; the name of the stream by default.
	Name string

	// OnFull is what happens to an item where the stream is full.
	OnFull flow.Policy
	// Settle is what a message becomes that a downstream edge drops without saying so itself; nil is not said.
	Settle flow.Settlement
	// ExactlyOnce stores what is made of one input once, also when that input comes again: see [broker.DurableOptions]. The
	// window is Duplicates; it must be longer than inputs take to come again. The input's own source should have Ack:
	// Confirmed, and so has this edge.
	ExactlyOnce bool
	// PushSize is how many items the upstream half sends at once; 0 means 2,048. So many wait in front of it.
	PushSize int
	// Ordered keeps the order of items where the stream is full, too. For one process that writes.
	Ordered bool
	// Duplicates is how long the stream remembers identities; 2 min by default.
	Duplicates time.Duration

	// MaxAckPending and AckWait are those of [SourceConfig].
	MaxAckPending int
	AckWait       time.Duration
	// Source has the attempt limit and the dead letters of the downstream half.
	Source broker.SourceOptions

	Replicas int  // 1, 3 or 5; 0 means 1
	Memory   bool // keeps the messages in memory: the edge then does not outlive its servers
}

// Durable is an edge that outlives the process, for flow.Flow.Apply: f is cut in two, and between the halves stands a work-queue
// stream with a maximum depth. The upstream half ends in it and the downstream half begins with it, here or in any number of
// other processes; [DurableIn] and [DurableOut] are the halves alone. See [broker.Durable] for what it promises.
func Durable[T any](nc *nats.Conn, c broker.Codec[T], d DurableConfig) func(flow.Flow[T]) flow.Flow[T] {
	return broker.Durable(d.sender(nc), d.fetcher(nc), c, d.options())
}

// DurableIn is the upstream half of [Durable]: a sink that puts a flow into the stream.
func DurableIn[T any](nc *nats.Conn, c broker.Codec[T], d DurableConfig) *broker.EdgeSink[T] {
	return broker.DurableIn(d.sender(nc), c, d.options())
}

// DurableOut is the downstream half of [Durable]: a flow of what is in the stream. It does not end by itself.
func DurableOut[T any](nc *nats.Conn, c broker.Codec[T], d DurableConfig) flow.Flow[T] {
	return broker.DurableOut(d.fetcher(nc), c, d.options())
}

func (d *DurableConfig) subject() string {
	if d.Subject == "" {
		return "weir." + d.Stream
	}
	return d.Subject
}

func (d *DurableConfig) options() broker.DurableOptions {
	name := d.Name
	if name == "" {
		name = d.Stream
	}
	return broker.DurableOptions{
		Name: name, Subject: d.subject(), OnFull: d.OnFull, PushSize: d.PushSize, ExactlyOnce: d.ExactlyOnce, Source: d.Source, Settle: d.Settle,
	}
}

// stream is the stream of the edge.
func (d *DurableConfig) stream() StreamConfig {
	s := StreamConfig{
		Name: d.Stream, Subjects: []string{d.subject()}, Domain: d.Domain,
		MaxMessages: d.Capacity, MaxBytes: d.MaxBytes,
		Replicas: d.Replicas, Memory: d.Memory, Duplicates: d.Duplicates,
	}
	if d.OnFull == flow.DropOldest {
		s.Full = broker.DropsOldest
	}
	return s
}

// edge is a half that makes the stream before it uses it.
type edge struct {
	conn   *nats.Conn
	stream StreamConfig
	wrong  error
}

func (d *DurableConfig) edge(nc *nats.Conn) edge {
	e := edge{conn: nc, stream: d.stream()}
	if d.Capacity <= 0 {
		e.wrong = fmt.Errorf("jetstream: DurableConfig.Capacity must be at least 1, got %d", d.Capacity)
	}
	return e
}

// ensure makes the stream, or sees that it is as it should be.
func (e *edge) ensure(ctx context.Context) error { return EnsureStream(ctx, e.conn, e.stream) }

func (e *edge) validate(part error) error {
	if e.wrong != nil {
		return errors.Join(e.wrong, part) // which says the same of the stream
	}
	return errors.Join(e.stream.Validate(), part)
}

// edgeSender is the way into the edge.
type edgeSender struct {
	*Sender
	edge
}

func (d *DurableConfig) sender(nc *nats.Conn) *edgeSender {
	s := NewSender(nc, SenderConfig{Stream: d.Stream, Domain: d.Domain, OnFull: d.OnFull, Ordered: d.Ordered})
	return &edgeSender{s, d.edge(nc)}
}

// Validate implements stage.Validator.
func (s *edgeSender) Validate() error { return s.validate(s.Sender.Validate()) }

// Open makes the stream and opens the Sender.
func (s *edgeSender) Open(ctx context.Context) error {
	if err := s.ensure(ctx); err != nil {
		return err
	}
	return s.Sender.Open(ctx)
}

// edgeFetcher is the way out of the edge.
type edgeFetcher struct {
	*Fetcher
	edge
}

func (d *DurableConfig) fetcher(nc *nats.Conn) *edgeFetcher {
	c := SourceConfig{Stream: d.Stream, Durable: d.Durable, Domain: d.Domain, MaxAckPending: d.MaxAckPending, AckWait: d.AckWait}
	if c.Durable == "" {
		c.Durable = "weir"
	}
	if d.ExactlyOnce {
		c.Ack = Confirmed
	}
	return &edgeFetcher{NewFetcher(nc, c), d.edge(nc)}
}

// Validate implements stage.Validator.
func (f *edgeFetcher) Validate() error { return f.validate(f.Fetcher.Validate()) }

// Open makes the stream and opens the Fetcher.
func (f *edgeFetcher) Open(ctx context.Context) error {
	if err := f.ensure(ctx); err != nil {
		return err
	}
	return f.Fetcher.Open(ctx)
}
