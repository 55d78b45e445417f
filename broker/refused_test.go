package broker_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
)

// busy is the refusal of a gate.
type busy struct{ delay time.Duration }

func (busy) Error() string          { return "busy" }
func (b busy) Delay() time.Duration { return b.delay }

// A message whose work is refused comes again when the refusal says, and is not to blame: no number of refusals makes it a dead letter.
func TestARefusedMessageComesAgainAndIsNotToBlame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, dead := newDesk("a"), &shelf{room: 10}
		s := broker.NewSource(d, text, broker.SourceOptions{Attempts: 2, DeadLetters: dead, DeadSubject: "dead"})
		var at []time.Duration
		began := time.Now()
		handle := func(context.Context, string) error {
			at = append(at, time.Since(began))
			if len(at) < 5 {
				return fmt.Errorf("the gate: %w", busy{time.Duration(len(at)) * time.Second})
			}
			return nil
		}
		must(t, flow.FromItems(s).ForEach(handle, flow.OnError(flow.Redeliver)).Run(t.Context()))
		wantSlice(t, "calls", at, []time.Duration{0, 1 * time.Second, 3 * time.Second, 6 * time.Second, 10 * time.Second})
		if st := s.Stats(); st.Done != 1 || st.Failed != 0 || st.GivenBack != 4 {
			t.Errorf("stats %+v", st)
		}
	})
}
