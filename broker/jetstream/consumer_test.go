package jetstream

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
)

func TestOpenMakesTheConsumer(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	c := SourceConfig{Stream: "S", Durable: "d", Filters: []string{"s.a", "s.b"}}
	f := l.open(c)
	got := l.info().Config
	if got.AckPolicy != jetstream.AckExplicitPolicy || got.AckWait != 30*time.Second || got.MaxAckPending != 1024 ||
		got.MaxDeliver != -1 || !sameSubjects(filters(&got), c.Filters) || got.DeliverPolicy != jetstream.DeliverAllPolicy {
		t.Errorf("the consumer is %+v", got)
	}
	if err := f.Open(t.Context()); err != nil {
		t.Errorf("a second Open() = %v", err)
	}
}

// A consumer that exists is taken as it is where the config says nothing, and never changed.
func TestOpenTakesTheConsumerAsItIs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	made, err := l.js.CreateConsumer(t.Context(), "S", jetstream.ConsumerConfig{
		Durable: "d", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 7, AckWait: 5 * time.Second, FilterSubject: "s.a",
	})
	if err != nil {
		t.Fatal(err)
	}
	f := l.open(SourceConfig{Stream: "S", Durable: "d"})
	if lim := f.Limits(); lim.InFlight != 7 || lim.AckWait != 5*time.Second {
		t.Errorf("Limits() = %+v, want what the consumer has", lim)
	}
	if got, want := l.info().Config, made.CachedInfo().Config; got.MaxAckPending != want.MaxAckPending || got.AckWait != want.AckWait {
		t.Errorf("the consumer is now %+v", got)
	}
}

// All findings come in one error, each with the consumer and the setting.
func TestOpenRefusesWhatCantWork(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream(limits)
	for _, c := range []struct {
		name   string
		made   jetstream.ConsumerConfig
		change func(*SourceConfig)
		want   []string
	}{
		{"unlimited", jetstream.ConsumerConfig{MaxAckPending: -1}, nil, []string{"MaxAckPending"}},
		{"no acknowledgements", jetstream.ConsumerConfig{AckPolicy: jetstream.AckNonePolicy}, nil, []string{"AckPolicy"}},
		{"cumulative ones", jetstream.ConsumerConfig{AckPolicy: jetstream.AckAllPolicy}, nil, []string{"AckPolicy"}},
		{
			"single ones for Cumulative",
			jetstream.ConsumerConfig{},
			func(c *SourceConfig) { c.Ack = Cumulative },
			[]string{"AckPolicy"},
		},
		{
			"other numbers",
			jetstream.ConsumerConfig{MaxAckPending: 50, AckWait: time.Minute, FilterSubject: "s.a"},
			func(c *SourceConfig) { c.MaxAckPending, c.AckWait, c.Filters = 100, time.Second, []string{"s.b"} },
			[]string{"MaxAckPending", "AckWait", "FilterSubjects"},
		},
		{"an end of attempts", jetstream.ConsumerConfig{MaxDeliver: 5}, nil, []string{"MaxDeliver"}},
		{
			"an end of attempts that comes too early",
			jetstream.ConsumerConfig{MaxDeliver: 5},
			func(c *SourceConfig) { c.Attempts, c.DeadLetters = 5, NewSender(l.nc, SenderConfig{Stream: "DLQ"}) },
			[]string{"MaxDeliver"},
		},
		{"headers only", jetstream.ConsumerConfig{HeadersOnly: true}, nil, []string{"HeadersOnly"}},
		{
			"priority groups",
			jetstream.ConsumerConfig{PriorityPolicy: jetstream.PriorityPolicyOverflow, PriorityGroups: []string{"g"}},
			nil,
			[]string{"PriorityPolicy"},
		},
		{"requests too short", jetstream.ConsumerConfig{MaxRequestExpires: 100 * time.Millisecond}, nil, []string{"MaxRequestExpires"}},
		{"AckWait too short", jetstream.ConsumerConfig{AckWait: 100 * time.Millisecond}, nil, []string{"AckWait"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.made.Durable = "d"
			if _, err := l.js.CreateConsumer(t.Context(), "S", c.made); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := l.js.DeleteConsumer(context.Background(), "S", "d"); err != nil {
					t.Error(err)
				}
			}()
			cfg := SourceConfig{Stream: "S", Durable: "d"}
			if c.change != nil {
				c.change(&cfg)
			}
			f := NewFetcher(l.nc, cfg)
			err := f.Open(t.Context())
			for _, want := range append(c.want, `consumer "d" of stream "S"`) {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("Open() = %v, want it to name %s", err, want)
				}
			}
			mustClose(t, f)
		})
	}
}

func TestOpenRefusesStreamsThatDoNotFit(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream(func(c *jetstream.StreamConfig) { c.MaxMsgs = 0 })
	f := NewFetcher(l.nc, SourceConfig{Stream: "S", Durable: "d", Ack: Cumulative})
	err := f.Open(t.Context())
	if !errors.Is(err, broker.ErrUnbounded) || !strings.Contains(err.Error(), "Retention") || !strings.Contains(err.Error(), `"S"`) {
		t.Errorf("Open() = %v, want ErrUnbounded and the retention", err)
	}
	if _, err := l.js.Consumer(t.Context(), "S", "d"); !errors.Is(err, jetstream.ErrConsumerNotFound) {
		t.Errorf("the consumer was made all the same: %v", err)
	}
	if err := NewFetcher(l.nc, SourceConfig{Stream: "T", Durable: "d"}).Open(t.Context()); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("Open() = %v without a stream", err)
	}
	l.open(SourceConfig{Stream: "S", Durable: "d", Unbounded: true})
}

// What is wrong with a config is known without a server, all of it at once.
func TestValidate(t *testing.T) {
	t.Parallel()
	f := NewFetcher(nil, SourceConfig{
		Stream: "a.b", Domain: "x y", Filters: []string{""}, MaxAckPending: -1, AckWait: 30, MaxHold: 1, PullExpiry: time.Hour,
		CloseTimeout: -1, Ack: 9,
	})
	err := f.Validate()
	for _, want := range []string{"connection", "Stream", "Durable", "Domain", "Filters", "MaxAckPending", "AckWait", "30ns", "MaxHold", "PullExpiry", "CloseTimeout", "Ack must"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Validate() = %v, want it to name %s", err, want)
		}
	}
	if err := f.Open(t.Context()); err == nil {
		t.Error("Open() takes a wrong config")
	}
	if err := NewSource(&nats.Conn{}, broker.Bytes(), SourceConfig{Stream: "S", Durable: "d"}).Validate(); err != nil {
		t.Errorf("Validate() = %v for the defaults", err)
	}
}

// T59: a unit that was forgotten, a BackOff that replaces the AckWait: both are found, not followed.
func TestT59AckWaitAndBackOff(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	if _, err := l.js.CreateConsumer(t.Context(), "S", jetstream.ConsumerConfig{
		Durable: "d", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Minute, MaxAckPending: 10, MaxDeliver: 20,
		BackOff: []time.Duration{3 * time.Second, 10 * time.Second},
	}); err != nil {
		t.Fatal(err)
	}
	dead := NewSender(l.nc, SenderConfig{Stream: "DLQ"})
	c := SourceConfig{Stream: "S", Durable: "d", AckWait: time.Minute}
	c.Attempts, c.DeadLetters = 5, dead
	f := NewFetcher(l.nc, c)
	if err := f.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "BackOff") {
		t.Fatalf("Open() = %v, want it to name BackOff", err)
	}
	c.AckWait = 0
	l.fill(1, 1)
	f = l.open(c)
	if got := f.Limits().AckWait; got != 3*time.Second {
		t.Errorf("the wait is %v, want the shortest step", got)
	}
	fetchAll(t, f, 1, 1) // and holds it for longer than that
	nothing(t, f, 4*time.Second)
}

// A server that is down is waited for, until the context ends.
func TestOpenWaitsForTheServer(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream(onDisk)
	l.stop()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	nc := l.connect()
	f := NewFetcher(nc, quick())
	if err := f.Open(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Open() = %v, want %v", err, context.DeadlineExceeded)
	}
	opened := make(chan error)
	go func() { opened <- f.Open(t.Context()) }()
	l.start()
	if err := <-opened; err != nil {
		t.Fatalf("Open() = %v", err)
	}
	mustClose(t, f)
}
