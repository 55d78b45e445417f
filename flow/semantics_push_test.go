package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// pushLog is a sink that notes every push and answers it.
type pushLog struct {
	sizes  []int
	taken  []int
	answer func(vs []int) error
}

func (p *pushLog) Push(_ context.Context, vs []int) error {
	p.sizes = append(p.sizes, len(vs))
	err := p.answer(vs)
	if err == nil {
		p.taken = append(p.taken, vs...)
	}
	return err
}

// S13: a *BatchError is handled item by item; all others of the push are done and not pushed again.
func TestS13BatchErrorItemByItem(t *testing.T) {
	inBubble(t, "dead letters", func(t *testing.T) {
		box := &letterBox{}
		sink := &pushLog{answer: func(vs []int) error {
			var bad stage.BatchError
			for i, v := range vs {
				if v%10 == 0 {
					bad.Add(i, fmt.Errorf("row %d: %w", v, errA))
				}
			}
			return bad.OrNil()
		}}
		b := newBroker(100)
		r := start(t, flow.FromItems(b).To(sink, flow.Gather(100, 0), flow.Name("load"), flow.OnError(flow.DeadLetter(box))))
		must(t, r.Wait())
		equalSlices(t, "pushes", sink.sizes, []int{100})
		equalSlices(t, "letters", box.numbers(), []int{0, 10, 20, 30, 40, 50, 60, 70, 80, 90})
		equal(t, "text", box.values()[3].Err.Error(), "row 30: a is broken")
		equal(t, "done", r.Report().Done, 90)
		equal(t, "skipped", r.Report().Skipped, 10)
		b.once(t)
	})
	inBubble(t, "retry pushes only what failed", func(t *testing.T) {
		tries := 0
		sink := &pushLog{answer: func(vs []int) error {
			var bad stage.BatchError
			for i, v := range vs {
				if v == 5 && tries < 3 {
					tries++
					bad.Add(i, errA)
				}
			}
			return bad.OrNil()
		}}
		must(t, flow.FromSlice(ints(8)).To(sink, flow.Gather(8, 0), flow.OnError(flow.Retry(5, every(time.Second)))).Run(t.Context()))
		equalSlices(t, "pushes", sink.sizes, []int{8, 1, 1, 1})
	})
	inBubble(t, "stop", func(t *testing.T) {
		b := newBroker(8)
		sink := &pushLog{answer: func([]int) error {
			var bad stage.BatchError
			bad.Add(2, errA)
			bad.Add(6, errB)
			return &bad
		}}
		err := flow.FromItems(b).To(sink, flow.Gather(8, 0), flow.Name("load")).Run(t.Context())
		wantStage(t, err, "load")
		wantError(t, err, errA)
		b.once(t)
		equalSlices(t, "done", b.kind(stage.Done), []int{0, 1, 3, 4, 5, 7})
		equalSlices(t, "failed", b.kind(stage.Failed), []int{2, 6})
	})
	inBubble(t, "an index that is not there", func(t *testing.T) {
		b := newBroker(8)
		sink := &pushLog{answer: func([]int) error {
			var bad stage.BatchError
			bad.Add(8, errA)
			return &bad
		}}
		wantError(t, flow.FromItems(b).To(sink, flow.Gather(8, 0)).Run(t.Context()), errA)
		equal(t, "failed", len(b.kind(stage.Failed)), 8)
	})
}

// S13: a plain error means the whole push. Retry repeats it whole; Skip and DeadLetter halve it, so that only items are
// affected that fail alone.
func TestS13PlainErrorOfAPush(t *testing.T) {
	poison := func(vs []int) error {
		if slices.Contains(vs, 11) || slices.Contains(vs, 12) {
			return errA
		}
		return nil
	}
	inBubble(t, "skip halves", func(t *testing.T) {
		sink := &pushLog{answer: poison}
		b := newBroker(16)
		r := start(t, flow.FromItems(b).To(sink, flow.Gather(16, 0), flow.OnError(flow.Skip)))
		must(t, r.Wait())
		equalSlices(t, "pushes", sink.sizes, []int{16, 8, 8, 4, 2, 2, 1, 1, 4, 2, 1, 1, 2})
		equalSlices(t, "taken", sink.taken, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15})
		equal(t, "skipped", r.Report().Skipped, 2)
		b.once(t)
	})
	inBubble(t, "retry repeats it whole", func(t *testing.T) {
		n := 0
		sink := &pushLog{answer: func([]int) error {
			if n++; n < 4 {
				return errA
			}
			return nil
		}}
		must(t, flow.FromSlice(ints(16)).To(sink, flow.Gather(16, 0), flow.OnError(flow.Retry(5, every(time.Second)), flow.Skip)).Run(t.Context()))
		equalSlices(t, "pushes", sink.sizes, []int{16, 16, 16, 16})
	})
	inBubble(t, "retry, then dead letters: an outage affects nothing", func(t *testing.T) {
		box := &letterBox{}
		began := time.Now()
		sink := &pushLog{answer: func([]int) error {
			if time.Since(began) < 10*time.Second {
				return errA
			}
			return nil
		}}
		must(t, flow.FromSlice(ints(16)).To(sink, flow.Gather(16, 0),
			flow.OnError(flow.Retry(30, every(time.Second)), flow.DeadLetter(box))).Run(t.Context()))
		equal(t, "letters", len(box.values()), 0)
		equal(t, "taken", len(sink.taken), 16)
	})
	inBubble(t, "stop", func(t *testing.T) {
		b := newBroker(16)
		err := flow.FromItems(b).To(&pushLog{answer: poison}, flow.Gather(16, 0), flow.Name("load")).Run(t.Context())
		wantStage(t, err, "load")
		equal(t, "failed", len(b.kind(stage.Failed)), 16)
	})
	inBubble(t, "what failed elsewhere is not affected", func(t *testing.T) {
		err := flow.FromSlice(ints(16)).To(&pushLog{answer: poison}, flow.Gather(16, 0),
			flow.OnError(flow.If(func(err error) bool { return errors.Is(err, errB) }, flow.Skip))).Run(t.Context())
		wantError(t, err, errA)
	})
}
