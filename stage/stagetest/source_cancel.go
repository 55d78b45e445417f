package stagetest

import (
	"context"
	"errors"
	"time"

	"github.com/weir-go/weir/stage"
)

// cancelBetween calls with contexts that are done, before the first value and between the others.
func (k *sourceKit[T]) cancelBetween() []error {
	f := &findings{rule: "P7"}
	expired, cancel := context.WithDeadline(k.t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	for _, ctx := range []context.Context{cancelled(k.t.Context()), expired} {
		for _, size := range []int{1, 3} {
			r := k.read(f)
			r.each(func() (context.Context, []T) {
				r.expectCause(ctx, size)
				return k.t.Context(), make([]T, size)
			}, nil)
			r.compare()
		}
	}
	k.cancelRacing(f)
	return f.errs
}

// cancelRacing lets every second context end at about the same time as the call.
func (k *sourceKit[T]) cancelRacing(f *findings) {
	r := k.read(f)
	calls := 0
	r.each(func() (context.Context, []T) {
		if calls++; calls%2 == 0 {
			return k.t.Context(), make([]T, 1)
		}
		racing, cancel := context.WithCancelCause(k.t.Context())
		go cancel(errCause)
		return racing, make([]T, 2)
	}, nil)
	r.compare()
}

// expectCause calls Pull with a context that is done.
func (r *reading[T]) expectCause(ctx context.Context, size int) {
	if r.any() || len(r.got) == len(r.Want) { // the final error may come first
		return
	}
	o := r.pull(ctx, make([]T, size))
	r.checkCause(ctx, o)
}

func (r *reading[T]) checkCause(ctx context.Context, o outcome) {
	switch cause := context.Cause(ctx); {
	case r.any():
	case o.err == stage.ErrEnd:
		r.addf("Pull returned ErrEnd for a context that is done")
	case !errors.Is(o.err, cause):
		r.addf("Pull returned (%d, %v) for a context that is done with %q", o.n, o.err, cause)
	}
}

func (k *sourceKit[T]) cancelWaiting() []error {
	f := &findings{rule: "P7"}
	src, release := k.Waiting(k.t)
	r := k.readFrom(f, src)
	for range 3 {
		ctx, cancel := context.WithCancelCause(k.t.Context())
		dst := make([]T, 2)
		done := start(func() (int, error) { return src.Pull(ctx, dst) })
		settle(k.Bubble)
		began := time.Now()
		cancel(errCause)
		o := await(done, patience)
		if r.take(o, dst); r.any() {
			release()
			return f.errs
		}
		if took := time.Since(began); took > prompt(k.Bubble) {
			f.addf("Pull returned %v after its context was done", took)
		}
		r.checkCause(ctx, o)
	}
	release()
	if !r.any() {
		r.all(k.t.Context(), 2)
		r.compare()
	}
	return f.errs
}
