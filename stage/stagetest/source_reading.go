package stagetest

import (
	"context"
	"errors"

	"github.com/weir-go/weir/stage"
)

// reading reads one source and keeps what it has handed out.
type reading[T any] struct {
	*sourceKit[T]
	*findings
	src stage.Source[T]
	got []T
	err error // the final error

	empty int // calls in a row that returned nothing
}

// read opens a source, which is closed with the test.
func (k *sourceKit[T]) read(f *findings) *reading[T] {
	return k.readFrom(f, k.open(k.t))
}

func (k *sourceKit[T]) readFrom(f *findings, src stage.Source[T]) *reading[T] {
	k.t.Cleanup(func() { _ = closeTwice(src) })
	return &reading[T]{sourceKit: k, findings: f, src: src}
}

// pull calls Pull once and takes over what it returns, unless the call was in itself a violation.
func (r *reading[T]) pull(ctx context.Context, dst []T) outcome {
	o := callWaiting(r.Bubble, func() (int, error) { return r.src.Pull(ctx, dst) })
	r.take(o, dst)
	return o
}

func (r *reading[T]) take(o outcome, dst []T) {
	switch s := o.unexpected(); {
	case s != "":
		r.addf("Pull %s", s)
	case o.n < 0 || o.n > len(dst):
		r.addf("Pull returned n = %d for a dst of %d", o.n, len(dst))
	case o.n == 0 && o.err == nil && len(dst) > 0:
		const most = 100 // for the checks of other rules
		if r.empty++; r.rule == "P5" || r.empty == most {
			r.addf("Pull returned (0, nil) for a dst of %d", len(dst))
		}
	default:
		if o.n > 0 {
			r.empty = 0
		}
		r.got = append(r.got, dst[:o.n]...)
	}
}

// all pulls to the end, size values a call. It stops at the first violation.
func (r *reading[T]) all(ctx context.Context, size int) {
	r.each(func() (context.Context, []T) { return ctx, make([]T, size) }, nil)
}

// each pulls to the end with what next returns; after is called after each Pull. An endless source is asked for Want only.
func (r *reading[T]) each(next func() (context.Context, []T), after func(dst []T, n int)) {
	for r.err == nil && !r.any() && len(r.got) <= len(r.Want) {
		ctx, dst := next()
		if r.Endless {
			if len(r.got) == len(r.Want) {
				return
			}
			dst = dst[:min(len(dst), len(r.Want)-len(r.got))]
		}
		o := r.pull(ctx, dst)
		if after != nil && !r.any() {
			after(dst, o.n)
		}
		if o.err != nil && (ctx.Err() == nil || !errors.Is(o.err, context.Cause(ctx))) {
			r.err = o.err
		}
	}
}

// compare reports where the values differ from Want, and in a check of P3 how the stream ended.
func (r *reading[T]) compare() {
	if r.any() {
		return
	}
	for i := range min(len(r.got), len(r.Want)) {
		if !r.Equal(r.got[i], r.Want[i]) {
			r.addf("value %d is %s, want %s", i, shown(r.got[i]), shown(r.Want[i]))
			return
		}
	}
	switch {
	case len(r.got) > len(r.Want):
		r.addf("value %d is %s, want only %d values", len(r.Want), shown(r.got[len(r.Want)]), len(r.Want))
	case len(r.got) < len(r.Want):
		r.addf("the stream ended with %v behind %d values, want %d", r.err, len(r.got), len(r.Want))
	case r.rule == "P3" && !r.Endless && !isFinal(r.err, r.Err):
		r.addf("the stream ended with %v, want %v", r.err, r.Err)
	}
}

func isFinal(got, want error) bool {
	if want == stage.ErrEnd {
		return got == stage.ErrEnd
	}
	return errors.Is(got, want)
}
