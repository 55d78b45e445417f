package broker_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// limited returns a source of 40 messages, which leaves no more than ten of them unsettled. Before each of its deliveries is late, a broker
// waits two seconds.
func limited(t *testing.T) *broker.Source[string] {
	t.Helper()
	s := memory.NewStream(memory.StreamConfig{Name: "orders", MaxMessages: 100, AckWait: 2 * time.Second})
	in := broker.NewSink(s.Sender(memory.SendConfig{}), text, broker.SinkOptions[string]{Subject: func(string) string { return "orders" }})
	var all []string
	for i := range 40 {
		all = append(all, strconv.Itoa(i))
	}
	if err := flow.FromSlice(all).To(in).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := s.Fetcher(memory.FetchConfig{InFlight: 10})
	f.EndWhenEmpty()
	return broker.NewSource(f, text, broker.SourceOptions{})
}

// A stage that waits for more than the broker leaves unsettled is found by the run, where the build can't know: what weighs how much.
func TestABatchOfMoreThanTheBrokerLeavesUnsettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		weighed := flow.FromItems[string](limited(t), flow.Name("orders")).
			BatchWeight(11, func(string) int64 { return 1 }, 0, flow.Name("batch"))
		e, ok := errors.AsType[*flow.DeadlockError](weighed.To(stage.Discard[[]string]()).Run(t.Context()))
		if !ok {
			t.Fatal("it is not found")
		}
		names := []string{e.Hops[0].Stage, e.Hops[1].Stage}
		if slices.Sort(names); len(e.Hops) != 2 || names[0] != "batch" || names[1] != "orders" || e.Artificial {
			t.Errorf("got %v, want that batch and orders wait for each other", e)
		}
	})
}

// One that can be filled is not, and neither is a slow stage, a message that comes again later, or one that does so for want of an answer.
func TestASourceAtItsLimitThatGoesOn(t *testing.T) {
	weigh := func(string) int64 { return 1 }
	tests := map[string]func(f flow.Flow[string]) flow.Pipeline{
		"a batch that can be filled": func(f flow.Flow[string]) flow.Pipeline {
			return f.BatchWeight(10, weigh, 0).To(stage.Discard[[]string]())
		},
		"a slow sink": func(f flow.Flow[string]) flow.Pipeline {
			return f.Buffer(2, flow.Block).ForEach(func(ctx context.Context, _ string) error { time.Sleep(time.Minute); return nil })
		},
		"messages that fail for a while": func() func(f flow.Flow[string]) flow.Pipeline {
			failed := map[string]bool{}
			return func(f flow.Flow[string]) flow.Pipeline {
				return f.ForEach(func(_ context.Context, s string) error {
					if !failed[s] {
						failed[s] = true
						return errors.New("not yet")
					}
					return nil
				}, flow.OnError(flow.Redeliver))
			}
		}(),
	}
	for name, build := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := limited(t)
				p := build(flow.FromItems[string](src)).OnDeadlock(flow.DeadlockConfig{Interval: time.Millisecond})
				if err := p.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				if done := src.Stats().Done; done != 40 {
					t.Errorf("%d messages are done, want 40", done)
				}
			})
		})
	}
}
