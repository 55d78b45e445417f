package engine

import (
	"cmp"
	"context"
	"errors"

	"github.com/weir-go/weir/stage"
)

// Outlet pushes chunks into a sink and deals with what goes wrong. It belongs to one worker; its state survives a Goexit in the
// sink.
type Outlet[T any] struct {
	Fused
	plain stage.Sink[T]     // one of
	items stage.ItemSink[T] // the two
	h     Handling
	try   attempt
	buf   []stage.Item[T]

	finish *Finish // nil where the sink does not want to know of the end

	values []T // the chunk
	tags   []*Tag
	todo   []span // parts of it still to be pushed, the next one last
}

// span is a part of a chunk. Its fault is kept over retries.
type span struct {
	from, to int
	split    bool  // a plain error halves it: it is part of a push that failed as a whole
	part     bool  // it was pushed before, with others
	err      error // it has been pushed and failed with this
	fault    fault
}

// NewOutlet returns an Outlet that pushes to sink, with metadata where the sink takes it.
func NewOutlet[T any](w *Worker, st *Stage, sink stage.Sink[T], h Handling) *Outlet[T] {
	if items, ok := sink.(stage.ItemSink[T]); ok {
		return NewItemOutlet(w, st, items, h)
	}
	w.run.Register(SinkPart, st.Name, sink)
	return newOutlet(&Outlet[T]{Fused: NewFused(w, st), plain: sink, h: h})
}

// NewItemOutlet returns an Outlet that pushes items to sink.
func NewItemOutlet[T any](w *Worker, st *Stage, sink stage.ItemSink[T], h Handling) *Outlet[T] {
	w.run.Register(SinkPart, st.Name, sink)
	return newOutlet(&Outlet[T]{Fused: NewFused(w, st), items: sink, h: h})
}

func newOutlet[T any](o *Outlet[T]) *Outlet[T] {
	o.try = newAttempt(o.Fused, &o.h)
	return o
}

// Load gives it a chunk. The last one is done.
func (o *Outlet[T]) Load(values []T, tags []*Tag) {
	o.values, o.tags = values, tags
	o.todo = append(o.todo[:0], span{from: 0, to: len(values)})
	o.Stage.Count(len(values), 0)
}

// Busy reports whether parts of the chunk are still to be pushed.
func (o *Outlet[T]) Busy() bool { return len(o.todo) > 0 }

// Run pushes the chunk. It returns the error that ends the run.
func (o *Outlet[T]) Run() error {
	for len(o.todo) > 0 {
		s := &o.todo[len(o.todo)-1]
		err := s.err
		if s.err = nil; err == nil {
			err = o.push(s)
		}
		if err == nil {
			o.done(s.from, s.to)
			o.todo = o.todo[:len(o.todo)-1]
			continue
		}
		if err = o.settle(s, err); err != nil {
			return err
		}
	}
	return nil
}

// push pushes one part.
func (o *Outlet[T]) push(s *span) (err error) {
	began := o.Begin()
	returned := false
	defer func() {
		if p := recover(); p != nil {
			err = o.Stage.panicked(p)
		} else if !returned {
			o.goexit(s)
		}
		o.End(began, 0, 0)
	}()
	err = o.one(s)
	returned = true
	return err
}

// goexit records that the push of a part has ended the goroutine: for the one that goes on, or for the worker to report.
func (o *Outlet[T]) goexit(s *span) {
	e := &stage.Error{Stage: o.Stage.Name, Err: stage.ErrGoexit}
	if len(o.h.Decisions) == 0 {
		_ = o.fail(s, e)
		o.W.blamed = true
		return
	}
	s.err = e
	o.W.resume = true
}

// one pushes one part, with what stands around the push.
func (o *Outlet[T]) one(s *span) (err error) {
	ctx := o.W.Context()
	if !o.try.on {
		return o.call(ctx, s)
	}
	defer o.try.end(ctx, &err)
	if ctx, err = o.try.begin(ctx, s.part || s.fault.calls > 0); err != nil {
		return err
	}
	err = errNoReturn
	return o.call(ctx, s)
}

func (o *Outlet[T]) call(ctx context.Context, s *span) error {
	values, tags := o.values[s.from:s.to], Cut(o.tags, min(s.from, len(o.tags)), min(s.to, len(o.tags)))
	if o.items == nil {
		return o.plain.Push(ctx, values)
	}
	o.buf = o.buf[:0]
	for i, v := range values {
		var t *Tag
		if tags != nil {
			t = tags[i]
		}
		o.buf = append(o.buf, stage.Tagged(v, t))
	}
	defer clear(o.buf)
	return o.items.PushItems(ctx, o.buf)
}

// done settles the items from to to as taken by the sink.
func (o *Outlet[T]) done(from, to int) {
	if from == to {
		return
	}
	o.Stage.Count(0, to-from)
	o.W.run.report.done.Add(int64(to - from))
	o.forget(from, to, stage.Outcome{})
}

// forget ends the items from to to with an outcome.
func (o *Outlet[T]) forget(from, to int, outcome stage.Outcome) {
	clear(o.values[from:to])
	if o.tags != nil {
		release(o.tags[from:to], outcome)
	}
}

// settle decides about a part whose push failed. It returns the error that ends the run.
func (o *Outlet[T]) settle(s *span, err error) error {
	whole := s.to-s.from > 1
	if bad, ok := errors.AsType[*stage.BatchError](err); ok && whole && o.apart(s, bad) {
		return nil // also in a push that was cut off: what it has stored is done
	}
	if gone := o.cutOff(err); gone != nil {
		return gone
	}
	s.fault.note(&o.try)
	whole = whole && !o.try.down // what the breaker is to blame for is about all of it alike
	if whole && s.split {
		o.halve(s)
		return nil
	}
	ds := o.h.Decisions
	if whole {
		ds = retries(ds)
	}
	switch s.fault.decide(&o.try, ds, itemError(err), func() []stage.DeadLetter { return o.letters(s) }) {
	case hold:
		o.try.await(o.W.Context())
		return nil
	case comesAgain:
		_ = o.fail(s, err)
		return nil
	case again:
		return nil
	case letGo:
		o.letGo(s)
		return nil
	case cutOff:
		return o.W.Gone()
	case failed:
	}
	if whole && !o.h.Once && lenient(o.h.Decisions, err) {
		if gone := o.W.Gone(); gone != nil {
			return gone
		}
		o.halve(s)
		return nil
	}
	return o.fail(s, err)
}

// cutOff returns why the worker is to end, if that is what a push has failed with, and nil otherwise.
func (o *Outlet[T]) cutOff(err error) error {
	if gone := o.W.Gone(); gone != nil && (errors.Is(err, gone) || errors.Is(err, context.Canceled)) {
		return gone
	}
	return nil
}

// letGo ends a part that a decision has dealt with.
func (o *Outlet[T]) letGo(s *span) {
	n := s.to - s.from
	o.Stage.Skipped.Add(int64(n))
	o.W.run.report.skipped.Add(int64(n))
	o.forget(s.from, s.to, stage.Outcome{})
	o.todo = o.todo[:len(o.todo)-1]
}

// fail ends a part, the next one, whose items have failed with err. It returns the error of the stage.
func (o *Outlet[T]) fail(s *span, err error) error {
	e := o.lose(s, err)
	o.todo = o.todo[:len(o.todo)-1]
	return e
}

// lose ends the items of a part, which have failed with err.
func (o *Outlet[T]) lose(s *span, err error) error {
	n := s.to - s.from
	o.Stage.Failed.Add(int64(n))
	o.W.run.report.failed.Add(int64(n))
	var t *Tag
	if o.tags != nil {
		t = o.tags[s.from]
	}
	e := failure(o.Stage.Name, itemError(err), t)
	o.forget(s.from, s.to, stage.Outcome{Kind: stage.Failed, Err: e})
	return e
}

// retries returns the decisions that apply to a whole push: those before the first that would let items go.
func retries(ds []Decision) []Decision {
	for i := range ds {
		if ds[i].Action.goesOn() {
			return ds[:i]
		}
	}
	return ds
}

// lenient reports whether some decision lets single items go.
func lenient(ds []Decision, err error) bool {
	for i := range ds {
		d := &ds[i]
		if d.Match != nil && !d.Match(err) {
			continue
		}
		if d.Action == Stop {
			return false
		}
		if d.Action.goesOn() {
			return true
		}
	}
	return false
}

// halve replaces a part by its two halves, so that in the end only items are affected that fail alone.
func (o *Outlet[T]) halve(s *span) {
	from, to := s.from, s.to
	mid := from + (to-from)/2
	o.todo[len(o.todo)-1] = span{from: mid, to: to, part: true, split: mid+1 < to}
	o.todo = append(o.todo, span{from: from, to: mid, part: true, split: from+1 < mid})
}

// apart replaces a part by the items that the sink says have failed; all others were taken. It reports false if the error
// does not make sense.
func (o *Outlet[T]) apart(s *span, bad *stage.BatchError) bool {
	n := s.to - s.from
	failed := make(map[int]error, len(bad.Items))
	for _, it := range bad.Items {
		if it.Index < 0 || it.Index >= n {
			return false
		}
		failed[it.Index] = cmp.Or(it.Err, error(bad))
	}
	if len(failed) == 0 {
		return false
	}
	from := s.from
	o.try.down = false // the sink has answered
	o.todo = o.todo[:len(o.todo)-1]
	for i := n - 1; i >= 0; i-- {
		if err, ok := failed[i]; ok {
			o.todo = append(o.todo, span{from: from + i, to: from + i + 1, part: true, err: err})
		} else {
			o.done(from+i, from+i+1)
		}
	}
	return true
}

// itemError returns the cause in a BatchError about a single item.
func itemError(err error) error {
	if bad, ok := errors.AsType[*stage.BatchError](err); ok && len(bad.Items) == 1 {
		return bad.Items[0].Err
	}
	return err
}

func (o *Outlet[T]) letters(s *span) []stage.DeadLetter {
	ds := make([]stage.DeadLetter, 0, s.to-s.from)
	for i := s.from; i < s.to; i++ {
		d := stage.DeadLetter{Value: o.values[i], Stage: o.Stage.Name}
		if o.tags != nil && o.tags[i] != nil {
			d.Meta = o.tags[i].Meta
		}
		ds = append(ds, d)
	}
	return ds
}

// GiveBack gives back what was not pushed. What the sink has refused has failed where there is no decision to ask.
func (o *Outlet[T]) GiveBack() {
	for i := range o.todo {
		s := &o.todo[i]
		if s.err != nil && len(o.h.Decisions) == 0 && o.cutOff(s.err) == nil {
			_ = o.lose(s, s.err)
			continue
		}
		o.W.giveBack(nil, s.to-s.from, Cut(o.tags, min(s.from, len(o.tags)), min(s.to, len(o.tags))))
	}
	o.todo = o.todo[:0]
}
