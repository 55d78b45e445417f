package jetstream

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/broker"
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
