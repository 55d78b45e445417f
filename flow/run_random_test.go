package flow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/flow"
)

// scenario is a random graph with a random source, sink and fault.
type scenario struct {
	fault  string
	ops    []*op
	sink   string
	sinkN  int           // of the sink: workers, or the size of a push
	items  int           // of each source
	most   int           // items in one answer of a source
	pause  time.Duration // between them
	slow   time.Duration // of the sinks
	at     time.Duration // of a stop, a cancel or a drain, and of a look at the run
	failAt int64         // call of user code that fails
	leave  int           // items behind which the loop of fault "leave" ends
	plain  bool          // the first source has no claims
	atFrom bool          // SettleDropped is said at the sources, not at the edges
}

// faults are what happens to a run. Those of user code happen at a random call of any function of the graph.
var faults = []string{"none", "error", "panic", "goexit", "stop", "cancel", "drain", "leave"}

var (
	errFault  = errors.New("the fault")
	errCancel = errors.New("cancelled")
)

func drawScenario(rt *rapid.T, fault string) *scenario {
	number := func(least, most int, name string) int { return rapid.IntRange(least, most).Draw(rt, name) }
	ms := func(most int, name string) time.Duration {
		return time.Duration(number(0, most, name)) * time.Millisecond
	}
	d := drawer{T: rt, leavers: number(0, 2, "leavers") == 0}
	return &scenario{
		fault: fault, ops: d.chain(2),
		sink: rapid.SampledFrom(sinks).Draw(rt, "sink"), sinkN: number(1, 5, "sinkN"),
		items: number(0, 120, "items"), most: number(0, 20, "most"),
		pause: ms(2, "pause"), slow: ms(2, "slow"), at: ms(100, "at"),
		failAt: int64(number(1, 400, "failAt")), leave: number(1, 60, "leave"),
		plain: number(0, 7, "plain") == 0, atFrom: rapid.Bool().Draw(rt, "atFrom"),
	}
}

// String is what a failure prints.
func (s *scenario) String() string {
	return fmt.Sprintf("fault %s, %v\nsink %s(%d), items %d, most %d, pause %v, slow %v, at %v, failAt %d, leave %d, plain %t, atFrom %t",
		s.fault, s.ops, s.sink, s.sinkN, s.items, s.most, s.pause, s.slow, s.at, s.failAt, s.leave, s.plain, s.atFrom)
}

// run runs the scenario and returns what is wrong.
func (s *scenario) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &world{s: s, table: allOperators()}
	f := w.chain(w.source(s.plain), s.ops)
	if s.fault == "leave" {
		w.end = &end{kind: "loop", got: newSeen[datum]()}
		err := s.loop(ctx, w, f)
		w.receivers.Wait()
		return errors.Join(w.settledOnce(), s.judge(w, err))
	}
	r, err := w.to(f, s.sink, s.sinkN).Start(ctx)
	if err != nil {
		return err
	}
	err = s.finish(w, r, cancel)
	w.receivers.Wait()
	if bad := errors.Join(w.settledOnce(), w.edges(r, true), s.judge(w, err)); bad != nil {
		return fmt.Errorf("%w\nthe run ended with %w\nreport %+v\n%s", bad, err, r.Report(), r.Graph().Mermaid())
	}
	return nil
}

// finish does what the fault says, and waits for the end.
func (s *scenario) finish(w *world, r *flow.Run, cancel context.CancelCauseFunc) error {
	stuck := time.AfterFunc(24*time.Hour, r.Stop) // a graph that is stuck fails as one that was stopped
	defer stuck.Stop()
	time.Sleep(s.at)
	w.wrong(w.edges(r, false))
	asked := time.Now()
	switch s.fault {
	case "stop":
		r.Stop()
	case "cancel":
		cancel(errCancel)
	case "drain":
		return r.Drain(context.Background())
	default:
		return r.Wait()
	}
	err := r.Wait()
	if late := time.Since(asked); late > 0 { // L5; all user code here heeds its context
		w.wrong(fmt.Errorf("L5: the run ended %v after it was told to", late))
	}
	return err
}

// loop consumes f by a loop that ends early.
func (s *scenario) loop(ctx context.Context, w *world, f stream) error {
	n := 0
	for d, err := range f.All(ctx) {
		if err != nil {
			return err
		}
		_ = w.end.got.each(ctx, d)
		if n++; n == s.leave {
			break
		}
	}
	return nil
}

// judge compares how the run ended, and what came out, with the reference.
func (s *scenario) judge(w *world, err error) error {
	_, full := errors.AsType[*flow.FullError](err)
	struck := w.struck.Load()
	w.leavers = s.fault == "leave" || uses(s.ops, leaving)
	w.exact = err == nil && !w.leavers && !struck
	w.lenient = w.leavers && uses(s.ops, forking)
	switch {
	case err == nil:
		if struck && !w.leavers && s.fault != "drain" {
			w.wrong(errors.New("the run ended well in spite of the fault"))
		}
	case full && uses(s.ops, func(o *op) bool { return o.kind == "reject" }):
	case struck && (errors.Is(err, errFault) || s.fault == "goexit" && errors.Is(err, errGoexit)):
	case s.fault == "stop" && errors.Is(err, flow.ErrStopped):
	case s.fault == "cancel" && errors.Is(err, errCancel):
	default:
		w.wrong(fmt.Errorf("the run failed: %w", err))
	}
	want := w.follow(w.first, s.ops)
	w.compare(w.end, want)
	if w.exact {
		w.allDone()
	}
	return errors.Join(w.bad...)
}

// TestRandomGraphs runs random graphs of all operators against a sequential reference, with a fault at a random moment: an error,
// a panic or a Goexit at any call of user code, a stop, a cancelled context, a drain, a consumer that leaves. A failure is
// shrunk, and printed with the flag that replays it. -rapid.checks is per fault and round; 100 of them make 2,400 graphs.
func TestRandomGraphs(t *testing.T) {
	for _, fault := range faults {
		for round := range 3 {
			t.Run(fmt.Sprint(fault, round+1), func(t *testing.T) {
				rapid.Check(t, func(rt *rapid.T) {
					s := drawScenario(rt, fault)
					var bad error
					synctest.Test(t, func(t *testing.T) { bad = s.run(context.WithoutCancel(t.Context())) })
					if bad != nil {
						rt.Fatalf("%v\n%s", s, strings.TrimSpace(bad.Error()))
					}
				})
			})
		}
	}
}

// uses reports whether an operator of some kind occurs in the graph.
func uses(ops []*op, is func(*op) bool) bool {
	return slices.ContainsFunc(ops, func(o *op) bool {
		return is(o) || slices.ContainsFunc(o.subs, func(sub []*op) bool { return uses(sub, is) })
	})
}
