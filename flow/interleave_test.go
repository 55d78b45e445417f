package flow_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/flow"
)

// drawInputs draws some slices, and the flows of them.
func drawInputs(rt *rapid.T, value *rapid.Generator[int]) (vss [][]int, fs []flow.Flow[int]) {
	vss = rapid.SliceOfN(rapid.SliceOfN(value, 0, 150), 1, 6).Draw(rt, "inputs")
	for _, vs := range vss {
		slices.Sort(vs)
		f := flow.FromSlice(vs)
		if room := rapid.IntRange(0, 5).Draw(rt, "room"); room > 0 {
			f = f.Buffer(room, flow.Block)
		}
		fs = append(fs, f)
	}
	return vss, fs
}

func TestInterleaveAsASequence(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		vss, fs := drawInputs(rt, rapid.IntRange(0, 1000))
		n := rapid.IntRange(1, 9).Draw(rt, "n")
		got, err := fs[0].Interleave(n, fs[1:]...).Collect(t.Context(), 1000)
		if err != nil {
			rt.Fatalf("Collect() = %v", err)
		}
		var want []int
		for left := slices.Clone(vss); len(slices.Concat(left...)) > 0; {
			for i, vs := range left {
				k := min(n, len(vs))
				want = append(want, vs[:k]...)
				left[i] = vs[k:]
			}
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
	})
}

// What is there in a turn is handed on, without waiting for the rest of the turn.
func TestInterleaveWaitsForTheInputWhoseTurnItIs(t *testing.T) {
	inBubble(t, "the second is slow", func(t *testing.T) {
		got := newSeen[int]()
		slow := flow.FromSlice([]int{100, 101, 102}).TryMap(func(ctx context.Context, i int) (int, error) { return i, nap(ctx, time.Second) })
		must(t, flow.FromSlice(ints(5)).Interleave(2, slow).ForEach(got.each).Run(t.Context()))
		equalSlices(t, "values", got.values(), []int{0, 1, 100, 101, 2, 3, 102, 4})
		equalSlices(t, "times", got.times(), []time.Duration{0, 0, 1e9, 2e9, 2e9, 2e9, 3e9, 3e9})
	})
}
