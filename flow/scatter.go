package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/weir-go/weir/stage"
)

// ScatterConfig are the settings of [Scatter]. The zero value asks all parts at once and needs the answers of all.
type ScatterConfig struct {
	AtOnce  int           // calls at the same time; 0 means all
	MayMiss int           // answers that may be missing; 0 means none
	Timeout time.Duration // how long the parts have together; 0 means as long as the context
}

// Gathered is the answer of [Scatter]. Values has a value for each part, and the zero value where one is missing.
type Gathered[R any] struct {
	Values  []R
	Missing []MissingPart // in the order of the parts
}

// Degraded reports whether parts of the answer are missing.
func (g Gathered[R]) Degraded() bool { return len(g.Missing) > 0 }

// MissingPart is a part that gave no answer.
type MissingPart struct {
	Part int
	Err  error // what fn has failed with; context.DeadlineExceeded where it was not called before Timeout
}

// ScatterError says that more parts have failed than may be missing. The calls to others were cut off, or not made.
type ScatterError struct {
	Parts  int
	Failed []MissingPart
}

// Error counts the failures and gives the first.
func (e *ScatterError) Error() string {
	return fmt.Sprintf("flow: %d of %d parts have failed, the first: part %d: %v", len(e.Failed), e.Parts, e.Failed[0].Part, e.Failed[0].Err)
}

// Unwrap returns the failures, one error per part.
func (e *ScatterError) Unwrap() []error {
	errs := make([]error, len(e.Failed))
	for i, m := range e.Failed {
		errs[i] = m.Err
	}
	return errs
}

// Scatter asks several parts for one item, shards for example, by calls of fn with 0 to parts-1, and gathers their answers. It is
// meant for the function of a Parallel or a TryMap.
//
// Where up to MayMiss of them fail, are refused, or have not answered within Timeout, the answer is marked as degraded and has the rest: to
// refuse one part of it does not cost the others, which a retry would all ask again. No part is asked twice. Once more have failed
// the answer can't be had any more: the calls that still run are cut off by their context, the others are not made, and the error is
// a [*ScatterError].
//
// A panic and a Goexit in fn are failures of the part. Scatter returns when all calls have, so no goroutine is left, and a function
// that ignores its context is waited for. If ctx ends first the error is its cause. Settings that are out of range are errors.
//
//	Ends:   when every part has answered or failed, at Timeout, or with ctx.
//	Errors: a *ScatterError, the cause of ctx, or that an argument is not acceptable.
//	Cost:   min(AtOnce, parts) goroutines, and the slice of the answers.
//	Source: Dean and Barroso 2013, "The Tail at Scale", for answers that are good enough.
func Scatter[R any](
	ctx context.Context, parts int, cfg ScatterConfig, fn func(ctx context.Context, part int) (R, error),
) (Gathered[R], error) {
	if err := cfg.check(parts, fn != nil); err != nil {
		return Gathered[R]{}, err
	}
	if ctx.Err() != nil {
		return Gathered[R]{}, context.Cause(ctx)
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if cfg.Timeout > 0 {
		var release context.CancelFunc
		inner, release = context.WithTimeout(inner, cfg.Timeout)
		defer release()
	}
	s := scatter[R]{ctx: inner, cancel: cancel, fn: fn, mayMiss: cfg.MayMiss, values: make([]R, parts)}
	for range cfg.workers(parts) {
		s.workers.Go(s.work)
	}
	s.workers.Wait()
	return s.gather(ctx)
}

func (c ScatterConfig) check(parts int, fn bool) error {
	var errs []error
	check := func(ok bool, text string) {
		if !ok {
			errs = append(errs, errors.New("flow: Scatter: "+text))
		}
	}
	check(parts >= 1, argument("parts", ">= 1", parts))
	check(c.AtOnce >= 0, argument("AtOnce", ">= 0", c.AtOnce))
	check(c.MayMiss >= 0 && (c.MayMiss < parts || parts < 1), argument("MayMiss", "0 to parts-1", c.MayMiss))
	check(c.Timeout >= 0, argument("Timeout", ">= 0", c.Timeout))
	check(fn, "function must not be nil")
	return errors.Join(errs...)
}

func (c ScatterConfig) workers(parts int) int {
	if c.AtOnce == 0 {
		return parts
	}
	return min(c.AtOnce, parts)
}

// errOutOfReach cuts off the calls that can't help any more.
var errOutOfReach = errors.New("flow: too many other parts have failed")

// scatter is one call of Scatter.
type scatter[R any] struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	fn      func(context.Context, int) (R, error)
	mayMiss int
	workers sync.WaitGroup

	mu      sync.Mutex
	next    int // part to ask
	values  []R
	missing []MissingPart
}

// work asks parts until there are no more, or more answers are of no use.
func (s *scatter[R]) work() {
	for part, ok := s.take(); ok; part, ok = s.take() {
		s.ask(part)
	}
}

// take returns the next part to ask.
func (s *scatter[R]) take() (part int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.next < len(s.values) {
		part = s.next
		s.next++
		if s.ctx.Err() == nil {
			return part, true
		}
		s.miss(part, context.Cause(s.ctx))
	}
	return 0, false
}

// ask calls fn. A Goexit in it ends this worker, and another one goes on.
func (s *scatter[R]) ask(part int) {
	var v R
	err := error(&stage.Error{Stage: partName(part), Err: stage.ErrGoexit})
	ended := true
	defer func() {
		if p := recover(); p != nil {
			ended, err = false, &stage.Error{Stage: partName(part), Err: &stage.PanicError{Value: p}, Stack: debug.Stack()}
		}
		s.note(part, v, err)
		if ended {
			s.workers.Go(s.work)
		}
	}()
	v, err = s.fn(s.ctx, part)
	ended = false
}

func partName(part int) string { return "part " + strconv.Itoa(part) }

func (s *scatter[R]) note(part int, v R, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.values[part] = v
		return
	}
	s.miss(part, err)
}

// miss notes that a part gives no answer, unless that is because too many others don't. It is called with the lock.
func (s *scatter[R]) miss(part int, err error) {
	if len(s.missing) > s.mayMiss && errors.Is(context.Cause(s.ctx), errOutOfReach) {
		return
	}
	s.missing = append(s.missing, MissingPart{part, err})
	if len(s.missing) > s.mayMiss {
		s.cancel(errOutOfReach)
	}
}

// gather returns the result of the call with context ctx, behind the last worker.
func (s *scatter[R]) gather(ctx context.Context) (Gathered[R], error) {
	slices.SortFunc(s.missing, func(a, b MissingPart) int { return cmp.Compare(a.Part, b.Part) })
	switch {
	case len(s.missing) == 0:
	case ctx.Err() != nil:
		return Gathered[R]{}, context.Cause(ctx)
	case len(s.missing) > s.mayMiss:
		return Gathered[R]{}, &ScatterError{Parts: len(s.values), Failed: s.missing}
	}
	return Gathered[R]{Values: s.values, Missing: s.missing}, nil
}
