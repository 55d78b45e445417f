package stage_test

import (
	"testing"

	"github.com/weir-go/weir/stage"
)

func TestSliceHandsOutItsValues(t *testing.T) {
	wantAll(t, stage.Slice([]int{1, 2, 3, 4, 5, 6, 7}), []int{1, 2, 3, 4, 5, 6, 7}, stage.ErrEnd)
	wantAll(t, stage.Slice[int](nil), nil, stage.ErrEnd)
}

func TestSliceDoesNotAllocate(t *testing.T) {
	src := stage.Slice(make([]int, 1<<20))
	dst := make([]int, 16)
	if allocs := testing.AllocsPerRun(1000, func() { _, _ = src.Pull(t.Context(), dst) }); allocs != 0 {
		t.Fatalf("Pull allocates %v times, want 0", allocs)
	}
}

func ExampleSlice() {
	printAll(stage.Slice([]string{"a", "b", "c"}))
	// Output:
	// a
	// b
	// c
	// stage: end of stream
}

func BenchmarkSlice(b *testing.B) {
	const items = 4096
	vs, dst := make([]int, items), make([]int, 256)
	for b.Loop() {
		src := stage.Slice(vs)
		for n := 0; n < items; {
			k, err := src.Pull(b.Context(), dst)
			if err != nil {
				b.Fatal(err)
			}
			n += k
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/items, "ns/item")
}
