package jetstream

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
)

// What is made of one input is stored once, however often the input comes: here once for each of two consumers.
func TestExactlyOnceFromStreamToStream(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		exactly bool
		want    uint64
	}{
		"at least once": {false, 60},
		"exactly once":  {true, 30},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.stream(limits, func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour })
			l.fill(1, 10)
			edge := DurableConfig{Stream: "EDGE", Capacity: 100, ExactlyOnce: c.exactly}
			for _, consumer := range []string{"first", "second"} {
				in := DurableIn(l.nc, broker.Bytes(), edge)
				source := NewSource(l.nc, broker.Bytes(), SourceConfig{Stream: "S", Durable: consumer, Ack: Confirmed})
				run, err := flow.FromItems(source).
					FlatMap(func(b []byte) [][]byte { return [][]byte{b, b, b} }).
					ToItems(in).Start(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				until(t, "all inputs are done", func() bool { return source.Stats().Done == 10 })
				if err := run.Drain(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := in.Stats().Stored; got != 30 {
					t.Errorf("%d confirmed, want 30", got)
				}
			}
			s, err := l.js.Stream(t.Context(), "EDGE")
			if err != nil {
				t.Fatal(err)
			}
			if got := s.CachedInfo().State.Msgs; got != c.want {
				t.Errorf("%d messages in the edge, want %d", got, c.want)
			}
		})
	}
}
