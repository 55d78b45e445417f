package stage

import (
	"context"
	"errors"
	"iter"

	"github.com/weir-go/weir/internal/claim"
)

// Stage is the escape hatch: a processor with a goroutine and a loop of its own, that sees items and not only values.
// Run reads from in until [ErrEnd], emits to out, and returns nil; an error stops the pipeline.
//
// An item belongs to the stage until it asks for the next one or returns: then it settles as done where Run goes on or
// returns nil, as failed where Run returns an error. What it derives from an item with With takes a share of the claim when
// it is emitted. Items needed for longer are kept with [In.Keep].
type Stage[A, B any] interface {
	Run(ctx context.Context, in *In[A], out *Out[B]) error
}

// StageFunc makes a [Stage] of a function.
func StageFunc[A, B any](fn func(ctx context.Context, in *In[A], out *Out[B]) error) Stage[A, B] {
	return stageFunc[A, B](fn)
}

type stageFunc[A, B any] func(context.Context, *In[A], *Out[B]) error

func (fn stageFunc[A, B]) Run(ctx context.Context, in *In[A], out *Out[B]) error {
	return fn(ctx, in, out)
}

// In is the input of a [Stage]. It belongs to the goroutine that runs the stage.
type In[T any] struct {
	next func(context.Context) (Item[T], error)
	cur  Item[T]
	has  bool // cur is an item
	kept keeper
}

// NewIn returns an input that gets its items from next. The engine makes these; tests of a stage may, too.
func NewIn[T any](next func(ctx context.Context) (Item[T], error)) *In[T] {
	return &In[T]{next: next}
}

// Next waits for an item. It returns [ErrEnd] at the end of the stream. The item is the stage's until the next call.
func (in *In[T]) Next(ctx context.Context) (Item[T], error) {
	in.release(Outcome{})
	it, err := in.next(ctx)
	if err != nil {
		return Item[T]{}, err
	}
	if it.tag != nil {
		in.kept.now.kept = &in.kept
		it.hold, it.turn = &in.kept.now, in.kept.turn
	}
	in.cur, in.has = it, true
	return it, nil
}

// All ranges over the items up to the end. An error is the last pair; a clean end just ends the loop.
func (in *In[T]) All(ctx context.Context) iter.Seq2[Item[T], error] {
	return func(yield func(Item[T], error) bool) {
		for {
			it, err := in.Next(ctx)
			if err == ErrEnd {
				return
			}
			if !yield(it, err) || err != nil {
				return
			}
		}
	}
}

// Keep makes the current item the stage's own beyond the next call of Next. It must then be ended exactly once, with Done,
// Fail or [Combine], before Run returns: what is kept at that moment is given back, and the run fails. An item that is not the
// stage's any more, because Next has been called since, can't be kept: that is a panic, which stops the run as all do.
func (in *In[T]) Keep(it Item[T]) Item[T] {
	if !it.live() {
		panic("stage: Keep: the item is over: Next has been called since, or it has been ended")
	}
	it.hold = in.kept.keep(it.tag)
	return it
}

// release ends the current item.
func (in *In[T]) release(o Outcome) {
	t := in.cur.tag
	in.cur, in.has = Item[T]{}, false
	in.kept.turn++
	t.Release(o)
}

// Finish ends the input: the current item settles with o, and everything still kept is given back. It returns how many items
// were kept. The engine calls it when Run has returned.
func (in *In[T]) Finish(o Outcome) int {
	in.release(o)
	return in.kept.releaseAll(claim.GivenBack(o.Err))
}

// Out is the output of a [Stage]. It belongs to the goroutine that runs the stage.
type Out[T any] struct {
	emit func(context.Context, Item[T]) error
}

// NewOut returns an output that hands its items to emit. The engine makes these; tests of a stage may, too.
func NewOut[T any](emit func(ctx context.Context, it Item[T]) error) *Out[T] {
	return &Out[T]{emit: emit}
}

// errOver is what Emit says of an item that it has no share of.
var errOver = errors.New("stage: Emit: the item is over: it was not kept beyond the next call of Next, or has been ended or emitted, " +
	"or was combined of one to which that applies")

// Emit hands an item on and waits for room where there is none. It takes a share of the item's claim of its own; a combined
// item's claim goes with it, and so it is emitted once. An item that is not the stage's any more is not handed on, and that is an
// error.
func (out *Out[T]) Emit(ctx context.Context, it Item[T]) error {
	switch h := it.hold; {
	case h == nil:
		it.tag.Share(1)
	case h.combined: // the share that Combine made goes along
		if it.tag = h.take(); it.tag == nil {
			return errOver
		}
		h.forget()
		if h.lacks {
			it.tag.Release(Outcome{Kind: Failed, Err: errOver})
			return errOver
		}
	case !it.live():
		return errOver
	default:
		it.tag.Share(1)
	}
	it.hold = nil
	return out.emit(ctx, it)
}
