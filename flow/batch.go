package flow

import (
	"math"
	"time"

	"github.com/weir-go/weir/internal/claim"
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// Batch groups consecutive values into slices.
//
//	Shape:        T → []T, order kept; an edge in front, no goroutine of its own; holds at most n items.
//	Emits:        when n values are there, when maxWait has passed since it took the first of them, or at the
//	              end of the input, a drain included. It never emits without demand.
//	Backpressure: waits for downstream and pulls nothing meanwhile, so that its edge fills.
//	Ends:         emits the rest when upstream ends; gives it back when the run stops.
//	Errors:       none of its own. n < 1, n > 2147483647 and maxWait < 0 are build errors;
//	              maxWait 0 is no limit in time.
//	Ownership:    each slice is fresh and belongs to the receiver.
//	Claims:       a batch carries the claims of its items; its metadata is that of a group.
//
// A *stage.BatchError that a function returns for a batch, in TryMap, Parallel, ParallelByKey or ForEach behind it, is about the
// elements of the batch: see [OnError].
//
// For a sink that writes many rows at a time use To with [Gather] instead: then errors and claims stay with the rows.
func (f Flow[T]) Batch[S interface{ []T }](n int, maxWait time.Duration, opts ...StepOption) Flow[S] {
	nd := stepNode("batch", f, opts)
	nd.check(n >= 1 && n <= math.MaxInt32, argument("size", "1 to 2147483647", n))
	return newBatch[T, S](f, nd, int64(n), nil, maxWait)
}

// BatchWeight groups consecutive values into slices of a total weight up to limit. An item weighs what weight says, at
// least 1, so that a batch has at most that many items; one that is heavier is a batch of its own.
//
//	Shape:        T → []T, order kept; an edge in front, no goroutine of its own; holds up to limit items: a
//	              batch, and what it took from its edge together with the end of that.
//	Emits:        when the next item would exceed limit, when limit is reached, and otherwise as Batch does.
//	Backpressure: as for Batch.
//	Ends:         as for Batch.
//	Errors:       a negative weight and a panic in weight stop the run. limit < 1, maxWait < 0 and a nil weight are
//	              build errors.
//	Ownership:    as for Batch.
//	Claims:       as for Batch.
func (f Flow[T]) BatchWeight[S interface{ []T }](limit int64, weight func(T) int64, maxWait time.Duration, opts ...StepOption) Flow[S] {
	nd := stepNode("batchweight", f, opts)
	nd.check(limit >= 1, argument("limit", ">= 1", limit))
	nd.check(weight != nil, "weight must not be nil")
	return newBatch[T, S](f, nd, limit, weight, maxWait)
}

func newBatch[T any, S interface{ []T }](f Flow[T], nd *node, limit int64, weight func(T) int64, maxWait time.Duration) Flow[S] {
	nd.check(maxWait >= 0, argument("maxWait", ">= 0", maxWait))
	nd.lags = maxWait > 0
	if weight == nil {
		nd.gathering = int(limit)
	}
	nd.gathers = maxWait == 0 && (limit > 1 || weight != nil)
	if maxWait == 0 && weight == nil {
		nd.fills = int(limit)
	}
	up := f.node()
	return Flow[S]{&fused[S]{node: nd, read: func(b *build, w *engine.Worker) engine.Input[S] {
		in := engine.ReadEdge(w, front(b, up, nd))
		at := engine.NewFused(w, b.stage(nd))
		s := &batchStep[T, S]{Fused: at, in: engine.NewGatherer(at, in, max(limit, 1), weight, maxWait)}
		return engine.Input[S]{Reader: s, Stream: in.Stream}
	}}}
}

type batchStep[T any, S interface{ []T }] struct {
	engine.Fused
	in *engine.Gatherer[T]
}

// Pull implements engine.Reader. It makes one batch: a second one could keep the first waiting.
func (s *batchStep[T, S]) Pull(dst []S, tags []*engine.Tag) (int, error) {
	values, members, err := s.in.Collect()
	if err != nil {
		return 0, err
	}
	batch := make([]T, len(values))
	copy(batch, values)
	dst[0] = batch
	if tags != nil {
		tags[0] = group(members)
	}
	s.in.Drop()
	s.Stage.Count(len(batch), 1)
	return 1, nil
}

// group returns a tag that takes over the shares of tags; nil where none of them is there. A plain member counts as one with
// the zero Meta: it has no deadline and no key.
func group(tags []*engine.Tag) *engine.Tag {
	meta, tagged := stage.GroupMeta(tags)
	if !tagged {
		return nil
	}
	return claim.Derive(meta, tags...)
}

// Leave implements engine.Reader.
func (s *batchStep[T, S]) Leave() { s.in.Leave() }
