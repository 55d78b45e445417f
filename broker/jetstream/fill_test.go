package jetstream

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// T38, with the in-flight limit of a consumer: a batch that needs more messages than may be unsettled is found without a server.
func TestT38ABatchBeyondMaxAckPendingIsABuildError(t *testing.T) {
	for n, want := range map[int]bool{10: false, 11: true} {
		src := NewSource(new(nats.Conn), broker.Bytes(), SourceConfig{Stream: "S", Durable: "d", MaxAckPending: 10})
		err := flow.FromItems(src).Batch(n, 0).To(stage.Discard[[][]byte]()).Check()
		if got := err != nil && strings.Contains(err.Error(), "no more than 10"); got != want {
			t.Errorf("a batch of %d: got %v, want an error: %t", n, err, want)
		}
	}
}
