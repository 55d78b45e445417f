package flow

import (
	"time"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/engine"
)

// Distinct hands on the values whose key was not among the last remember keys seen. The others settle as done.
//
// Its memory is bounded, so it forgets: when it holds remember keys and sees another one, it forgets the key that it has not
// seen for longest, and would hand on a value with that key again. A key that comes again and again stays. A key that does not
// equal itself, a NaN, is never remembered, and all its values are handed on.
//
//	Shape:       T → T, order kept; fused: no goroutine, no queue; holds up to remember keys, and no values.
//	Emits:       the first value of a key at once; pulls again until it has one, as Filter does.
//	Errors:      key can't fail. A panic in it stops the run, and so does a key of an interface type whose value
//	             can't be compared. remember < 1, remember > 2147483647 and a nil key are build errors.
//	Claims:      travel along; a repeat is done. A message that failed behind it and is delivered again to the same
//	             run is a repeat, too: don't let an edge behind it drop with Nak.
//	Concurrency: each run begins with an empty memory.
//	Cost:        a call of key and a look into a map, for a new key two changes of it; memory grows up to
//	             remember keys, then no allocation per item.
func (f Flow[T]) Distinct[K comparable](remember int, key func(T) K, opts ...StepOption) Flow[T] {
	n := stepNode("distinct", f, opts)
	n.check(key != nil, "key must not be nil")
	n.check(remember >= 1 && remember <= maxCapacity, argument("remember", "1 to 2147483647", remember))
	return newStep(f, n, func(at engine.Fused, in engine.Input[T]) engine.Input[T] {
		known := newRecent[K](remember)
		keep := func(v T) bool { return !known.seen(key(v)) }
		return engine.Input[T]{Reader: &filterStep[T]{Fused: at, in: in, keep: keep}, Stream: in.Stream}
	})
}

// Dedup hands on a value unless one with the same key was handed on less than window ago. The others settle as done.
// A repeat does not extend the window, so that a key which comes all the time is handed on once per window.
//
// Its memory is bounded: when it holds remember keys and hands on another one, it forgets the one that it handed on longest ago,
// even within its window. So remember should be more than the keys that are handed on in a window. A key that does not equal
// itself, a NaN, is never remembered.
//
//	Shape:       T → T, order kept; fused: no goroutine, no queue; holds up to remember keys, and no values.
//	Emits:       a value at once; pulls again until it has one, as Filter does.
//	Errors:      as for Distinct. window <= 0 is a build error.
//	Claims:      as for Distinct, within the window.
//	Concurrency: each run begins with an empty memory.
//	Cost:        as for Distinct; the clock is read once per chunk, so that the values of a chunk came at the
//	             same time.
func (f Flow[T]) Dedup[K comparable](window time.Duration, remember int, key func(T) K, opts ...StepOption) Flow[T] {
	n := stepNode("dedup", f, opts)
	n.check(key != nil, "key must not be nil")
	n.check(window > 0, argument("window", "> 0", window))
	n.check(remember >= 1 && remember <= maxCapacity, argument("remember", "1 to 2147483647", remember))
	return newStep(f, n, func(at engine.Fused, in engine.Input[T]) engine.Input[T] {
		known := newRecent[K](remember)
		timed := &clockedReader[T]{Reader: in.Reader}
		keep := func(v T) bool { return !known.within(key(v), timed.now, int64(window)) }
		in.Reader = timed
		return engine.Input[T]{Reader: &filterStep[T]{Fused: at, in: in, keep: keep}, Stream: in.Stream}
	})
}

// clockedReader notes when the last chunk came.
type clockedReader[T any] struct {
	engine.Reader[T]
	now int64
}

// Pull implements engine.Reader.
func (c *clockedReader[T]) Pull(dst []T, tags []*engine.Tag) (int, error) {
	n, err := c.Reader.Pull(dst, tags)
	c.now = clock.Now()
	return n, err
}
