package stagetest

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/weir-go/weir/stage"
)

// fault is one way in which user code fails.
type fault struct {
	name string
	do   func() error
	is   error // what the cause must be, nil for any panic
}

var errFault = errors.New("stagetest: a fault in user code")

func (k *stageKit[A, B]) faultsOfWork() []fault {
	fs := []fault{
		{"panics with a value", func() error { panic("stagetest: a fault") }, nil},
		{"panics with an error", func() error { panic(errFault) }, errFault},
		{"panics with nil", func() error { panic(nil) }, nil},
		{"ends its goroutine", func() error {
			runtime.Goexit()
			return nil
		}, stage.ErrGoexit},
	}
	if !k.Plain {
		fs = append(fs, fault{"returns an error", func() error { return errFault }, errFault})
	}
	return fs
}

// faults has one call of user code fail in each way.
func (r *stageTrial[A, B]) faults() {
	calls := r.needsWork()
	for _, at := range []int{1, 4} {
		if at > calls {
			continue
		}
		for _, fa := range r.faultsOfWork() {
			r.faultAt(at, fa)
		}
	}
}

// faultAt has the call number at fail. The run must end with that as an error of the part, and with every message settled.
func (r *stageTrial[A, B]) faultAt(at int, fa fault) {
	var calls counter
	x := r.runs(scene[A, B]{n: 12, work: func(context.Context) error {
		if calls.add() == at {
			return fa.do()
		}
		return nil
	}})
	_, err := x.wait()
	if wrong := stoppedPart(err, fa.is); wrong != "" {
		r.addf("call %d of user code %s: %s", at, fa.name, wrong)
		return
	}
	if _, ok := errors.AsType[*stage.PanicError](err); fa.is == nil && !ok {
		r.addf("call %d of user code %s: the run returned %v, want a *stage.PanicError", at, fa.name, err)
	}
	if x.once(); !r.any() && len(x.blamed()) == 0 {
		r.addf("call %d of user code %s, and no message has failed because of it", at, fa.name)
	}
	x.notEarly()
}

// cancelInput cancels a run whose source waits.
func (r *stageTrial[A, B]) cancelInput() {
	for _, n := range []int{0, 5} {
		x := r.runs(scene[A, B]{n: n, waits: true})
		settle(r.Bubble)
		x.cancelled("while the part waited for input")
	}
}

// cancelOutput cancels a run whose sink waits.
func (r *stageTrial[A, B]) cancelOutput() {
	for _, edges := range []bool{true, false} {
		x := r.runs(scene[A, B]{n: 200, edges: edges, take: func(ctx context.Context, _ int, _ B) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}})
		settle(r.Bubble)
		x.cancelled("while the part waited for output")
	}
}

// cancelWork cancels a run while user code waits for its context.
func (r *stageTrial[A, B]) cancelWork() {
	r.needsWork()
	for _, at := range []int{1, 3} {
		var calls counter
		x := r.runs(scene[A, B]{n: 12, work: func(ctx context.Context) error {
			if calls.add() < at {
				return nil
			}
			<-ctx.Done()
			return context.Cause(ctx)
		}})
		settle(r.Bubble)
		x.cancelled("while user code ran")
	}
}

// cancelled cancels the run and looks at how it ends.
func (x *running[A, B]) cancelled(when string) {
	x.cancel()
	took, err := x.wait()
	switch {
	case took > prompt(x.Bubble):
		x.addf("the run ended %v after it was cancelled %s, and returned %v", took, when, err)
		return
	case !errors.Is(err, errCause):
		x.addf("the run was cancelled %s and returned %v, want the cause %q", when, err, errCause)
		return
	}
	x.endedWell("was cancelled " + when)
	x.notEarly()
}

// endedWell looks at the messages of a run that has ended early: none of them is to blame.
func (x *running[A, B]) endedWell(how string) {
	x.once()
	if blamed := x.blamed(); !x.any() && len(blamed) > 0 {
		x.addf("message %d has failed instead of being given back when the run %s: %v", blamed[0], how, x.outcomes(blamed[0])[0].Err)
	}
}

const restOf = 7 // values: prime, so that something is left of every group

// restAtDrain drains a run whose source has given some values and waits. Everything that a clean end brings must come, at once.
func (r *stageTrial[A, B]) restAtDrain() {
	clean := r.healthy(scene[A, B]{n: restOf}).out()
	x := r.runs(scene[A, B]{n: restOf, waits: true})
	settle(r.Bubble)
	began := time.Now()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	if err := x.run.Drain(ctx); err != nil {
		r.addf("a drain behind %d values returned %v, want nil", restOf, err)
		return
	}
	if took := time.Since(began); took > prompt(r.Bubble) {
		r.addf("a drain behind %d values took %v", restOf, took)
	}
	if r.Fits != nil {
		if err := r.Fits(x.in(), x.out()); err != nil {
			r.addf("a drain behind %d values brought %d results: %w", restOf, len(x.out()), err)
		}
		return
	}
	if missing, _ := r.differ(x.out(), clean); len(missing) > 0 {
		r.addf("a drain behind %d values brought %d results, a clean end %d: %s is missing", restOf, len(x.out()), len(clean), shown(missing[0]))
	}
}

var errUpstream = errors.New("stagetest: the source has failed")

// restAtError has the source fail behind some values. What the part holds then must not end as done.
func (r *stageTrial[A, B]) restAtError() {
	x := r.runs(scene[A, B]{n: restOf, final: errUpstream, before: func(ctx context.Context, i int) {
		if i == restOf {
			rest(ctx, 10*time.Millisecond) // the part gets what there is
		}
	}})
	took, err := x.wait()
	switch {
	case took > 2*prompt(r.Bubble):
		r.addf("the run ended %v after its source had failed", took)
	case !errors.Is(err, errUpstream):
		r.addf("the source failed and the run returned %v, want %q", err, errUpstream)
	default:
		x.endedWell("failed because of its source")
		x.notEarly()
	}
}

// longPauses has hours pass on either side.
func (r *stageTrial[A, B]) longPauses() {
	const n, long = 9, time.Hour
	x := r.healthy(scene[A, B]{
		n: n, long: 5 * long, before: func(ctx context.Context, i int) {
			if i%3 == 0 {
				rest(ctx, long)
			}
		},
		take: func(ctx context.Context, i int, _ B) error {
			if i == 1 {
				rest(ctx, long)
			}
			return nil
		},
	})
	if r.any() {
		return
	}
	x.once()
	if r.Fits != nil {
		if err := r.Fits(x.in(), x.out()); err != nil {
			r.addf("pauses of %v, %d values in, %d out: %w", long, n, len(x.out()), err)
		}
		return
	}
	clean := r.healthy(scene[A, B]{n: n}).out()
	switch missing, extra := r.differ(x.out(), clean); {
	case len(missing) > 0:
		r.addf("with pauses of %v %s is missing, which comes without them", long, shown(missing[0]))
	case len(extra) > 0:
		r.addf("with pauses of %v %s comes, which does not without them", long, shown(extra[0]))
	}
}

// leaveEarly takes a few results and no more.
func (r *stageTrial[A, B]) leaveEarly() {
	results := len(r.healthy(scene[A, B]{n: 200}).out())
	for _, k := range []int{1, 3} {
		if k > results || k > 1 && r.Want == nil { // there may be one only, another time
			continue
		}
		x := r.runs(scene[A, B]{n: 200, waits: true, leave: k})
		_, err := x.wait()
		took := time.Since(x.last)
		switch {
		case err != nil:
			r.addf("downstream has left behind %d results, and the run returned %v, want nil", k, err)
		case took > prompt(r.Bubble):
			r.addf("the run ended %v after downstream had left behind %d results", took, k)
		case len(x.out()) != k:
			r.addf("downstream has left behind %d results and got %d", k, len(x.out()))
		default:
			x.endedWell("was left by downstream")
		}
	}
}
