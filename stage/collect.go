package stage

import (
	"context"
	"errors"
	"slices"
	"sync"
)

// ErrCollectorFull is what a [Collector] returns for items beyond its limit.
var ErrCollectorFull = errors.New("stage: collector full")

// Collector is a sink that keeps what it is given, for tests and small results. The zero value has no room.
type Collector[T any] struct {
	limit int

	mu    sync.Mutex
	items []T
}

// NewCollector returns a sink that keeps up to limit items.
//
//	Errors:      items beyond limit fail with ErrCollectorFull; those of the same push that still fit are kept.
//	             A limit below 1 has room for none.
//	Ownership:   values are kept as they are, not copied.
//	Concurrency: safe for concurrent use.
func NewCollector[T any](limit int) *Collector[T] { return &Collector[T]{limit: limit} }

// Push keeps items; see [Sink].
func (c *Collector[T]) Push(_ context.Context, items []T) error {
	c.mu.Lock()
	fit := min(len(items), max(c.limit-len(c.items), 0))
	c.items = append(c.items, items[:fit]...)
	c.mu.Unlock()
	return failFrom(fit, len(items), ErrCollectorFull)
}

// Items returns a copy of what was kept, in the order in which it came.
func (c *Collector[T]) Items() []T {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.items)
}

// failFrom returns the error of a push of n items of which those from first on failed: nil if there are none, err itself if
// all failed.
func failFrom(first, n int, err error) error {
	if first == 0 && n > 0 {
		return err
	}
	var bad BatchError
	for i := first; i < n; i++ {
		bad.Add(i, err)
	}
	return bad.OrNil()
}
