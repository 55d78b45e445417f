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

var errElement = errors.New("a bad element")

// partly fails for the elements that are divisible by 4.
func partly(_ context.Context, batch []int) error {
	var bad stage.BatchError
	for i, v := range batch {
		if v%4 == 0 {
			bad.Add(i, fmt.Errorf("%d: %w", v, errElement))
		}
	}
	return bad.OrNil()
}

func partlyMap(ctx context.Context, batch []int) (int, error) { return len(batch), partly(ctx, batch) }

// ends are the operators that call a function for a batch.
func ends(f flow.Flow[[]int], on ...flow.ErrOption) map[string]flow.Pipeline {
	var calls []flow.CallOption
	var parallels []flow.ParallelOption
	var sinks []flow.SinkOption
	for _, o := range on {
		calls, parallels, sinks = append(calls, o), append(parallels, o), append(sinks, o)
	}
	return map[string]flow.Pipeline{
		"trymap":   f.TryMap(partlyMap, calls...).To(stage.Discard[int]()),
		"parallel": f.Parallel(2, partlyMap, parallels...).To(stage.Discard[int]()),
		"foreach":  f.ForEach(partly, sinks...),
	}
}

// Try: a *BatchError about a batch of twelve messages, three to a batch. Right: its indices are the batch's elements: with Skip or
// DeadLetter these are let go one by one, all others are done, and the run goes on.
func TestABatchErrorIsAboutTheElementsOfABatch(t *testing.T) {
	for name := range ends(flow.FromSlice([][]int{})) {
		inBubble(t, name+" skips", func(t *testing.T) {
			b := newBroker(12)
			r := start(t, ends(flow.FromItems(b).Batch(3, 0, flow.Name("batch")), flow.OnError(flow.Skip))[name])
			must(t, r.Wait())
			b.once(t)
			equalSlices(t, "done", b.kind(stage.Done), ints(12))
			equal(t, "skipped", r.Report().Skipped, 3)
			equal(t, "failed", r.Report().Failed, 0)
		})
		inBubble(t, name+" writes dead letters", func(t *testing.T) {
			b := newBroker(12)
			var box letterBox
			must(t, ends(flow.FromItems(b).Batch(3, 0), flow.OnError(flow.DeadLetter(&box)))[name].Run(t.Context()))
			b.once(t)
			equalSlices(t, "letters", box.numbers(), []int{0, 4, 8})
			for _, l := range box.values() {
				wantError(t, l.Err, errElement)
				equal(t, "ID of the letter", l.Meta.ID, fmt.Sprint(l.Value))
				equal(t, "attempt", l.Attempt, 1)
			}
			equalSlices(t, "done", b.kind(stage.Done), ints(12))
		})
		inBubble(t, name+" stops", func(t *testing.T) {
			b := newBroker(3)
			r := start(t, ends(flow.FromItems(b).Batch(3, 0))[name])
			wantError(t, r.Wait(), errElement)
			b.once(t)
			equalSlices(t, "failed", b.kind(stage.Failed), []int{0})
			equalSlices(t, "done", b.kind(stage.Done), []int{1, 2})
			equal(t, "failed in the report", r.Report().Failed, 1)
		})
		inBubble(t, name+" without claims", func(t *testing.T) {
			var box letterBox
			r := start(t, ends(flow.FromSlice(ints(12)).Batch(3, 0), flow.OnError(flow.DeadLetter(&box)))[name])
			must(t, r.Wait())
			equalSlices(t, "letters", box.numbers(), []int{0, 4, 8})
			equal(t, "skipped", r.Report().Skipped, 3)
		})
	}
}

// Try: the same batch in two branches, one of which refuses some elements for good. Right: only these fail.
func TestABatchErrorInOneBranchFailsOnlyItsElements(t *testing.T) {
	b := newBroker(4)
	b.stays = true
	inBubble(t, "", func(t *testing.T) {
		r := start(t, flow.FromItems(b).Batch(4, 0).
			Tee(func(f flow.Flow[[]int]) flow.Pipeline { return f.ForEach(partly) }).
			ForEach(func(context.Context, []int) error { return nil }))
		wantError(t, r.Wait(), errElement)
		b.once(t)
		if failed := b.kind(stage.Failed); !slices.Contains(failed, 0) {
			t.Fatalf("failed = %v, want 0 among them", failed)
		}
	})
}

// Try: Retry in front of Skip, with a batch whose bad element is good at the third call. Right: the whole batch is called again.
func TestABatchErrorIsRetriedWhole(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		b := newBroker(3)
		calls := 0
		must(t, flow.FromItems(b).Batch(3, 0).ForEach(func(ctx context.Context, batch []int) error {
			if calls++; calls == 3 {
				return nil
			}
			equal(t, "elements", len(batch), 3)
			return partly(ctx, batch)
		}, flow.OnError(flow.Retry(2, every(time.Second)), flow.Stop)).Run(t.Context()))
		equal(t, "calls", calls, 3)
		equalSlices(t, "done", b.kind(stage.Done), ints(3))
	})
}

// Try: a *BatchError about a message that is a slice itself, one with an index that is not there, and one without items. Right: the
// message fails as a whole.
func TestABatchErrorThatFitsNoBatchIsAboutTheItem(t *testing.T) {
	for name, bad := range map[string]error{
		"not there": &stage.BatchError{Items: []stage.ItemError{{Index: 3, Err: errElement}}},
		"negative":  &stage.BatchError{Items: []stage.ItemError{{Index: -1, Err: errElement}}},
		"empty":     &stage.BatchError{},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBroker(3)
			err := flow.FromItems(b).Batch(3, 0).ForEach(func(context.Context, []int) error { return bad }).Run(t.Context())
			wantError(t, err, bad)
			equalSlices(t, "failed", b.kind(stage.Failed), ints(3))
		})
	}
	t.Run("a message that is a slice", func(t *testing.T) {
		b := newBroker(1)
		err := flow.FromItems(b).Map(func(int) []int { return []int{0, 1} }).ForEach(partly).Run(t.Context())
		wantError(t, err, errElement)
		equalSlices(t, "failed", b.kind(stage.Failed), ints(1))
	})
}
