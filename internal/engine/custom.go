package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/weir-go/weir/internal/claim"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// custom runs a user's stage, which reads items one by one from an edge and emits them into another.
type custom[A, B any] struct {
	Fused
	in  Input[A]
	out *Link[B]
	run stage.Stage[A, B]

	ahead  int // the most items taken at a time
	buf    Buffer[A]
	values []A // taken, not yet handed to the stage
	tags   []*Tag
	end    error

	input   atomic.Pointer[stage.In[A]] // what the stage reads from
	lost    bool                        // an edge refused what it emitted of the current item, which is counted as that
	counted bool                        // an item has failed, and is counted
}

// Custom makes w run the stage between the edge it reads from and the one behind it.
func Custom[A, B any](w *Worker, st *Stage, in *Link[A], out *Link[B], user stage.Stage[A, B]) {
	c := &custom[A, B]{in: ReadEdge(w, in), out: out, run: user, ahead: sharedChunk}
	c.Fused = NewFused(w, st)
	w.hides = c.hides
	out.Feed(w)
	w.Body(c.body, c.leave)
}

func (c *custom[A, B]) body() error {
	in := stage.NewIn(c.next)
	c.input.Store(in)
	finished := false
	outcome := stage.Outcome{Kind: stage.Failed, Err: stage.ErrGoexit}
	defer func() {
		if !finished {
			c.finish(in, outcome)
			c.W.blamed = true
		}
	}()
	err := c.call(in)
	finished = true
	if err == stage.ErrEnd {
		err = nil
	}
	outcome = stage.Outcome{}
	if err != nil {
		outcome = c.failed(err)
	}
	kept := c.finish(in, outcome)
	switch {
	case c.W.Gone() != nil:
		return c.W.Gone()
	case err != nil:
		return failure(c.Stage.Name, err, nil)
	case kept > 0:
		return &stage.Error{Stage: c.Stage.Name, Err: fmt.Errorf("it returned holding %d items", kept)}
	}
	return stage.ErrEnd
}

// finish ends what the stage has, and counts it where that is not the stage's own doing. It returns how many items it kept.
func (c *custom[A, B]) finish(in *stage.In[A], o stage.Outcome) int {
	current, kept := stage.Held(in)
	if c.lost || o.Kind == stage.Done {
		current = 0
	}
	c.count(current, o)
	c.count(kept, claim.GivenBack(o.Err))
	return in.Finish(o)
}

// count counts n items that ended with o.
func (c *custom[A, B]) count(n int, o stage.Outcome) {
	switch {
	case n == 0:
	case o.GivenBack:
		c.W.run.report.givenBack.Add(int64(n))
	default:
		c.counted = true
		c.Stage.Failed.Add(int64(n))
		c.W.run.report.failed.Add(int64(n))
	}
}

// failed is how the item ends that the stage had when it returned err.
func (c *custom[A, B]) failed(err error) stage.Outcome {
	gone := c.W.Gone()
	switch {
	case gone == ErrLeft, errors.Is(err, ErrLeft):
		return claim.GivenBack(ErrLeft)
	case gone != nil && (errors.Is(err, gone) || errors.Is(err, context.Canceled)):
		return claim.GivenBack(gone)
	}
	return stage.Outcome{Kind: stage.Failed, Err: err}
}

// hides reports whether the stage keeps items, which any goroutine may end.
func (c *custom[A, B]) hides() bool {
	in := c.input.Load()
	return in != nil && stage.Keeps(in)
}

// call runs the user's code.
func (c *custom[A, B]) call(in *stage.In[A]) (err error) {
	defer c.Guard(&err)
	c.W.active.Store(c.Stage)
	return c.run.Run(c.W.Context(), in, stage.NewOut(c.emit))
}

// next hands one item to the stage.
func (c *custom[A, B]) next(ctx context.Context) (stage.Item[A], error) {
	var none stage.Item[A]
	c.lost = false
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	if len(c.values) == 0 {
		if c.end != nil {
			return none, c.end
		}
		values, tags := c.buf.Room(c.ahead, c.in.Tagged)
		n, err := c.in.Pull(values, tags)
		c.values, c.tags, c.end = values[:n], Cut(tags, 0, min(n, len(tags))), err
		if n == 0 {
			return none, err
		}
	}
	var t *Tag
	if c.tags != nil {
		t, c.tags[0], c.tags = c.tags[0], nil, c.tags[1:]
	}
	v := c.values[0]
	clear(c.values[:1])
	c.values = c.values[1:]
	c.Stage.Count(1, 0)
	return stage.Tagged(v, t), nil
}

// emit puts one item into the edge behind the stage.
func (c *custom[A, B]) emit(ctx context.Context, it stage.Item[B]) error {
	values, tags := [1]B{it.Value}, [1]*Tag{stage.TagOf(it)}
	outcome := stage.Outcome{Kind: stage.Failed, Err: stage.ErrGoexit} // in the edge's user code, where Put does not return
	defer func() {
		if c.W.Out.Took == 0 {
			tags[0].Release(outcome)
			c.lost = true
			c.count(1, outcome)
		}
	}()
	took, err := c.out.Put(c.W.Out, values[:], plain(tags[:], c.out.Tagged), ctx.Done())
	if took == 0 {
		outcome = refused(err)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return edgeError(c.W, err)
	}
	c.Stage.Count(0, 1)
	return nil
}

// refused is how an item ends that an edge did not take because of err.
func refused(err error) stage.Outcome {
	if queue.WrongItem(err) {
		return stage.Outcome{Kind: stage.Failed, Err: err}
	}
	return claim.GivenBack(err)
}

func (c *custom[A, B]) leave() {
	c.GiveBack(len(c.values), c.tags)
	c.values, c.tags = nil, nil
	c.in.Leave()
}
