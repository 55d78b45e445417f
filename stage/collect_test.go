package stage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/weir-go/weir/stage"
)

// failedItems returns the indices that err lists.
func failedItems(t *testing.T, err error) (indices []int) {
	t.Helper()
	bad, ok := errors.AsType[*stage.BatchError](err)
	if !ok {
		t.Fatalf("Push() = %v, want a BatchError", err)
	}
	for _, it := range bad.Items {
		indices = append(indices, it.Index)
	}
	return indices
}

func TestCollectorKeepsWhatFits(t *testing.T) {
	c := stage.NewCollector[int](5)
	if err := c.Push(t.Context(), []int{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	err := c.Push(t.Context(), []int{4, 5, 6, 7})
	if got := failedItems(t, err); !slices.Equal(got, []int{2, 3}) || !errors.Is(err, stage.ErrCollectorFull) {
		t.Fatalf("Push() = %v with items %v, want ErrCollectorFull for 2 and 3", err, got)
	}
	if err := c.Push(t.Context(), []int{8}); !errors.Is(err, stage.ErrCollectorFull) {
		t.Fatalf("Push() = %v, want ErrCollectorFull", err)
	}
	if got, want := c.Items(), []int{1, 2, 3, 4, 5}; !slices.Equal(got, want) {
		t.Fatalf("Items() = %v, want %v", got, want)
	}
}

func TestCollectorWithoutRoom(t *testing.T) {
	for _, c := range []*stage.Collector[int]{{}, stage.NewCollector[int](0), stage.NewCollector[int](-1)} {
		if err := c.Push(t.Context(), []int{1}); !errors.Is(err, stage.ErrCollectorFull) || len(c.Items()) != 0 {
			t.Fatalf("Push() = %v with %v kept, want ErrCollectorFull", err, c.Items())
		}
	}
}

func TestCollectorItemsIsACopy(t *testing.T) {
	c := stage.NewCollector[int](2)
	if err := c.Push(t.Context(), []int{1, 2}); err != nil {
		t.Fatal(err)
	}
	c.Items()[0] = 99
	if got := c.Items(); got[0] != 1 {
		t.Fatalf("Items() = %v after a change to an earlier result", got)
	}
}

func ExampleCollector() {
	c := stage.NewCollector[string](2)
	fmt.Println(c.Push(context.Background(), []string{"a", "b", "c"}))
	fmt.Println(c.Items())
	// Output:
	// item 2: stage: collector full
	// [a b]
}
