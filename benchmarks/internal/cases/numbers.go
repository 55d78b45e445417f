package cases

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-go/weir/stage"
)

// numbers is a source of the values 0 to n-1.
func numbers(n int) stage.Source[int64] {
	next, end := int64(0), int64(n)
	return stage.SourceFunc(func(_ context.Context, dst []int64) (int, error) {
		if next == end {
			return 0, stage.ErrEnd
		}
		k := min(len(dst), int(end-next))
		first := next // a local variable: the loop keeps it in a register
		for i := range dst[:k] {
			dst[i] = first + int64(i)
		}
		next += int64(k)
		return k, nil
	})
}

var errDisorder = errors.New("the items arrived in another order")

// total is what arrived at the end.
type total struct {
	count, sum, last int64
	disorder         bool
}

// add counts one value and looks at the order. Values are greater than zero and grow.
func (t *total) add(v int64) {
	t.count++
	t.sum += v
	t.disorder = t.disorder || v <= t.last
	t.last = v
}

// push is a sink.
func (t *total) push(_ context.Context, items []int64) error {
	for _, v := range items {
		t.add(v)
	}
	return nil
}

// verify compares with what should have arrived.
func (t *total) verify(count, sum int64, ordered bool) error {
	switch {
	case t.count != count:
		return fmt.Errorf("%d items arrived, want %d", t.count, count)
	case t.sum != sum:
		return fmt.Errorf("their sum is %d, want %d", t.sum, sum)
	case ordered && t.disorder:
		return errDisorder
	}
	return nil
}

// sumTo is 0 + 1 + ... + n-1.
func sumTo(n int64) int64 { return n * (n - 1) / 2 }
