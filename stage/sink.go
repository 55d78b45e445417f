package stage

import "context"

// Sink is where values go.
//
// Rules:
//
//	K1  Push takes all of items and returns nil, or returns an error; *[BatchError] says which of them failed, and the
//	    items it does not list were taken.
//	K2  Push is not called with an empty slice.
//	K3  Push does not change the slice, not even its order, and keeps neither it nor its memory; the values are its own.
//	K4  Once ctx is done Push returns soon, with the context's cause where it gave up.
//	K5  Push has one caller at a time unless flow.Workers says otherwise.
//	K6  Close, where there is one, may be called more than once, and comes after the last Push. It flushes, and its error counts.
//
// A sink that is also an io.Closer is closed once by the engine, after its last call.
type Sink[T any] interface {
	Push(ctx context.Context, items []T) error
}

// ItemSink is a [Sink] that also writes metadata, to message headers for example. The rules are those of Sink.
type ItemSink[T any] interface {
	PushItems(ctx context.Context, items []Item[T]) error
}

// PushSizer is what a [Sink] or an [ItemSink] may be as well, to say how many items it likes to get in one push when that many are
// waiting: because each push has a cost of its own, a round trip for example. It is asked once, when a run is built. 0 or
// less is no wish, and flow.Gather goes before a wish.
type PushSizer interface {
	PushSize() int
}

// SinkFunc makes a [Sink] of a function that keeps Sink's rules.
func SinkFunc[T any](fn func(ctx context.Context, items []T) error) Sink[T] {
	return sinkFunc[T](fn)
}

type sinkFunc[T any] func(context.Context, []T) error

func (fn sinkFunc[T]) Push(ctx context.Context, items []T) error { return fn(ctx, items) }

// ItemSinkFunc makes an [ItemSink] of a function that keeps its rules.
func ItemSinkFunc[T any](fn func(ctx context.Context, items []Item[T]) error) ItemSink[T] {
	return itemSinkFunc[T](fn)
}

type itemSinkFunc[T any] func(context.Context, []Item[T]) error

func (fn itemSinkFunc[T]) PushItems(ctx context.Context, items []Item[T]) error {
	return fn(ctx, items)
}
