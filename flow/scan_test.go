package flow_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
	"pgregory.net/rapid"
)

func add(a, b int) int { return a + b }

func TestScanHandsOnEachResult(t *testing.T) {
	for name, c := range map[string]struct {
		vs   []int
		init int
		want []int
	}{
		"nothing":        {nil, 5, nil},
		"one":            {[]int{1}, 5, []int{6}},
		"running totals": {[]int{1, 2, 3, 4}, 0, []int{1, 3, 6, 10}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := flow.FromSlice(c.vs).Scan(c.init, add).Collect(t.Context(), 10)
			must(t, err)
			equalSlices(t, "results", got, c.want)
		})
	}
}

func TestScanBeginsAnewInEachRun(t *testing.T) {
	f := flow.FromSlice(ints(100)).Scan(0, add)
	for range 2 {
		got, err := f.Collect(t.Context(), 100)
		must(t, err)
		equal(t, "last result", got[99], 4950)
	}
}

func TestScanCarriesTheClaimOfEachValue(t *testing.T) {
	b := newBroker(50)
	next := 0
	must(t, flow.FromItems(b).Scan(0, add).ToItems(stage.ItemSinkFunc(func(_ context.Context, items []stage.Item[int]) error {
		for _, it := range items {
			equal(t, "metadata", it.Meta().ID, strconv.Itoa(next))
			next++
		}
		return nil
	})).Run(t.Context()))
	b.once(t)
	equalSlices(t, "acknowledged", b.kind(stage.Done), ints(50))
}

func TestScanWithUserCodeThatDoesNotReturn(t *testing.T) {
	userCodeFails(t, func(f flow.Flow[int], bad func(int)) flow.Pipeline {
		return discard(f.Scan(0, func(_, i int) int { bad(i); return i }, flow.Name("bad")))
	})
}

func TestScanIsLikeALoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vs, f := drawFlow(t)
		sum, want := 0, []int(nil)
		for _, v := range vs {
			sum = 3*sum + v
			want = append(want, sum)
		}
		wantCollected(t, f.Scan(0, func(s, v int) int { return 3*s + v }), want)
	})
}

func TestScanAllocatesNothing(t *testing.T) {
	allocatesNothing(t, pushes(func(f flow.Flow[int]) flow.Flow[int] { return f.Scan(0, add) }))
}

func TestScanRefusesNil(t *testing.T) {
	refused(t, discard(flow.FromSlice(ints(1)).Scan[int](0, nil)), "scan#2", "function must not be nil")
}

// What follows is shared by the tests of steps.

// refused fails the test unless the pipeline has the build errors that contain the texts.
func refused(t *testing.T, p flow.Pipeline, texts ...string) {
	t.Helper()
	for what, err := range map[string]error{"Check": p.Check(), "Run": p.Run(t.Context())} {
		if err == nil {
			t.Fatalf("%s() = nil, want errors", what)
		}
		for _, text := range texts {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%s() = %q, want %q in it", what, err, text)
			}
		}
	}
}

// allocatesNothing fails the test if a run allocates for each item.
func allocatesNothing(t *testing.T, run func(n int) error) {
	t.Helper()
	if got := allocsPerItem(t, run); got >= perItem {
		t.Errorf("%.4f allocations an item, want less than %v", got, perItem)
	}
}

// drawFlow returns some values, and a flow of them: plain or with metadata, in chunks of various sizes, behind an edge or not.
func drawFlow(t *rapid.T) ([]int, flow.Flow[int]) {
	vs := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 300).Draw(t, "values")
	f := flow.FromSlice(vs)
	if rapid.Bool().Draw(t, "in groups") {
		f = f.Batch(rapid.IntRange(1, 20).Draw(t, "group"), 0).FlatMap(func(b []int) []int { return b })
	}
	if rapid.Bool().Draw(t, "with metadata") {
		f = f.Stamp(func(_ int, m stage.Meta) stage.Meta { return m })
	}
	if rapid.Bool().Draw(t, "behind an edge") {
		f = f.Buffer(rapid.IntRange(1, 50).Draw(t, "capacity"), flow.Block)
	}
	return vs, f
}

// wantCollected fails the test unless f gives want.
func wantCollected(t *rapid.T, f flow.Flow[int], want []int) {
	got, err := f.Collect(context.Background(), len(want)+1)
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("got %v, %v, want %v", got, err, want)
	}
}

// userCodeFails runs a step named "bad" whose code does not return for value 7 of 0 to 19. That message must have failed, those
// before it are done as far as the step could hand them on, and those behind it are given back.
func userCodeFails(t *testing.T, build func(f flow.Flow[int], bad func(int)) flow.Pipeline) {
	t.Helper()
	for _, tr := range troubles() {
		inBubble(t, tr.name, func(t *testing.T) {
			bad := func(i int) {
				if i == 7 {
					tr.do()
				}
			}
			b := newBroker(20)
			err := build(flow.FromItems(b), bad).Run(t.Context())
			wantStage(t, err, "bad")
			if tr.is != nil {
				wantError(t, err, tr.is)
			}
			b.once(t)
			equal(t, "message 7", b.outcome(t, 7).Kind, stage.Failed)
			if !errors.Is(err, stage.ErrGoexit) {
				equalSlices(t, "acknowledged", b.kind(stage.Done), ints(7))
			}
			wantStage(t, build(flow.FromSlice(ints(20)), bad).Run(t.Context()), "bad")
		})
	}
}
