package stagetest

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/weir-go/weir/stage"
)

// push hands items to sink in a slice of their own, which it returns.
func (k *sinkKit[T]) push(ctx context.Context, sink stage.Sink[T], items []T) (outcome, []T) {
	own := slices.Clone(items)
	return callWaiting(k.Bubble, func() (int, error) { return 0, sink.Push(ctx, own) }), own
}

// pushAll hands all items to a healthy sink, size a call, and calls after with each slice.
func (k *sinkKit[T]) pushAll(f *findings, sink stage.Sink[T], size int, after func(own []T)) {
	for part := range slices.Chunk(k.Items, size) {
		o, own := k.push(k.t.Context(), sink, part)
		switch s := o.unexpected(); {
		case s != "":
			f.addf("Push %s", s)
			return
		case o.err != nil:
			f.addf("Push returned %v from a healthy sink", o.err)
			return
		case after != nil:
			after(own)
		}
	}
}

// compare closes the sink and reports where what it has taken differs from want.
func (k *sinkKit[T]) compare(f *findings, sink stage.Sink[T], want []T) {
	if err := closeTwice(sink); err != nil {
		f.addf("%v", err)
	}
	if k.Taken == nil || f.any() {
		return
	}
	if got := k.Taken(); !slices.EqualFunc(got, want, k.Equal) {
		f.addf("the sink has taken %s, want %s", allShown(got), allShown(want))
	}
}

func (k *sinkKit[T]) healthy() []error {
	f := &findings{rule: "K1"}
	for _, size := range sizes {
		sink := k.open(k.t)
		k.pushAll(f, sink, size, nil)
		k.compare(f, sink, k.Items)
	}
	return f.errs
}

func (k *sinkKit[T]) broken() []error {
	f := &findings{rule: "K1"}
	sink := k.Broken(k.t)
	o, _ := k.push(k.t.Context(), sink, k.Items)
	if c, ok := sink.(io.Closer); ok {
		defer func() { call(func() (int, error) { return 0, c.Close() }) }()
	}
	if s := o.unexpected(); s != "" {
		f.addf("Push of a broken sink %s", s)
		return f.errs
	}
	if o.err == nil {
		f.addf("Push returned nil although the outside is broken")
		return f.errs
	}
	if bad, ok := errors.AsType[*stage.BatchError](o.err); ok {
		k.checkBatch(f, bad)
	}
	return f.errs
}

// checkBatch looks at the indices of a BatchError for a push of Items, and at what was taken.
func (k *sinkKit[T]) checkBatch(f *findings, bad *stage.BatchError) {
	failed := make(map[int]bool)
	for _, it := range bad.Items {
		switch {
		case it.Index < 0 || it.Index >= len(k.Items):
			f.addf("BatchError has index %d for a push of %d items", it.Index, len(k.Items))
		case failed[it.Index]:
			f.addf("BatchError has index %d twice", it.Index)
		case it.Err == nil:
			f.addf("BatchError has no error for index %d", it.Index)
		}
		failed[it.Index] = true
	}
	if len(bad.Items) == 0 {
		f.addf("BatchError lists no item")
	}
	if k.Taken == nil || f.any() {
		return
	}
	for i, v := range k.Items {
		switch taken := slices.ContainsFunc(k.Taken(), func(got T) bool { return k.Equal(got, v) }); {
		case failed[i] && taken:
			f.addf("%s is listed in the BatchError and was taken: it will come again", shown(v))
		case !failed[i] && !taken:
			f.addf("%s is not listed in the BatchError and was not taken", shown(v))
		}
	}
}

// untouched pushes items in an order that they do not come in otherwise, for sinks that sort, and looks whether they are as they were. What
// the sink says of them is for other checks.
func (k *sinkKit[T]) untouched() []error {
	f := &findings{rule: "K3"}
	items := slices.Clone(k.Items)
	slices.Reverse(items)
	for _, open := range []func(*testing.T) stage.Sink[T]{k.open, k.Broken} {
		if open == nil {
			continue
		}
		for _, pushed := range [][]T{k.Items, items} {
			sink := open(k.t)
			if o, own := k.push(k.t.Context(), sink, pushed); !o.hung {
				k.compareSlice(f, own, pushed)
			}
			_ = closeTwice(sink)
		}
	}
	return f.errs
}

func (k *sinkKit[T]) compareSlice(f *findings, own, pushed []T) {
	for i, v := range own {
		if !k.Equal(v, pushed[i]) {
			f.addf("items[%d] was %s, and %s when Push had returned: a BatchError would blame another item", i, shown(pushed[i]), shown(v))
			return
		}
	}
}

// retention overwrites each slice after the call, and looks at all of them in the end.
func (k *sinkKit[T]) retention() []error {
	f := &findings{rule: "K3"}
	sink := k.open(k.t)
	junk := k.Items[0]
	var used [][]T
	k.pushAll(f, sink, 2, func(own []T) {
		for i := range own {
			own[i] = junk
		}
		used = append(used, own)
	})
	k.compare(f, sink, k.Items)
	for call, own := range used {
		for i, v := range own {
			if !k.Equal(v, junk) {
				f.addf("items[%d] of push %d was changed to %s after the call", i, call+1, shown(v))
			}
		}
	}
	return f.errs
}

// cancelledBefore allows a sink to take items although the context is done, but not to say one thing and do another.
func (k *sinkKit[T]) cancelledBefore() []error {
	f := &findings{rule: "K4"}
	sink := k.open(k.t)
	ctx := cancelled(k.t.Context())
	o, _ := k.push(ctx, sink, k.Items)
	switch s := o.unexpected(); {
	case s != "":
		f.addf("Push %s", s)
	case o.err == nil:
		k.compare(f, sink, k.Items)
	default:
		k.checkGaveUp(ctx, f, o)
		k.compareGivenUp(f, sink, o.err)
	}
	return f.errs
}

func (k *sinkKit[T]) checkGaveUp(ctx context.Context, f *findings, o outcome) {
	if cause := context.Cause(ctx); !errors.Is(o.err, cause) {
		f.addf("Push returned %v for a context that is done with %q", o.err, cause)
	}
}

// compareGivenUp closes the sink; a plain error means that nothing was taken.
func (k *sinkKit[T]) compareGivenUp(f *findings, sink stage.Sink[T], err error) {
	if bad, ok := errors.AsType[*stage.BatchError](err); ok {
		k.checkBatch(f, bad)
		_ = closeTwice(sink)
		return
	}
	k.compare(f, sink, nil)
}

func (k *sinkKit[T]) cancelWaiting() []error {
	f := &findings{rule: "K4"}
	sink := k.Waiting(k.t)
	ctx, cancel := context.WithCancelCause(k.t.Context())
	done := start(func() (int, error) { return 0, sink.Push(ctx, slices.Clone(k.Items)) })
	settle(k.Bubble)
	began := time.Now()
	cancel(errCause)
	o := await(done, patience)
	if s := o.unexpected(); s != "" {
		f.addf("Push %s after its context was done", s)
		return f.errs
	}
	if took := time.Since(began); took > prompt(k.Bubble) {
		f.addf("Push returned %v after its context was done", took)
	}
	k.checkGaveUp(ctx, f, o)
	if err := closeTwice(sink); err != nil {
		f.addf("%v", err)
	}
	return f.errs
}

// callers pushes from as many goroutines at a time as the sink allows; the race detector does the rest.
func (k *sinkKit[T]) callers() []error {
	f := &findings{rule: "K5"}
	sink := k.open(k.t)
	if k.Workers <= 1 {
		k.pushAll(f, sink, 1, nil) // each Push from another goroutine
		k.compare(f, sink, k.Items)
		return f.errs
	}
	for part := range slices.Chunk(k.Items, k.Workers) {
		k.pushAtOnce(f, sink, part)
	}
	if err := closeTwice(sink); err != nil {
		f.addf("%v", err)
	}
	if k.Taken != nil && !f.any() {
		k.compareUnordered(f, k.Taken())
	}
	return f.errs
}

// pushAtOnce pushes each item from a goroutine of its own.
func (k *sinkKit[T]) pushAtOnce(f *findings, sink stage.Sink[T], items []T) {
	running := make([]<-chan outcome, len(items))
	for i, v := range items {
		running[i] = start(func() (int, error) { return 0, sink.Push(k.t.Context(), []T{v}) })
	}
	for _, done := range running {
		o := await(done, ending(k.Bubble))
		if s := o.unexpected(); s != "" {
			f.addf("one of %d pushes at a time %s", len(items), s)
		} else if o.err != nil {
			f.addf("one of %d pushes at a time returned %v", len(items), o.err)
		}
	}
}

func (k *sinkKit[T]) compareUnordered(f *findings, got []T) {
	if len(got) != len(k.Items) {
		f.addf("the sink has taken %d items, want %d: %s", len(got), len(k.Items), allShown(got))
	}
	for _, v := range k.Items {
		if !slices.ContainsFunc(got, func(g T) bool { return k.Equal(g, v) }) {
			f.addf("%s was pushed and is not among what the sink has taken", shown(v))
		}
	}
}

func (k *sinkKit[T]) closing() []error {
	f := &findings{rule: "K6"}
	if err := closeTwice(k.open(k.t)); err != nil {
		f.addf("before the first Push %v", err)
	}
	sink := k.open(k.t)
	k.pushAll(f, sink, 2, nil)
	k.compare(f, sink, k.Items) // closes it twice, and wants what was held back to be there
	return f.errs
}

func (k *sinkKit[T]) flushError() []error {
	f := &findings{rule: "K6"}
	sink := k.FailingFlush(k.t)
	c, ok := sink.(io.Closer)
	if !ok {
		f.addf("the sink of the option FailingFlush is no io.Closer")
		return f.errs
	}
	if o, _ := k.push(k.t.Context(), sink, k.Items); o.err != nil || o.unexpected() != "" {
		f.addf("Push of a sink whose flush fails: %v%s", o.err, o.unexpected())
	}
	if o := call(func() (int, error) { return 0, c.Close() }); o.err == nil {
		f.addf("Close returned nil although the flush failed%s", o.unexpected())
	}
	if o := call(func() (int, error) { return 0, c.Close() }); o.unexpected() != "" {
		f.addf("the second Close %s", o.unexpected())
	}
	return f.errs
}
