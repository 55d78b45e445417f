package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/weir-go/weir/internal/claim"
	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// maxIdlePulls is how many pulls in a row may return nothing before the source counts as broken.
const maxIdlePulls = 100

// sourceHead reads from a user's source.
type sourceHead[T any] struct {
	Fused
	plain stage.Source[T]     // one of
	items stage.ItemSource[T] // the two

	ctx      context.Context // ends with the worker, or when a drain begins
	cancel   context.CancelCauseFunc
	draining atomic.Bool
	limit    *exhaustible // nil where the source does not say when it gives no more
	buf      []stage.Item[T]
}

// ReadSource returns the head that reads from src.
func ReadSource[T any](w *Worker, st *Stage, src stage.Source[T]) Input[T] {
	if items, ok := src.(stage.ItemSource[T]); ok {
		return ReadItems(w, st, items)
	}
	h := &sourceHead[T]{Fused: NewFused(w, st), plain: src}
	h.register(src)
	return Input[T]{Reader: h}
}

// ReadItems returns the head that reads from src with metadata and claims.
func ReadItems[T any](w *Worker, st *Stage, src stage.ItemSource[T]) Input[T] {
	h := &sourceHead[T]{Fused: NewFused(w, st), items: src}
	h.register(src)
	return Input[T]{Reader: h, Tagged: true, Claims: true}
}

func (h *sourceHead[T]) register(src any) {
	h.Stage.pulling = true
	h.W.run.Register(SourcePart, h.Stage.Name, src)
	h.W.run.OnDrain(h.drain)
	if x, ok := src.(stage.Exhauster); ok {
		_, follows := src.(stage.Follower)
		draining := func() bool { return h.draining.Load() || h.ctx.Err() != nil }
		h.limit = &exhaustible{Exhauster: x, w: h.W, name: h.Stage.Name, follows: follows, draining: draining}
		h.W.run.spots = append(h.W.run.spots, h.limit)
	}
	h.W.quits = append(h.W.quits, func() { h.cancel(h.W.Cause()) })
	h.W.opens = append(h.W.opens, func() { h.ctx, h.cancel = context.WithCancelCause(h.W.parent) })
}

// drain makes the next pull the end of the stream, and ends one that is waiting: at once, or when a [stage.Follower] is no longer fed.
func (h *sourceHead[T]) drain() {
	f, ok := h.items.(stage.Follower)
	if !ok {
		h.endNow()
		return
	}
	go func() {
		select {
		case <-f.Fed():
			h.endNow()
		case <-h.ctx.Done():
		}
	}()
}

func (h *sourceHead[T]) endNow() {
	h.draining.Store(true)
	h.cancel(errDrain)
}

// Pull implements [Reader].
func (h *sourceHead[T]) Pull(dst []T, tags []*Tag) (int, error) {
	for idle := 0; ; idle++ {
		now := clock.Now()
		k := h.W.granted(now, len(dst))
		if err := h.over(); err != nil {
			return 0, err
		}
		h.Stage.pulls.Start(now)
		n, err := h.call(now, dst[:k], tags)
		now = clock.Now()
		h.Stage.pulls.Stop(now)
		h.W.took(now, k, n)
		h.Stage.Count(0, n)
		if err != nil {
			err = h.translate(err)
		}
		if n, err = h.late(dst, tags, n, err); n > 0 || err != nil {
			return n, err
		}
		if idle == maxIdlePulls {
			return 0, h.broken("P5: it returned nothing and no error %d times in a row", maxIdlePulls)
		}
	}
}

// over returns why nothing more is to be pulled.
func (h *sourceHead[T]) over() error {
	if h.draining.Load() {
		return stage.ErrEnd
	}
	return h.W.Gone()
}

// call pulls once, at now.
func (h *sourceHead[T]) call(now int64, dst []T, tags []*Tag) (n int, err error) {
	defer h.Guard(&err)
	h.W.active.Store(h.Stage)
	if h.limit != nil {
		h.limit.begin(now)
		defer h.limit.waits.end()
	}
	if h.items == nil {
		n, err = h.plain.Pull(h.ctx, dst)
	} else {
		n, err = h.pullItems(dst, tags)
	}
	if n < 0 || n > len(dst) {
		return 0, h.broken("P1: it returned %d for a demand of %d", n, len(dst))
	}
	return n, err
}

// pullItems takes items apart.
func (h *sourceHead[T]) pullItems(dst []T, tags []*Tag) (int, error) {
	if len(dst) > len(h.buf) {
		h.buf = make([]stage.Item[T], len(dst))
	}
	n, err := h.items.PullItems(h.ctx, h.buf[:len(dst)])
	if n < 0 || n > len(dst) {
		return n, err
	}
	for i, it := range h.buf[:n] {
		dst[i], tags[i] = it.Value, stage.TagOf(it)
	}
	clear(h.buf[:n])
	return n, err
}

func (h *sourceHead[T]) broken(format string, args ...any) error {
	return &stage.Error{Stage: h.Stage.Name, Err: fmt.Errorf("the source breaks rule "+format, args...)}
}

// translate makes a clean end of an interruption that the engine caused, and an error of the stage of everything else.
func (h *sourceHead[T]) translate(err error) error {
	if err == stage.ErrEnd {
		return err
	}
	if h.ctx.Err() != nil && (errors.Is(err, context.Cause(h.ctx)) || errors.Is(err, context.Canceled)) {
		if gone := h.W.Gone(); gone != nil {
			return gone
		}
		return stage.ErrEnd
	}
	if _, ok := errors.AsType[*stage.Error](err); ok {
		return err
	}
	return &stage.Error{Stage: h.Stage.Name, Err: err}
}

// late gives back the items with a claim that arrived after a drain had begun. Plain ones can't be given back: they pass.
func (h *sourceHead[T]) late(dst []T, tags []*Tag, n int, err error) (int, error) {
	if n == 0 || h.items == nil || !h.draining.Load() {
		return n, err
	}
	h.W.run.report.givenBack.Add(int64(n))
	for i := range n {
		tags[i].Release(claim.GivenBack(errDrain))
	}
	Clear(dst[:n], tags[:n])
	if err == nil {
		err = stage.ErrEnd
	}
	return 0, err
}

// Leave implements [Reader].
func (h *sourceHead[T]) Leave() {
	if h.cancel != nil {
		h.cancel(queue.ErrLeft)
	}
}
