package brokertest

import (
	"testing"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
)

// newMemory makes a stream of package memory.
func newMemory(c Config) *memory.Stream {
	return memory.NewStream(memory.StreamConfig{
		MaxMessages: c.Messages, MaxBytes: c.Bytes, Full: c.Full, MaxMessage: c.Message, AckWait: c.AckWait,
	})
}

// inMemory is package memory as an adapter.
func inMemory(bubble bool) Adapter {
	return Adapter{
		Features: Features{Bubble: bubble, DropsOldest: true, Bytes: true},
		New: func(t *testing.T, c Config) Stream {
			t.Helper()
			return hooks(newMemory(c), c)
		},
	}
}

// hooks are what a stream of package memory can do.
func hooks(s *memory.Stream, c Config) Stream {
	return Stream{
		Subject: "numbers",
		Fetcher: func() broker.Fetcher { return s.Fetcher(memory.FetchConfig{InFlight: c.InFlight}) },
		Sender:  func() broker.Sender { return s.Sender(memory.SendConfig{}) },
		Down:    s.Down, Up: s.Up, Delete: s.Delete, DeleteConsumer: s.DeleteConsumers, End: s.End,
		Kill:              func(f broker.Fetcher) { f.(interface{ Kill() }).Kill() },
		LoseConfirmations: s.LoseConfirmations,
		Resize:            func(messages int64) { _ = s.Resize(messages, 0) },
	}
}

// In a bubble package memory is checked by TestTwins.
func TestMemoryOnARealClock(t *testing.T) {
	a := inMemory(false)
	a.Features.AtOnce = len(checks)
	Test(t, a)
}
