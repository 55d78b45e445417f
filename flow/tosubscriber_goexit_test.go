package flow_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/weir-go/weir/flow"
)

// hearer is a subscriber that wants everything, and notes what it hears.
type hearer struct {
	got []int
	end string
}

func (h *hearer) Deliver(vs ...int) int { h.got = append(h.got, vs...); return len(vs) }
func (h *hearer) Complete()             { h.end = "complete" }
func (h *hearer) Fail(err error)        { h.end = err.Error() }

// A Goexit that was skipped, in a step that shares the goroutine with ToSubscriber, is no end of the stream.
func TestASkippedGoexitIsNoEndForASubscriber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h := newBroker(20), &hearer{}
		p, sub := flow.FromItems(b).TryMap(func(_ context.Context, i int) (int, error) {
			if i == 7 {
				runtime.Goexit()
			}
			return i, nil
		}, flow.OnError(flow.Skip)).ToSubscriber(h)
		sub.Request(1 << 40)
		must(t, p.Run(t.Context()))
		equal(t, "the end", h.end, "complete")
		equalSlices(t, "values", h.got, append(ints(7), ints(20)[8:]...))
		b.once(t)
	})
}
