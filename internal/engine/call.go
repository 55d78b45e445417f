package engine

import (
	"context"
	"errors"
	"time"

	"github.com/weir-go/weir/stage"
)

// Call runs a user's function over the items of a chunk, one call each, and deals with what goes wrong. It belongs to one
// worker; its state survives a Goexit in the function.
type Call[T, U any] struct {
	Fused
	fn      func(context.Context, T) (U, error)
	h       Handling
	try     attempt
	patient bool // a decision may take long

	in      []T // the chunk; in[at:] is still to be done
	inTags  []*Tag
	at      int
	out     []U // results in the caller's memory; out[:made] is there
	outTags []*Tag
	made    int

	fault   fault
	pending error     // of in[at], not yet decided
	carry   Buffer[U] // results made before a Goexit, which ended the frames that were to have them
	carried int
}

// NewCall returns a Call for the stage st in w.
func NewCall[T, U any](w *Worker, st *Stage, fn func(context.Context, T) (U, error), h Handling) *Call[T, U] {
	c := &Call[T, U]{Fused: NewFused(w, st), fn: fn, h: h, patient: h.Breaker != nil || patient(h.Decisions)}
	c.try = newAttempt(c.Fused, &c.h)
	return c
}

// Load gives it a chunk. The last one is done.
func (c *Call[T, U]) Load(in []T, tags []*Tag) {
	c.in, c.inTags, c.at = in, tags, 0
	c.Stage.Count(len(in), 0)
}

// Rest returns how many items are still to be done.
func (c *Call[T, U]) Rest() int { return len(c.in) - c.at + c.carried }

// Run calls the function for the items that are left until all are done, out is full, or some results are there and the
// chunk has become slow. It returns how many results there are, and the error that ends the run.
func (c *Call[T, U]) Run(out []U, outTags []*Tag) (int, error) {
	c.out, c.outTags, c.made = out, outTags, 0
	c.unpack()
	for c.made < len(c.out) && c.at < len(c.in) {
		err := c.pending
		if err == nil {
			err = c.pass()
		}
		if err == nil {
			break
		}
		c.pending = err
		if c.made > 0 && c.patient {
			break // what is done does not wait for a decision that may take long
		}
		if err = c.settle(err); err != nil {
			return c.finish(err)
		}
		c.pending = nil
	}
	return c.finish(nil)
}

// finish hands the results over.
func (c *Call[T, U]) finish(err error) (int, error) {
	c.Stage.Count(0, c.made)
	n := c.made
	c.out, c.outTags, c.made = nil, nil, 0
	return n, err
}

// unpack delivers what was carried over a Goexit.
func (c *Call[T, U]) unpack() {
	if c.carried == 0 {
		return
	}
	c.made = min(c.carried, len(c.out))
	copy(c.out, c.carry.Values[:c.made])
	if c.outTags != nil {
		copy(c.outTags, c.carry.Tags[:c.made])
	}
	rest := c.carried - c.made
	copy(c.carry.Values, c.carry.Values[c.made:c.carried])
	copy(c.carry.Tags, c.carry.Tags[min(c.made, len(c.carry.Tags)):])
	c.carried = rest
}

// pass calls the function for one item after the other until one fails, which is in[at] then, or there is reason to stop.
func (c *Call[T, U]) pass() (err error) {
	began := c.Begin()
	whole := false
	from, made := c.at, c.made
	plain := c.inTags == nil && !c.try.on
	defer func() {
		if plain {
			c.made = made + c.at - from
			clear(c.in[from:c.at])
			if c.at > from {
				c.fault = fault{} // it was of the first of them
			}
		}
		if !whole {
			c.recovered(&err, recover())
		}
		c.End(began, 0, 0)
	}()
	if plain {
		err = c.run()
	} else {
		err = c.runTagged()
	}
	whole = true
	return err
}

// run is pass for items that need nothing but the call. It counts in at alone: this is the loop that costs.
func (c *Call[T, U]) run() error {
	in, out := c.in[c.at:], c.out[c.made:]
	for n := min(len(in), len(out)); n > 0; {
		k := min(n, lookEvery)
		if err := c.each(in[:k], out[:k]); err != nil {
			return err
		}
		if n -= k; n > 0 && c.W.slow() {
			break
		}
		in, out = in[k:], out[k:]
	}
	return nil
}

// each calls the function for the items of in.
func (c *Call[T, U]) each(in []T, out []U) error {
	fn, ctx, from := c.fn, c.W.Context(), c.at
	out = out[:len(in)]
	for i := range in {
		c.at = from + i // only stored: to count in memory would make each turn wait for the last
		u, err := fn(ctx, in[i])
		if err != nil {
			return err
		}
		out[i] = u
	}
	c.at = from + len(in)
	return nil
}

// runTagged is pass for items that have metadata, or something around their call. Results do not wait for the permit of the next call.
func (c *Call[T, U]) runTagged() error {
	for c.at < len(c.in) && c.made < len(c.out) && (c.try.limit == nil || c.made == 0) {
		u, err := c.one(c.in[c.at])
		if err != nil {
			return err
		}
		c.done(u)
		if c.at%lookEvery == 0 && c.W.slow() {
			break
		}
	}
	return nil
}

// recovered deals with a function that did not return: it panicked with p, or ended its goroutine.
func (c *Call[T, U]) recovered(err *error, p any) {
	if p != nil {
		*err = c.Stage.panicked(p)
		return
	}
	e := &stage.Error{Stage: c.Stage.Name, Err: stage.ErrGoexit}
	if len(c.h.Decisions) == 0 { // the worker reports it
		_ = c.fail(e)
		c.W.blamed = true
		return
	}
	c.pending = e
	c.W.resume = true
	values, tags := c.carry.Room(c.made, c.outTags != nil)
	copy(values, c.out[:c.made])
	if c.outTags != nil {
		copy(tags, c.outTags[:c.made])
		clear(c.outTags[:c.made])
	}
	c.carried = c.made
}

// one calls the function for one item, with what stands around the call.
func (c *Call[T, U]) one(v T) (u U, err error) {
	ctx, cancel := c.context()
	defer cancel()
	if !c.try.on {
		return c.fn(ctx, v)
	}
	defer c.try.end(ctx, &err)
	if ctx, err = c.try.begin(ctx, c.fault.calls > 0); err != nil {
		return u, err
	}
	err = errNoReturn
	return c.fn(ctx, v)
}

// context returns the context of in[at], with its metadata and its deadline.
func (c *Call[T, U]) context() (context.Context, context.CancelFunc) {
	ctx, t := c.W.Context(), c.tag()
	if t == nil {
		return ctx, noCancel
	}
	ctx = stage.WithMeta(ctx, t.Meta)
	if t.Meta.Deadline.IsZero() {
		return ctx, noCancel
	}
	return context.WithDeadline(ctx, t.Meta.Deadline)
}

func noCancel() {}

// done takes the result for in[at].
func (c *Call[T, U]) done(u U) {
	c.out[c.made] = u
	if c.inTags != nil {
		c.outTags[c.made], c.inTags[c.at] = c.inTags[c.at], nil
	}
	c.made++
	c.next()
}

// next goes on to the next item.
func (c *Call[T, U]) next() {
	var zero T
	c.in[c.at] = zero
	c.at++
	if c.fault.begun {
		c.fault = fault{}
	}
}

// settle decides about in[at], whose call failed with err. It returns the error that ends the run, nil if it goes on.
func (c *Call[T, U]) settle(err error) error {
	if gone := c.W.Gone(); gone != nil && (errors.Is(err, gone) || errors.Is(err, context.Canceled)) {
		return gone
	}
	tag := c.tag()
	c.fault.note(&c.try)
	if c.try.until = (time.Time{}); tag != nil {
		c.try.until = tag.Meta.Deadline
	}
	ds := c.h.Decisions
	var parts []part
	if !c.try.down {
		parts = c.parts(err)
	}
	if parts != nil {
		ds = retries(ds)
	}
	v := c.fault.decide(&c.try, ds, err, c.letters)
	switch v {
	case hold:
		c.hold()
		return nil
	case again:
		return nil
	case letGo:
		c.Stage.Skipped.Add(1)
		c.W.run.report.skipped.Add(1)
		tag.Release(stage.Outcome{})
		c.forget()
		return nil
	case cutOff:
		return c.W.Gone()
	case comesAgain, failed:
	}
	if c.W.unwanted() {
		return ErrLeft
	}
	if parts != nil {
		return c.apart(parts, err)
	}
	e := c.fail(err)
	if v == comesAgain {
		return nil
	}
	return e
}

// hold waits with in[at] until it is worth asking the breaker again, or the item's time is over.
func (c *Call[T, U]) hold() {
	ctx, cancel := c.context()
	defer cancel()
	c.try.await(ctx)
}

// fail ends in[at], which has failed with err. It returns the error of the stage.
func (c *Call[T, U]) fail(err error) error {
	c.Stage.Failed.Add(1)
	c.W.run.report.failed.Add(1)
	tag := c.tag()
	e := failure(c.Stage.Name, err, tag)
	tag.Release(stage.Outcome{Kind: stage.Failed, Err: e})
	c.forget()
	return e
}

// tag returns the tag of in[at].
func (c *Call[T, U]) tag() *Tag {
	if c.inTags == nil {
		return nil
	}
	return c.inTags[c.at]
}

// forget drops in[at], whose tag has been released.
func (c *Call[T, U]) forget() {
	if c.inTags != nil {
		c.inTags[c.at] = nil
	}
	c.next()
}

func (c *Call[T, U]) letters() []stage.DeadLetter {
	d := stage.DeadLetter{Value: c.in[c.at], Stage: c.Stage.Name}
	if t := c.tag(); t != nil {
		d.Meta = t.Meta
	}
	return []stage.DeadLetter{d}
}

// GiveBack gives back what is not done, and results that nobody fetched.
func (c *Call[T, U]) GiveBack() {
	c.W.giveBack(nil, len(c.in)-c.at, Cut(c.inTags, min(c.at, len(c.inTags)), len(c.inTags)))
	c.W.giveBack(nil, c.carried, Cut(c.carry.Tags, 0, min(c.carried, len(c.carry.Tags))))
	c.in, c.inTags, c.at, c.carried = nil, nil, 0, 0
}
