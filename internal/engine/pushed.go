package engine

import (
	"context"

	"github.com/weir-go/weir/stage"
)

// pushedHead reads from a source that holds values which were pushed to it. Stopping it is not the end of what it holds.
type pushedHead[T any] struct {
	sourceHead[T]
	cancel func()
}

// ReadPushed returns the head that reads from src. A drain calls cancel, which ends the stream behind what src holds, and so does
// the end of the worker.
func ReadPushed[T any](w *Worker, st *Stage, src stage.Source[T], cancel func()) Input[T] {
	h := &pushedHead[T]{Fused: NewFused(w, st), plain: src}
	h.cancel = func() {
		defer func() {
			if p := recover(); p != nil {
				w.run.Stop(Panicked(st.Name, p))
			}
		}()
		cancel()
	}
	st.pulling = true
	w.run.Register(SourcePart, st.Name, src)
	w.run.OnDrain(h.cancel)
	w.quits = append(w.quits, func() { h.sourceHead.cancel(w.Cause()) })
	w.opens = append(w.opens, func() { h.ctx, h.sourceHead.cancel = context.WithCancelCause(w.parent) })
	return Input[T]{Reader: h}
}

// Leave implements [Reader].
func (h *pushedHead[T]) Leave() {
	h.sourceHead.Leave()
	h.cancel()
}
