package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/weir-go/weir/stage"
)

// opener is something to be opened, for a stage.
type opener struct {
	stage.Opener
	part  Part
	stage string
}

// opens registers v, if it is a [stage.Opener].
func (r *Run) opens(p Part, name string, v any) {
	o, ok := v.(stage.Opener)
	if ok && !slices.ContainsFunc(r.openers, func(have opener) bool { return identical(have.Opener, o) }) {
		r.openers = append(r.openers, opener{o, p, name})
	}
}

// identical reports whether a and b are the same part; what can't be compared never is.
func identical(a, b any) bool {
	return reflect.TypeOf(a).Comparable() && reflect.TypeOf(b).Comparable() && a == b
}

// Open opens what has to be: sources, what keeps dead letters, sinks. If that fails what was opened is closed again, the last one
// first, and the run can't start.
func (r *Run) Open(ctx context.Context) error {
	slices.SortStableFunc(r.openers, func(a, b opener) int { return int(b.part - a.part) })
	for i, o := range r.openers {
		if err := openOne(ctx, o); err != nil {
			return errors.Join(append([]error{&stage.Error{Stage: o.stage, Err: fmt.Errorf("open: %w", err)}}, closeAgain(r.openers[:i])...)...)
		}
	}
	return nil
}

func openOne(ctx context.Context, o opener) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &stage.PanicError{Value: p}
		}
	}()
	return o.Open(ctx)
}

// closeAgain closes what was opened for a run that does not start.
func closeAgain(opened []opener) (errs []error) {
	for _, o := range slices.Backward(opened) {
		c, ok := o.Opener.(io.Closer)
		if !ok {
			continue
		}
		if err := closeOne(closer{Closer: c}); err != nil {
			errs = append(errs, closeError(closer{Closer: c, stage: o.stage}, err))
		}
	}
	return errs
}
