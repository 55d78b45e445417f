package jetstream

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/internal/natstest"
)

// relay makes the API of the server a domain called relay, which loses the first request to each subject that ends in about, and
// says of the second that it can't be answered now. asked counts them.
func (l *lab) relay(about string) (asked func() int) {
	l.t.Helper()
	const unavailable = `{"error":{"code":503,"err_code":10008,"description":"JetStream system temporarily unavailable"}}`
	var mu sync.Mutex
	n := 0
	nc := l.connect()
	_, err := nc.Subscribe("$JS.relay.API.>", func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(m.Subject, "$JS.relay.API."+about) {
			switch n++; n {
			case 1:
				return
			case 2:
				_ = m.Respond([]byte(unavailable))
				return
			}
		}
		_ = nc.PublishRequest(strings.Replace(m.Subject, ".relay", "", 1), m.Reply, m.Data)
	})
	if err != nil {
		l.t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		l.t.Fatal(err)
	}
	return func() int {
		mu.Lock()
		defer mu.Unlock()
		return n
	}
}

// A request that is lost while a cluster chooses a leader is made again, whoever makes it.
func TestALostAnswerIsAskedForAgain(t *testing.T) {
	t.Parallel()
	ensure := func(most int64) func(*lab) error {
		return func(l *lab) error {
			c := StreamConfig{Name: "S", Subjects: []string{"s.>"}, MaxMessages: most, Memory: true, Domain: "relay"}
			return EnsureStream(l.t.Context(), l.nc, c)
		}
	}
	send := func(l *lab) error {
		s := NewSender(l.nc, SenderConfig{Stream: "S", Domain: "relay"})
		return errors.Join(s.Open(l.t.Context()), s.Close())
	}
	fetch := func(l *lab) error {
		c := quick()
		c.Domain = "relay"
		f := NewFetcher(l.nc, c)
		return errors.Join(f.Open(l.t.Context()), f.Close())
	}
	tests := []struct {
		name, about string
		there       bool // whether the stream is there
		do          func(*lab) error
	}{
		{"a stream is made", "STREAM.CREATE", false, ensure(100)},
		{"a stream is found", "STREAM.INFO", true, ensure(200_000)},
		{"a stream is changed", "STREAM.UPDATE", true, ensure(200_000)},
		{"a sender", "STREAM.INFO", true, send},
		{"a fetcher's stream", "STREAM.INFO", true, fetch},
		{"a fetcher's consumer", "CONSUMER.INFO", true, fetch},
		{"a fetcher's new consumer", "CONSUMER.CREATE", true, fetch},
		{"the account", "INFO", true, send},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			if tt.there {
				l.stream()
			}
			asked := l.relay(tt.about)
			if err := tt.do(l); err != nil {
				t.Error(err)
			}
			if n := asked(); n < 3 {
				t.Errorf("it was asked %d times, want at least 3", n)
			}
		})
	}
}

// Who gives up says why, and what there was no answer about.
func TestNoAnswerUntilCtxEnds(t *testing.T) {
	t.Parallel()
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	calls := 0
	err := persist(ctx, "jetstream: it", func(context.Context) error {
		if calls++; calls == 3 {
			cancel(enough)
		}
		return nats.ErrTimeout
	})
	if !errors.Is(err, enough) || !strings.HasPrefix(err.Error(), "jetstream: it: no answer") || calls != 3 {
		t.Errorf("after %d calls: %v", calls, err)
	}
	err = persist(t.Context(), "jetstream: it", func(context.Context) error { return broker.ErrUnbounded })
	if !errors.Is(err, broker.ErrUnbounded) {
		t.Errorf("an error that waiting does not mend became %v", err)
	}
}

// The only server of a stream is down, and the others of the cluster say so: it is waited for, by whoever is opened.
func TestAStreamThatIsOfflineIsWaitedFor(t *testing.T) {
	t.Parallel()
	nodes := natstest.Cluster(t, 3)
	l := labAt(t, nodes.URL())
	l.stream(onDisk)
	down := nodes.StreamLeader("S")
	nodes.AwaitReady()
	nodes.Stop(down)
	there := labAt(t, nodes.NodeURL((down+1)%3))
	until(t, "the stream is offline", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), infoWait)
		defer cancel()
		_, err := there.js.Stream(ctx, "S")
		return hasCode(err, 10118)
	})
	ensure := StreamConfig{Name: "S", Subjects: []string{"s.>"}, MaxMessages: 100_000}
	opened := make(chan error, 3)
	f, s := NewFetcher(there.nc, quick()), NewSender(there.nc, SenderConfig{Stream: "S"})
	go func() { opened <- f.Open(t.Context()) }()
	go func() { opened <- s.Open(t.Context()) }()
	go func() { opened <- EnsureStream(t.Context(), there.nc, ensure) }()
	select {
	case err := <-opened:
		t.Fatalf("one was opened without the stream: %v", err)
	case <-time.After(time.Second):
	}
	nodes.Restart(down)
	for range cap(opened) {
		if err := <-opened; err != nil {
			t.Error(err)
		}
	}
	mustClose(t, f)
	must(t, s.Close())
}

// A consumer is made again also where an answer to that is lost.
func TestALostAnswerWhileAConsumerIsMadeAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 10)
	c := quick()
	mustClose(t, l.open(c)) // makes the consumer
	asked := l.relay("CONSUMER.CREATE")
	c.Domain, c.Recreate = "relay", true
	f := l.open(c)
	if err := l.js.DeleteConsumer(t.Context(), "S", "d"); err != nil {
		t.Fatal(err)
	}
	ds := fetchAll(t, f, 10, 10)
	wantNumbers(t, ds, 1, 10)
	settleAll(f, ds, doneOutcome)
	mustClose(t, f)
	if n := asked(); n < 3 || f.Stats().Recreated != 1 {
		t.Errorf("asked %d times, made again %d times, want 3 and 1", n, f.Stats().Recreated)
	}
	l.wantNothingLeft()
}

// What was said until the end is said in the error.
func TestTheLastAnswerIsNamed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	said := &jetstream.APIError{Code: 503, ErrorCode: 10023, Description: "insufficient resources"}
	err := persist(ctx, "jetstream: it", func(context.Context) error { cancel(); return said })
	if !errors.Is(err, context.Canceled) || !errors.Is(err, said) || strings.Contains(err.Error(), "no answer") {
		t.Errorf("%v, want it to say what the server said", err)
	}
}

// Two processes that start at the same time make one consumer.
func TestTwoThatMakeAConsumerAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	var all sync.WaitGroup
	for i := range 8 {
		c := quick()
		if i%2 == 1 { // it takes what the consumer has
			c.MaxAckPending, c.AckWait = 0, 0
		}
		nc := l.connect()
		all.Go(func() {
			f := NewFetcher(nc, c)
			err := f.Open(t.Context())
			if err != nil && !strings.Contains(err.Error(), "SourceConfig says") {
				t.Error(err)
			}
			_ = f.Close()
		})
	}
	all.Wait()
}
