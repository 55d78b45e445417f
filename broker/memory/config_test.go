package memory_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
)

func TestWrongConfigsAreReported(t *testing.T) {
	bounded := memory.StreamConfig{MaxMessages: 1}
	for name, c := range map[string]struct {
		stream memory.StreamConfig
		fetch  memory.FetchConfig
		send   memory.SendConfig
		want   []string
	}{
		"no limit":             {want: []string{"MaxMessages or MaxBytes is required"}},
		"limits and Unbounded": {stream: memory.StreamConfig{MaxBytes: 1, Unbounded: true}, want: []string{"Unbounded contradicts"}},
		"everything of a stream": {
			stream: memory.StreamConfig{Name: "a b", MaxMessages: -1, MaxBytes: -1, Full: 7, MaxMessage: -1, DedupWindow: -1, DedupIDs: -1},
			want:   []string{"Name", "MaxMessages", "MaxBytes", "Full", "MaxMessage must", "DedupWindow", "DedupIDs"},
		},
		"everything of a fetcher": {
			stream: bounded, fetch: memory.FetchConfig{InFlight: -1, KeepAlive: 11 * time.Second, CloseWait: -1},
			want: []string{"InFlight", "KeepAlive must be at most a third of AckWait, 30s, got 11s", "CloseWait"},
		},
		"everything of a sender": {stream: bounded, send: memory.SendConfig{InFlight: -1, ConfirmWait: -1}, want: []string{"InFlight", "ConfirmWait"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := memory.NewStream(c.stream)
			f, send := s.Fetcher(c.fetch), s.Sender(c.send)
			built := errors.Join(f.Validate(), send.Validate())
			start := errors.Join(f.Open(t.Context()), send.Open(t.Context()))
			for _, err := range []error{built, start} {
				for _, word := range c.want {
					if err == nil || !strings.Contains(err.Error(), word) {
						t.Errorf("error does not name %s: %v", word, err)
					}
				}
			}
		})
	}
}

func TestAStreamWithoutALimitIsErrUnbounded(t *testing.T) {
	wantError(t, memory.NewStream(memory.StreamConfig{}).Fetcher(memory.FetchConfig{}).Validate(), broker.ErrUnbounded)
	if err := memory.NewStream(memory.StreamConfig{Unbounded: true}).Sender(memory.SendConfig{}).Validate(); err != nil {
		t.Fatalf("Unbounded: %v", err)
	}
}

func TestLimitsAreTheConfig(t *testing.T) {
	s := memory.NewStream(memory.StreamConfig{MaxBytes: 100, Full: broker.DropsOldest, AckWait: -1})
	got := s.Fetcher(memory.FetchConfig{InFlight: 7}).Limits()
	if want := (broker.Limits{InFlight: 7, Message: 100, Bytes: 100, Full: broker.DropsOldest}); got != want {
		t.Errorf("Fetcher: %+v, want %+v", got, want)
	}
	got = memory.NewStream(memory.StreamConfig{MaxMessages: 5}).Sender(memory.SendConfig{}).Limits()
	if want := (broker.Limits{InFlight: 256, Message: 1 << 20, Messages: 5, AckWait: 30 * time.Second, Ordered: true}); got != want {
		t.Errorf("Sender: %+v, want %+v", got, want)
	}
}

func TestResizeRefusesWhatNewStreamDoes(t *testing.T) {
	s := memory.NewStream(memory.StreamConfig{MaxMessages: 1})
	wantError(t, s.Resize(0, 0), broker.ErrUnbounded)
	if err := s.Resize(-1, 0); err == nil {
		t.Fatal("Resize(-1, 0) returned nil")
	}
}
