package jetstream

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/stage"
)

// sender returns an open sender to stream S, which the end of the test closes.
func (l *lab) sender(c SenderConfig) *Sender {
	l.t.Helper()
	return l.senderOn(l.nc, c)
}

func (l *lab) senderOn(nc *nats.Conn, c SenderConfig) *Sender {
	l.t.Helper()
	c.Stream = "S"
	s := NewSender(nc, c)
	if err := s.Open(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			l.t.Error(err)
		}
	})
	return s
}

// update changes stream S while it is in use.
func (l *lab) update(change func(*jetstream.StreamConfig)) {
	l.t.Helper()
	cfg := l.config("S")
	change(&cfg)
	l.answered(func(ctx context.Context) error {
		_, err := l.js.UpdateStream(ctx, cfg)
		return err
	})
}

func (l *lab) state() jetstream.StreamState {
	l.t.Helper()
	var s jetstream.Stream
	l.answered(func(ctx context.Context) (err error) {
		s, err = l.js.Stream(ctx, "S")
		return err
	})
	return s.CachedInfo().State
}

// bodies reads the payloads that stream S has, in its order.
func bodies(t *testing.T, js jetstream.JetStream) []string {
	t.Helper()
	l := &lab{t: t, js: js}
	n := int(l.state().Msgs)
	reader := jetstream.ConsumerConfig{
		Name: "reader", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: -1, AckWait: time.Hour, MemoryStorage: true,
	}
	var c jetstream.Consumer
	l.answered(func(ctx context.Context) (err error) {
		c, err = js.CreateOrUpdateConsumer(ctx, "S", reader)
		return err
	})
	defer l.answered(func(ctx context.Context) error {
		if err := js.DeleteConsumer(ctx, "S", "reader"); !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return err
		}
		return nil
	})
	var all []string
	for end := time.Now().Add(patience); len(all) < n; {
		if time.Now().After(end) {
			t.Fatalf("only %d of %d messages came", len(all), n)
		}
		batch, err := c.Fetch(n-len(all), jetstream.FetchMaxWait(5*time.Second))
		if err != nil {
			continue // a request that was lost is made again
		}
		for m := range batch.Messages() {
			all = append(all, string(m.Data()))
		}
	}
	return all
}

// numbered are messages whose payloads and IDs are the numbers from first to last.
func numbered(first, last int) []broker.Message {
	var msgs []broker.Message
	for i := first; i <= last; i++ {
		n := strconv.Itoa(i)
		msgs = append(msgs, broker.Message{Subject: "s.x", ID: "id-" + n, Data: []byte(n)})
	}
	return msgs
}

// failures returns the error of each message of a Send, nil where it has none.
func failures(t *testing.T, err error, n int) []error {
	t.Helper()
	errs := make([]error, n)
	if err == nil {
		return errs
	}
	batch, ok := errors.AsType[*stage.BatchError](err)
	if !ok {
		t.Fatalf("%v is no *stage.BatchError", err)
	}
	for _, it := range batch.Items {
		errs[it.Index] = it.Err
	}
	return errs
}

// count returns how many errors are of a kind; nil counts those that are none.
func count(errs []error, kind error) (n int) {
	for _, err := range errs {
		if errors.Is(err, kind) {
			n++
		}
	}
	return n
}

// wantNumbersIn checks that payloads are the numbers from first to last, in order.
func wantNumbersIn(t *testing.T, got []string, first, last int) {
	t.Helper()
	if len(got) != last-first+1 {
		t.Errorf("%d messages, want %d", len(got), last-first+1)
	}
	for i := range got {
		if want := strconv.Itoa(first + i); got[i] != want {
			t.Fatalf("message %d is %s, want %s", i, got[i], want)
		}
	}
}

func replicas(n int) func(*jetstream.StreamConfig) {
	return func(c *jetstream.StreamConfig) { c.Replicas = n }
}

func depth(n int64) func(*jetstream.StreamConfig) {
	return func(c *jetstream.StreamConfig) { c.MaxMsgs = n }
}

var _ broker.Sender = (*Sender)(nil)
