package memory_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
	"github.com/weir-go/weir/stage"
)

// What one Fetcher waits for is that the others have settled everything; its own deliveries it does not wait for, because whoever
// holds them may wait for the end.
func TestEndWhenEmptyWaitsForTheOthersOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.NewStream(memory.StreamConfig{MaxMessages: 10, AckWait: -1})
		in, one, other := s.Sender(memory.SendConfig{}), s.Fetcher(memory.FetchConfig{}), s.Fetcher(memory.FetchConfig{})
		for _, part := range []stage.Opener{in, one, other} {
			if err := part.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if err := in.Send(t.Context(), []broker.Message{{Subject: "a"}, {Subject: "a"}}); err != nil {
			t.Fatal(err)
		}
		var mine, theirs [1]broker.Delivery
		fetch := func(f *memory.Fetcher, dst []broker.Delivery, want error) {
			t.Helper()
			if n, err := f.Fetch(t.Context(), dst); !errors.Is(err, want) || n != len(dst) && want == nil {
				t.Fatalf("Fetch() = %d, %v, want %v", n, err, want)
			}
		}
		fetch(one, mine[:], nil)
		fetch(other, theirs[:], nil)
		one.EndWhenEmpty()
		one.EndWhenEmpty()
		began := time.Now()
		time.AfterFunc(time.Hour, func() { other.Settle(theirs[0].Token, stage.Outcome{Kind: stage.Failed, Delay: time.Hour}) })
		fetch(one, theirs[:], nil) // it came again, and is ours now
		if took := time.Since(began); took != 2*time.Hour {
			t.Errorf("came after %v", took)
		}
		fetch(one, make([]broker.Delivery, 1), stage.ErrEnd)
		one.Settle(mine[0].Token, stage.Outcome{Kind: stage.Failed})
		fetch(one, make([]broker.Delivery, 1), stage.ErrEnd)
		if err := one.Close(); err != nil {
			t.Error(err)
		}
		fetch(other, theirs[:], nil) // what has failed is still there
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
}
