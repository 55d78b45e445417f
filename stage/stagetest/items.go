package stagetest

import (
	"context"
	"io"

	"github.com/weir-go/weir/stage"
)

// Values returns src as a [stage.Source] of its values, for [TestSource]: an ItemSource keeps the rules of Source.
//
//	Ownership:   each item settles as done when it is handed out. Close closes src where that is an io.Closer.
//	Concurrency: as src.
func Values[T any](src stage.ItemSource[T]) stage.Source[T] {
	v := values[T]{src}
	if c, ok := src.(io.Closer); ok {
		return struct {
			values[T]
			io.Closer
		}{v, c}
	}
	return v
}

type values[T any] struct{ src stage.ItemSource[T] }

func (s values[T]) Pull(ctx context.Context, dst []T) (int, error) {
	items := make([]stage.Item[T], cap(dst)) // as much as dst, so that what is written behind its end is seen
	for i, v := range dst[:cap(dst)] {
		items[i].Value = v
	}
	n, err := s.src.PullItems(ctx, items[:len(dst)])
	for i := range items {
		dst[:cap(dst)][i] = items[i].Value
		if i < min(n, len(dst)) {
			stage.TagOf(items[i]).Release(stage.Outcome{})
		}
	}
	return n, err
}

// Items returns sink as a [stage.Sink] of values, for [TestSink]: an ItemSink keeps the rules of Sink. The items have no metadata.
//
//	Ownership:   Close closes sink where that is an io.Closer.
//	Concurrency: as sink.
func Items[T any](sink stage.ItemSink[T]) stage.Sink[T] {
	i := items[T]{sink}
	if c, ok := sink.(io.Closer); ok {
		return struct {
			items[T]
			io.Closer
		}{i, c}
	}
	return i
}

type items[T any] struct{ sink stage.ItemSink[T] }

func (s items[T]) Push(ctx context.Context, vs []T) error {
	own := make([]stage.Item[T], len(vs))
	for i, v := range vs {
		own[i].Value = v
	}
	err := s.sink.PushItems(ctx, own)
	for i := range own {
		vs[i] = own[i].Value
	}
	return err
}
