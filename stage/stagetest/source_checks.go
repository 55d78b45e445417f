package stagetest

import (
	"context"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/stage"
)

var sizes = []int{1, 2, 7, 1024}

func (k *sourceKit[T]) bounds() []error {
	f := &findings{rule: "P1"}
	var zero T
	for _, size := range sizes {
		for _, guard := range []T{zero, k.junk} {
			const guards = 3
			r := k.read(f)
			buf := make([]T, size+guards)
			for i := range buf {
				buf[i] = guard
			}
			r.each(func() (context.Context, []T) { return k.t.Context(), buf[:size] }, func(dst []T, _ int) {
				if len(dst) < size { // at the end of an endless source
					return
				}
				for i, v := range buf[size:] {
					if !k.Equal(v, guard) {
						f.addf("Pull wrote %s to dst[%d] of a dst of %d", shown(v), size+i, size)
					}
				}
			})
		}
	}
	return f.errs
}

func (k *sourceKit[T]) order() []error {
	f := &findings{rule: "P2"}
	for _, size := range sizes {
		r := k.read(f)
		r.all(k.t.Context(), size)
		r.compare()
	}
	return f.errs
}

func (k *sourceKit[T]) valuesFirst() []error {
	f := &findings{rule: "P3"}
	for _, size := range []int{max(len(k.Want)-1, 1), len(k.Want) + 1} {
		r := k.read(f)
		r.all(k.t.Context(), size)
		r.compare()
	}
	return f.errs
}

func (k *sourceKit[T]) sticky() []error {
	f := &findings{rule: "P4"}
	r := k.read(f)
	if r.all(k.t.Context(), 7); r.any() || r.err == nil {
		return f.errs
	}
	outside, began := k.outside(), time.Now()
	dst := make([]T, 3)
	for i := range 1000 {
		o := call(func() (int, error) { return r.src.Pull(k.t.Context(), dst) })
		if s := o.unexpected(); s != "" {
			f.addf("call %d after the end %s", i+1, s)
			return f.errs
		}
		if o.n != 0 || o.err == nil || !isFinal(o.err, r.err) {
			f.addf("call %d after the end returned (%d, %v), want (0, %v)", i+1, o.n, o.err, r.err)
			return f.errs
		}
	}
	if now := k.outside(); now != outside {
		f.addf("calls after the end read %d values from the outside", now-outside)
	}
	if took := time.Since(began); k.Bubble && took > 0 {
		f.addf("calls after the end waited for %v", took)
	}
	return f.errs
}

func (k *sourceKit[T]) outside() int {
	if k.Outside == nil {
		return 0
	}
	return k.Outside()
}

func (k *sourceKit[T]) progress() []error {
	f := &findings{rule: "P5"}
	for _, size := range sizes {
		k.read(f).all(k.t.Context(), size)
	}
	return f.errs
}

func (k *sourceKit[T]) emptyDst() []error {
	f := &findings{rule: "P6"}
	r := k.read(f)
	for _, dst := range [][]T{nil, make([]T, 0, 3)} {
		o := r.pull(k.t.Context(), dst)
		if !r.any() && (o.n != 0 || o.err != nil) && len(k.Want) > 0 {
			f.addf("Pull returned (%d, %v) for an empty dst, want (0, nil)", o.n, o.err)
		}
		if n := k.outside(); n > k.Prefetch {
			f.addf("Pull read %d values from the outside for an empty dst", n)
		}
	}
	if !r.any() {
		r.all(k.t.Context(), 2)
		r.compare()
	}
	return f.errs
}

// retention overwrites each dst after the call, and looks at all of them in the end.
func (k *sourceKit[T]) retention() []error {
	f := &findings{rule: "P8"}
	r := k.read(f)
	var used [][]T
	r.each(func() (context.Context, []T) { return k.t.Context(), make([]T, 3) }, func(dst []T, _ int) {
		for i := range dst {
			dst[i] = k.junk
		}
		used = append(used, dst)
	})
	r.compare()
	for call, dst := range used {
		for i, v := range dst {
			if !k.Equal(v, k.junk) {
				f.addf("dst[%d] of call %d was changed to %s after the call", i, call+1, shown(v))
			}
		}
	}
	return f.errs
}

// callers relies on call: every Pull of the kit comes from a goroutine of its own.
func (k *sourceKit[T]) callers() []error {
	f := &findings{rule: "P9"}
	r := k.read(f)
	r.all(k.t.Context(), 1)
	r.compare()
	return f.errs
}

func (k *sourceKit[T]) closing() []error {
	f := &findings{rule: "P10"}
	moments := []struct {
		name  string
		calls int
	}{{"before the first Pull", 0}, {"after one Pull", 1}, {"after the end", len(k.Want) + 1}}
	for _, m := range moments {
		r := &reading[T]{sourceKit: k, findings: f, src: k.open(k.t)}
		for range m.calls {
			if r.err != nil || r.any() || k.Endless && len(r.got) == len(k.Want) {
				break
			}
			r.err = r.pull(k.t.Context(), make([]T, 1)).err
		}
		if err := closeTwice(r.src); err != nil {
			f.addf("%s %v", m.name, err)
		}
	}
	return f.errs
}

// leftovers counts goroutines. A source that has been read to its end and closed has none.
func (k *sourceKit[T]) leftovers() []error {
	f := &findings{rule: "left"}
	before := inThisBubble()
	r := &reading[T]{sourceKit: k, findings: f, src: k.open(k.t)}
	r.all(k.t.Context(), 3)
	_ = closeTwice(r.src)
	time.Sleep(prompt(k.Bubble))
	synctest.Wait()
	if left := since(before); len(left) > 0 {
		f.addf("%d goroutines run on %v after Close", len(left), prompt(k.Bubble))
	}
	return f.errs
}

func (k *sourceKit[T]) prefetch() []error {
	f := &findings{rule: "P11"}
	for _, size := range []int{1, 3} {
		r := k.read(f)
		r.each(func() (context.Context, []T) { return k.t.Context(), make([]T, size) }, func([]T, int) {
			if read, allowed := k.Outside(), len(r.got)+k.Prefetch; read > allowed {
				f.addf("%d values read from the outside, %d handed out, prefetch %d", read, len(r.got), k.Prefetch)
			}
		})
	}
	return f.errs
}

func (k *sourceKit[T]) panicking() []error {
	f := &findings{rule: "P12"}
	src := k.Panics(k.t)
	k.t.Cleanup(func() { _ = closeTwice(src) })
	if wrong := k.untilPanic(src); wrong != "" {
		f.addf("%s", wrong)
		return f.errs
	}
	for i := range 10 {
		o := callWaiting(k.Bubble, func() (int, error) { return src.Pull(k.t.Context(), make([]T, 2)) })
		switch {
		case o.hung:
			f.addf("call %d after the panic %s", i+1, o.unexpected())
			return f.errs
		case o.panicked == nil && (o.n != 0 || o.err == nil || o.err == stage.ErrEnd):
			f.addf("call %d after the panic returned (%d, %v), want no value and an error other than ErrEnd", i+1, o.n, o.err)
			return f.errs
		}
	}
	return f.errs
}

// untilPanic pulls until the outside has panicked: Pull panics, or returns the panic as an error. It returns what went wrong.
func (k *sourceKit[T]) untilPanic(src stage.Source[T]) string {
	for range len(k.Want) + 1 {
		o := callWaiting(k.Bubble, func() (int, error) { return src.Pull(k.t.Context(), make([]T, 1)) })
		switch {
		case o.hung:
			return "a Pull whose outside panics " + o.unexpected()
		case o.err == stage.ErrEnd:
			return "a Pull whose outside panics returned ErrEnd"
		case o.panicked != nil || o.err != nil:
			return ""
		}
	}
	return "the source of the option Panics has not panicked"
}

func (k *sourceKit[T]) trickling() []error {
	f := &findings{rule: "demand"}
	r := k.readFrom(f, k.Trickle(k.t))
	ctx, cancel := context.WithCancelCause(k.t.Context())
	defer cancel(nil)
	dst := make([]T, 8)
	done := start(func() (int, error) { return r.src.Pull(ctx, dst) })
	settle(k.Bubble)
	select {
	case o := <-done:
		if r.take(o, dst); !r.any() && (o.n != 1 || o.err != nil) {
			f.addf("Pull returned (%d, %v) with one value at hand, want (1, nil)", o.n, o.err)
		}
	case <-time.After(time.Second):
		f.addf("Pull waits although one value is at hand")
		cancel(errCause)
		await(done, patience)
	}
	return f.errs
}
