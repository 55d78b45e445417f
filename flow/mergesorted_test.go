package flow_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/flow"
)

// ranked is a value and where it comes from.
type ranked struct{ value, input, at int }

func byValue(a, b ranked) int { return cmp.Compare(a.value, b.value) }

func TestMergeSortedAsAStableSort(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		vss, fs := drawInputs(rt, rapid.IntRange(0, 20))
		var want []ranked
		inputs := make([]flow.Flow[ranked], len(fs))
		for i, f := range fs {
			inputs[i] = f.Scan(ranked{input: i}, func(last ranked, v int) ranked { return ranked{v, i, last.at + 1} })
			for at, v := range vss[i] {
				want = append(want, ranked{v, i, at + 1})
			}
		}
		slices.SortStableFunc(want, byValue)
		got, err := inputs[0].MergeSorted(byValue, inputs[1:]...).Collect(t.Context(), 1000)
		if err != nil {
			rt.Fatalf("Collect() = %v", err)
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
	})
}

// Inputs that are not sorted come through whole.
func TestMergeSortedLosesNothingOfWhatIsNotSorted(t *testing.T) {
	a, b := []int{5, 1, 9, 2}, []int{4, 8, 0}
	got, err := flow.FromSlice(a).MergeSorted(cmp.Compare[int], flow.FromSlice(b)).Collect(t.Context(), 10)
	must(t, err)
	slices.Sort(got)
	equalSlices(t, "values", got, []int{0, 1, 2, 4, 5, 8, 9})
}

// It needs a value of each input that has not ended, and no more than that.
func TestMergeSortedWaitsForOneOfEach(t *testing.T) {
	inBubble(t, "the second is slow", func(t *testing.T) {
		got := newSeen[int]()
		slow := flow.FromSlice([]int{2, 4}).TryMap(func(ctx context.Context, i int) (int, error) { return i, nap(ctx, time.Second) })
		must(t, flow.FromSlice([]int{1, 3, 5, 6}).MergeSorted(cmp.Compare[int], slow).ForEach(got.each).Run(t.Context()))
		equalSlices(t, "values", got.values(), []int{1, 2, 3, 4, 5, 6})
		equalSlices(t, "times", got.times(), []time.Duration{1e9, 1e9, 2e9, 2e9, 2e9, 2e9})
	})
}
