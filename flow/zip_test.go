package flow_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

func TestZipAsASequence(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		length := rapid.IntRange(0, 300)
		a, b := length.Draw(rt, "left"), length.Draw(rt, "right")
		take := rapid.IntRange(0, 400).Draw(rt, "take")
		left, right := flow.FromSlice(ints(a)), flow.FromSlice(ints(b)).Map(twice)
		if room := rapid.IntRange(0, 5).Draw(rt, "room"); room > 0 {
			left = left.Buffer(room, flow.Block)
		}
		got, err := left.Zip(right).Take(take).Collect(t.Context(), 300)
		if err != nil {
			rt.Fatalf("Collect() = %v", err)
		}
		var want []flow.Pair[int, int]
		for i := range min(a, b, take) {
			want = append(want, flow.Pair[int, int]{First: i, Second: 2 * i})
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("pairs = %v, want %v", got, want)
		}
	})
}

// S9: Zip ends with the shorter side and stops the other one, also where its source waits; what has no partner comes again.
func TestS9ZipEndsWithTheShorterSide(t *testing.T) {
	short := func() flow.Flow[int] { return flow.FromSlice(ints(3)) }
	for name, zip := range map[string]func(long flow.Flow[int]) flow.Flow[int]{
		"the right is shorter": func(long flow.Flow[int]) flow.Flow[int] { return long.ZipWith(short(), first) },
		"the left is shorter":  func(long flow.Flow[int]) flow.Flow[int] { return short().ZipWith(long, first) },
	} {
		inBubble(t, name, func(t *testing.T) {
			b := newBroker(20)
			b.stays = true
			r := start(t, discard(zip(flow.FromItems(b))))
			began := time.Now()
			must(t, r.Wait())
			equal(t, "time", time.Since(began), 0)
			b.once(t)
			equalSlices(t, "acknowledged", b.kind(stage.Done), ints(3))
			equal(t, "given back", r.Report().GivenBack, int64(b.next-3))
		})
	}
}

// S9: it takes n from the left, then exactly n from the right.
func TestS9ZipTakesExactlyAsManyFromTheRight(t *testing.T) {
	inBubble(t, "five on the left", func(t *testing.T) {
		right := &endless{}
		r := start(t, discard(flow.From(then(ints(5)...)).ZipWith(flow.From(right), first, flow.Name("zip"))))
		time.Sleep(time.Second)
		equal(t, "taken from the right", edgeStats(t, r, "zip.in.2").Out, 5)
		stopped(t, r)
		equal(t, "read from the right", right.next, 5+flow.DefaultCapacity)
	})
}

// A pair that is complete does not wait for those behind it, and waiting for a side is not work.
func TestZipHandsOnWhatIsComplete(t *testing.T) {
	inBubble(t, "a slow right", func(t *testing.T) {
		got := newSeen[int]()
		slow := flow.FromSlice(ints(5)).TryMap(func(ctx context.Context, i int) (int, error) { return i, nap(ctx, time.Second) })
		r := start(t, flow.FromSlice(ints(100)).ZipWith(slow, first, flow.Name("zip")).ForEach(got.each, flow.Name("sink")))
		must(t, r.Wait())
		equalSlices(t, "pairs", got.values(), ints(5))
		equalSlices(t, "times", got.times(), []time.Duration{1e9, 2e9, 3e9, 4e9, 5e9})
		for _, name := range []string{"zip", "sink"} {
			equal(t, "busy share of "+name, stageStats(t, r, name).Busy, 0)
		}
	})
}

// S22: a pair has the stricter class, the earlier deadline and the key that both agree on.
func TestS22MetadataOfAPair(t *testing.T) {
	inBubble(t, "both have some", func(t *testing.T) {
		now := time.Now()
		left, right := newBroker(2), newBroker(2)
		left.meta = func(i int) stage.Meta {
			return stage.Meta{Key: "k", Deadline: now.Add(time.Hour), Criticality: stage.Sheddable, Attempt: i}
		}
		right.meta = func(i int) stage.Meta {
			return stage.Meta{Key: []string{"k", "other"}[i], Deadline: now.Add(time.Minute), Criticality: stage.CriticalPlus}
		}
		var sink metas[int]
		must(t, flow.FromItems(left).ZipWith(flow.FromItems(right), first).ToItems(&sink).Run(t.Context()))
		want := []stage.Meta{
			{Key: "k", Deadline: now.Add(time.Minute), Criticality: stage.CriticalPlus},
			{Deadline: now.Add(time.Minute), Criticality: stage.CriticalPlus, Attempt: 1},
		}
		equalSlices(t, "metadata", sink.metas, want)
		left.once(t)
		right.once(t)
	})
	inBubble(t, "one has some", func(t *testing.T) {
		var sink metas[int]
		plain := flow.FromSlice(ints(3))
		must(t, plain.ZipWith(flow.FromItems(newBroker(3)), first).ToItems(&sink).Run(t.Context()))
		equal(t, "ID", sink.metas[2].ID, "2")
	})
}

// S21: a pair that fails takes both of its messages with it.
func TestS21PairCarriesBothClaims(t *testing.T) {
	inBubble(t, "the second pair fails", func(t *testing.T) {
		left, right := newBroker(3), newBroker(3)
		err := flow.FromItems(left).ZipWith(flow.FromItems(right), first).TryMap(failAt(1, errA)).To(stage.Discard[int]()).Run(t.Context())
		wantError(t, err, errA)
		for _, b := range []*broker{left, right} {
			b.once(t)
			equalSlices(t, "acknowledged", b.kind(stage.Done), ints(1))
			wantError(t, b.outcome(t, 1).Err, errA)
		}
	})
}
