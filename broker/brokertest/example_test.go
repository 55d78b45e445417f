package brokertest_test

import (
	"testing"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/brokertest"
	"github.com/weir-go/weir/broker/memory"
)

// In a test file of the adapter.
func ExampleTest() {
	_ = func(t *testing.T) {
		brokertest.Test(t, brokertest.Adapter{
			Features: brokertest.Features{Bubble: true, Bytes: true},
			New: func(t *testing.T, c brokertest.Config) brokertest.Stream {
				t.Helper()
				s := memory.NewStream(memory.StreamConfig{
					MaxMessages: c.Messages, MaxBytes: c.Bytes, MaxMessage: c.Message, AckWait: c.AckWait,
				})
				return brokertest.Stream{
					Fetcher: func() broker.Fetcher { return s.Fetcher(memory.FetchConfig{InFlight: c.InFlight}) },
					Sender:  func() broker.Sender { return s.Sender(memory.SendConfig{}) },
					Down:    s.Down,
					Up:      s.Up,
					Delete:  s.Delete,
				}
			},
			Skip: map[string]string{"F9": "for the sake of the example"},
		})
	}
	// Output:
}
