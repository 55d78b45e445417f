package flow_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// graded is a value of one of several inputs, 0 being the highest.
type graded struct{ input, at int }

func grades(input, n int) []graded {
	vs := make([]graded, n)
	for i := range vs {
		vs[i] = graded{input, i}
	}
	return vs
}

// T43: several inputs have something all the time, and the consumer is slow. The highest has its turn, except that behind 64 values
// from above one of a lower input comes; the order of each input is kept.
func TestT43PreferenceDecidesAndNobodyStarves(t *testing.T) {
	const patience = 64
	for name, counts := range map[string][]int{
		"two inputs":              {400, 20},
		"three inputs":            {600, 300, 20},
		"the middle has nothing":  {300, 0, 20},
		"the lowest has the most": {10, 500},
	} {
		inBubble(t, name, func(t *testing.T) {
			var fs []flow.Flow[graded]
			for i, n := range counts {
				fs = append(fs, flow.FromSlice(grades(i, n)))
			}
			got := newSeen[graded]()
			must(t, flow.MergePriority(fs...).ForEach(func(ctx context.Context, v graded) error {
				must(t, got.each(ctx, v))
				return nap(ctx, time.Second)
			}).Run(t.Context()))
			left, passed := slices.Clone(counts), make([]int, len(counts))
			for at, v := range got.values() {
				equal(t, "place in its input", v.at, counts[v.input]-left[v.input])
				for high := range v.input { // at 0 the others may not have got there yet
					if at > 0 && left[high] > 0 && passed[v.input] < patience {
						t.Fatalf("value %d is of input %d, of which %d were passed, while input %d has some", at, v.input, passed[v.input], high)
					}
				}
				left[v.input]--
				passed[v.input] = 0
				for low := v.input + 1; low < len(counts); low++ {
					if passed[low]++; left[low] > 0 && passed[low] > patience {
						t.Fatalf("value %d: %d values have passed input %d, want at most %d", at, passed[low], low, patience)
					}
				}
			}
			equal(t, "values that did not come", slices.Max(left), 0)
		})
	}
}

// A consumer that is fast gets chunks, and the bound holds all the same; a chunk is small, for the preference counts between chunks.
func TestT43ChunksKeepToTheBound(t *testing.T) {
	inBubble(t, "2000 and 20", func(t *testing.T) {
		longest, passed, most := 0, 0, 0
		low := 20
		must(t, flow.MergePriority(flow.FromSlice(grades(0, 2000)), flow.FromSlice(grades(1, low))).
			To(stage.SinkFunc(func(ctx context.Context, vs []graded) error {
				longest = max(longest, len(vs))
				for _, v := range vs {
					passed++
					if v.input == 1 {
						low--
						passed = 0
					} else if low > 0 {
						most = max(most, passed)
					}
				}
				return nap(ctx, time.Nanosecond) // all edges are full then
			})).Run(t.Context()))
		equal(t, "longest chunk", longest, 16)
		equal(t, "most values that passed one that waits", most, 64)
	})
}

func TestMergePriorityAsASet(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		vss, fs := drawInputs(rt, rapid.IntRange(0, 1000))
		inputs := make([]flow.Flow[graded], len(fs))
		for i, f := range fs {
			inputs[i] = f.Scan(graded{i, -1}, func(last graded, _ int) graded { return graded{i, last.at + 1} })
		}
		got, err := flow.MergePriority(inputs...).Collect(t.Context(), 1000)
		if err != nil {
			rt.Fatalf("Collect() = %v", err)
		}
		slices.SortStableFunc(got, func(a, b graded) int { return cmp.Compare(a.input, b.input) })
		var want []graded
		for i, vs := range vss {
			want = append(want, grades(i, len(vs))...)
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
	})
}

// What comes to an idle merge comes through at once, whichever input it is of.
func TestMergePriorityWakesForEachInput(t *testing.T) {
	inBubble(t, "every 5 s and every 3 s", func(t *testing.T) {
		every := func(d time.Duration, n, input int) flow.Flow[graded] {
			return flow.FromSlice(grades(input, n)).TryMap(func(ctx context.Context, v graded) (graded, error) { return v, nap(ctx, d) })
		}
		got := newSeen[graded]()
		must(t, flow.MergePriority(every(5*time.Second, 2, 0), every(3*time.Second, 4, 1)).ForEach(got.each).Run(t.Context()))
		equalSlices(t, "values", got.values(), []graded{{1, 0}, {0, 0}, {1, 1}, {1, 2}, {0, 1}, {1, 3}})
		equalSlices(t, "times", got.times(), []time.Duration{3e9, 5e9, 6e9, 9e9, 10e9, 12e9})
	})
}

// A consumer that leaves stops all inputs, also one whose source waits.
func TestMergePriorityStopsASourceThatWaits(t *testing.T) {
	inBubble(t, "the highest waits", func(t *testing.T) {
		b := newBroker(30)
		b.stays = true
		began := time.Now()
		r := start(t, discard(flow.MergePriority(flow.From(stage.SourceFunc(blocked)), flow.FromItems(b)).Take(7)))
		must(t, r.Wait())
		equal(t, "time", time.Since(began), 0)
		b.once(t)
		equalSlices(t, "acknowledged", b.kind(stage.Done), ints(7))
	})
}

// The edge that the user wrote in front of it is the edge of that input.
func TestMergePriorityUsesTheEdgesInFront(t *testing.T) {
	urgent := flow.FromSlice(ints(5)).Buffer(3, flow.Block, flow.Name("urgent"))
	g := discard(flow.MergePriority(urgent, flow.FromSlice(ints(5)))).Graph()
	equal(t, "edges", len(g.Edges), 2)
	equal(t, "the user's", g.Edges[0].Name, "urgent")
	equal(t, "its capacity", g.Edges[0].Capacity, 3)
	equal(t, "the other", g.Edges[1].Name, "mergepriority#4.in.2")
	equal(t, "goroutines", g.Goroutines, 3)
}
