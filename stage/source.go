package stage

import (
	"context"
	"errors"
)

// ErrEnd is what a source returns when its stream has ended. It is compared with ==: an error that wraps it is an error
// like any other, so that a decoder's wrapped end of file never passes for a clean end.
var ErrEnd = errors.New("stage: end of stream")

// Source is where values come from. It is read like an io.Reader: the length of dst is the demand.
//
// The rules that the engine relies on, and that stagetest.TestSource checks:
//
//	P1   0 <= n <= len(dst), and nothing is written past len(dst).
//	P2   dst[:n] holds the next values in order; what is behind them has no meaning.
//	P3   n > 0 may come with an error; the n values count first.
//	P4   ErrEnd and other final errors repeat on every later call, without touching the outside.
//	P5   (0, nil) is returned only for an empty dst.
//	P6   An empty dst consumes nothing.
//	P7   Once ctx is done Pull returns within 100 ms with the context's cause. No value is lost: a later call with
//	     another context goes on where this one stopped. A cancelled context is not the end of the stream.
//	P8   dst is not kept after Pull has returned.
//	P9   Pull has one caller at a time; it need not be safe for concurrent use.
//	P10  Close, where there is one, may be called more than once, and comes after the last Pull.
//	P11  The source reads no more from the outside than it hands out, plus a prefetch that it documents.
//	P12  A panic is a final error of the source.
//
// Pull waits for the first value only; it returns what it has instead of waiting for a second one.
//
// A source that is also an io.Closer is closed once by the engine, after its last call. Nothing of it runs on behind Close;
// where it has none, behind the end.
type Source[T any] interface {
	Pull(ctx context.Context, dst []T) (n int, err error)
}

// ItemSource is a [Source] that knows metadata or wants to be told how each item ended. The rules are those of Source,
// with PullItems for Pull.
type ItemSource[T any] interface {
	PullItems(ctx context.Context, dst []Item[T]) (n int, err error)
}

// SourceFunc makes a [Source] of a function that keeps Source's rules.
func SourceFunc[T any](fn func(ctx context.Context, dst []T) (int, error)) Source[T] {
	return sourceFunc[T](fn)
}

type sourceFunc[T any] func(context.Context, []T) (int, error)

func (fn sourceFunc[T]) Pull(ctx context.Context, dst []T) (int, error) { return fn(ctx, dst) }

// ItemSourceFunc makes an [ItemSource] of a function that keeps its rules.
func ItemSourceFunc[T any](fn func(ctx context.Context, dst []Item[T]) (int, error)) ItemSource[T] {
	return itemSourceFunc[T](fn)
}

type itemSourceFunc[T any] func(context.Context, []Item[T]) (int, error)

func (fn itemSourceFunc[T]) PullItems(ctx context.Context, dst []Item[T]) (int, error) {
	return fn(ctx, dst)
}
