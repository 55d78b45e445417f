package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// errLateEmit is for code that emits when nobody can say any more of which item it is.
var errLateEmit = errors.New("flow: emit was called after the function had returned")

// expander calls a function that emits any number of results for an item into the edge behind it, while it runs.
type expander[T, U any] struct {
	call *Call[T, struct{}] // its results say only that a call has returned
	fn   func(context.Context, T, func(U) error) error
	in   Input[T]
	out  *Link[U]
	buf  chunkBuffer[T]
	end  error // what upstream reported behind the items at hand

	slots [maxChunk]struct{} // what call takes for results
	tags  []*Tag             // and for their tags, which are released before it sees them

	// turn is held by whoever emits, and to begin and end a call: emit may come from any goroutine, also when it is too late.
	// It is no mutex, because an emit waits for room. What follows it is guarded by it.
	turn   chan struct{}
	number int   // of the running call, or the next
	failed error // of an emit of the running call
	over   error // the edge has ended, or its user code has ended the run
	blamed bool  // that was about a value of the running call
	value  [1]U
	tag    [1]*Tag
}

// Expand makes w call fn for everything from in, and put what fn emits into the edge, which has no other producer.
func Expand[T, U any](w *Worker, st *Stage, in Input[T], out *Link[U], fn func(context.Context, T, func(U) error) error, h Handling) {
	x := &expander[T, U]{fn: fn, in: in, out: out, buf: chunkBuffer[T]{tagged: in.Tagged}, turn: make(chan struct{}, 1)}
	x.call = NewCall(w, st, x.one, h)
	if in.Tagged {
		x.tags = make([]*Tag, maxChunk)
	}
	out.Feed(w)
	w.Body(x.run, x.leave)
}

func (x *expander[T, U]) run() error {
	w := x.call.W
	for {
		if err := x.work(); err != nil {
			return err
		}
		if x.end != nil {
			return x.end
		}
		room, err := x.out.Demand(w.Out, maxChunk, true)
		if err != nil {
			return err
		}
		values, tags := x.buf.room(room)
		n, err := x.in.Pull(values, tags)
		x.end = err
		if n > 0 {
			x.call.Load(values[:n], Cut(tags, 0, min(n, len(tags))))
			x.buf.used(w, n)
		}
	}
}

// work does the items at hand. It is Call.Run for calls whose results are somewhere else.
func (x *expander[T, U]) work() error {
	c := x.call
	for c.Rest() > 0 {
		c.out, c.outTags, c.made = x.slots[:], x.tags, 0
		c.unpack()
		err := c.pending
		if err == nil {
			err = c.pass()
		}
		if err == nil {
			continue
		}
		if x.over != nil { // no matter of a decision
			if x.blamed {
				_ = c.fail(x.over)
			}
			return x.over
		}
		c.pending = err
		if err = c.settle(err); err != nil {
			return err
		}
		c.pending = nil
	}
	return nil
}

// one calls fn for the item in[at] of the call. The item's own share ends with it, where it has gone well.
func (x *expander[T, U]) one(ctx context.Context, v T) (none struct{}, err error) {
	number := x.begin()
	closed := false
	defer func() {
		if !closed { // a panic, or Goexit
			_ = x.close()
		}
	}()
	err = x.fn(ctx, v, func(u U) error { return x.emit(ctx, number, u) })
	closed = true
	if failed := x.close(); err == nil {
		err = failed
	}
	if tag := x.call.tag(); err == nil && tag != nil {
		x.call.inTags[x.call.at] = nil
		tag.Release(stage.Outcome{})
	}
	return none, err
}

// begin opens a call, and returns its number.
func (x *expander[T, U]) begin() int {
	x.turn <- struct{}{}
	defer func() { <-x.turn }()
	x.failed = nil
	return x.number
}

// close ends a call, behind an emit in another goroutine. It returns the error of an emit.
func (x *expander[T, U]) close() error {
	x.turn <- struct{}{}
	defer func() { <-x.turn }()
	x.number++
	return x.failed
}

// emit puts one value into the edge for the call with this number. The wait for room ends with ctx, and so does that for another
// goroutine which waits for room.
func (x *expander[T, U]) emit(ctx context.Context, number int, u U) error {
	x.turn <- struct{}{}
	defer func() { <-x.turn }()
	if x.number != number {
		return errLateEmit
	}
	return x.put(ctx, u)
}

// put takes a share of the item for the value, and hands it to the edge.
func (x *expander[T, U]) put(ctx context.Context, u U) (err error) {
	w, tag := x.call.W, x.call.tag()
	tag.Share(1)
	x.value[0], x.tag[0] = u, tag
	err = stage.ErrGoexit // in the edge's user code, where Put does not return
	defer func() {
		if err != nil {
			err = x.refused(ctx, err)
			x.failed = cmp.Or(x.failed, err)
		}
		if w.Out.Took == 0 {
			tag.Release(stage.Outcome{}) // nothing was made of the item: how it ends is a matter of its own share
		}
		clear(x.value[:])
		x.tag[0] = nil
	}()
	if _, err = x.out.Put(w.Out, x.value[:], plain(x.tag[:], x.out.Tagged), ctx.Done()); err == nil {
		x.call.Stage.Count(0, 1)
	}
	return err
}

// refused returns the error of an emit whose value the edge refused with err. That may be a matter of the item. The end of the
// edge, or of the run, is not, whatever the function makes of it; but the item may be to blame.
func (x *expander[T, U]) refused(ctx context.Context, err error) error {
	w := x.call.W
	gone := w.Gone()
	wrong := queue.WrongItem(err)
	_, full := errors.AsType[*queue.FullError](err)
	switch {
	case gone == nil && (full || wrong):
		return &stage.Error{Stage: w.last(), Err: err}
	case gone == nil && err == queue.ErrGaveUp:
		return context.Cause(ctx)
	case err == stage.ErrGoexit: //nolint:errorlint // put's own
		wrong = w.Out.Took == 0
		err = &stage.Error{Stage: x.out.info.Name, Err: err}
	}
	x.over, x.blamed = cmp.Or(gone, err), wrong
	return x.over
}

func (x *expander[T, U]) leave() {
	x.call.GiveBack()
	x.buf.abandon(x.call.W)
	x.in.Leave()
}
