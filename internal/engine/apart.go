package engine

import (
	"cmp"
	"errors"
	"reflect"
	"slices"

	"github.com/weir-go/weir/stage"
)

// part is an element of a batch that a function has refused.
type part struct {
	index int
	value any
	err   error
	tag   *Tag // of the item that the element was, nil for a plain one
}

// parts returns the elements of in[at] that err, a *stage.BatchError, is about: where the item is a slice made of as many items as
// it has elements. Otherwise it returns nil, and the error is about the item as a whole.
//
// The engine does not know the type of a batch, only flow.Batch does. Reflection finds the elements, here where a call has failed
// and nowhere else; their claims are those that the batch's tag was derived from, in the same order.
func (c *Call[T, U]) parts(err error) []part {
	bad, ok := errors.AsType[*stage.BatchError](err)
	if !ok {
		return nil
	}
	batch := reflect.ValueOf(&c.in[c.at]).Elem()
	if batch.Kind() != reflect.Slice {
		return nil
	}
	t := c.tag()
	members := t.Members()
	if t != nil && len(members) != batch.Len() {
		return nil
	}
	parts := make([]part, 0, len(bad.Items))
	for _, it := range bad.Items {
		if it.Index < 0 || it.Index >= batch.Len() {
			return nil
		}
		p := part{index: it.Index, value: batch.Index(it.Index).Interface(), err: cmp.Or(it.Err, err)}
		if members != nil {
			p.tag = members[it.Index]
		}
		parts = append(parts, p)
	}
	slices.SortFunc(parts, func(a, b part) int { return a.index - b.index })
	parts = slices.CompactFunc(parts, func(a, b part) bool { return a.index == b.index })
	if len(parts) == 0 {
		return nil
	}
	return parts
}

// apart ends the batch in[at]: the decisions are asked about each part, what is no part is done. It returns the error that ends the
// run, nil if it goes on.
func (c *Call[T, U]) apart(parts []part, err error) error {
	ds := slices.DeleteFunc(slices.Clone(c.h.Decisions), func(d Decision) bool { return d.Action == Retry })
	ends := make([]stage.Outcome, len(parts))
	var lost int64
	var stops bool
	for i, p := range parts {
		f := fault{calls: c.fault.calls}
		switch v := f.decide(&c.try, ds, p.err, func() []stage.DeadLetter { return c.partLetter(p) }); v {
		case letGo:
		case cutOff:
			return c.W.Gone() // given back as a whole; letters that are stored will be stored again
		case comesAgain, failed, again, hold: // not again: there is no Retry
			lost++
			stops = stops || v != comesAgain
			ends[i] = stage.Outcome{Kind: stage.Failed, Err: failure(c.Stage.Name, p.err, p.tag)}
		}
	}
	skipped := int64(len(parts)) - lost
	c.Stage.Skipped.Add(skipped)
	c.W.run.report.skipped.Add(skipped)
	c.Stage.Failed.Add(lost)
	c.W.run.report.failed.Add(lost)
	t := c.tag()
	for i, p := range parts {
		if t != nil {
			t.Blame(p.index, ends[i])
		}
	}
	var e error
	if stops {
		e = failure(c.Stage.Name, err, t)
	}
	t.Release(stage.Outcome{})
	c.forget()
	return e
}

func (c *Call[T, U]) partLetter(p part) []stage.DeadLetter {
	d := stage.DeadLetter{Value: p.value, Stage: c.Stage.Name}
	if p.tag != nil {
		d.Meta = p.tag.Meta
	}
	return []stage.DeadLetter{d}
}
