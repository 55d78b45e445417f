package stage

import "context"

// Discard returns a sink that takes everything and keeps nothing.
//
//	Errors:      none.
//	Concurrency: safe for concurrent use.
func Discard[T any]() Sink[T] { return discard[T]{} }

type discard[T any] struct{}

func (discard[T]) Push(context.Context, []T) error { return nil }
