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
	fault   string
	source  string // its kind
	ops     []*op
	sink    string
	sinkN   int           // of the sink: workers, or the size of a push
	items   int           // of each source
	most    int           // items in one answer of a source
	pause   time.Duration // between them
	quiet   time.Duration // a longer one, before answer quietAt
	quietAt int
	slow    time.Duration // of the sinks
	hang    time.Duration // of the first call of a sink, so that all in front of it fills
	at      time.Duration // of a stop, a cancel or a drain, and of a look at the run
	failAt  int64         // call of user code that fails
	leave   int           // items behind which a loop, or a subscriber that leaves, ends
	leavers bool          // what ends its input early may occur
	atFrom  bool          // SettleDropped is said at the sources, not at the edges

	seen *census // nil: nobody counts
}

// faults are what happens to a run. Those of user code happen at a random call of any function of the graph.
var faults = []string{"none", "error", "panic", "goexit", "stop", "cancel", "drain", "leave"}

var (
	errFault  = errors.New("the fault")
	errCancel = errors.New("cancelled")
)

// How long a run may take, and how many items flood a graph: more than it has room for.
const (
	stuckAfter = 4 * time.Hour
	flood      = 3000
)

func drawScenario(rt *rapid.T, fault string) *scenario {
	number := func(least, most int, name string) int { return rapid.IntRange(least, most).Draw(rt, name) }
	ms := func(most int, name string) time.Duration {
		return time.Duration(number(0, most, name)) * time.Millisecond
	}
	d := drawer{T: rt, leavers: number(0, 2, "leavers") == 0}
	s := &scenario{
		fault: fault, leavers: d.leavers, source: d.source(), ops: d.chain(2),
		sink: rapid.SampledFrom(mainSinks(fault)).Draw(rt, "sink"), sinkN: number(1, 5, "sinkN"),
		items: number(0, 120, "items"), most: number(0, 20, "most"),
		pause: ms(2, "pause"), slow: ms(2, "slow"), at: ms(100, "at"),
		failAt: int64(number(1, 400, "failAt")), leave: number(1, 60, "leave"),
		atFrom: rapid.Bool().Draw(rt, "atFrom"),
	}
	if number(0, 3, "silence") == 0 || uses(s.ops, is("idletimeout")) {
		s.quiet, s.quietAt = ms(150, "quiet"), number(1, 40, "quietAt")
	}
	if number(0, 9, "flood") == 0 && len(fmt.Sprint(s.ops)) < 60 && s.source != "inlet" {
		s.items, s.hang, s.pause = flood, time.Second, 0
	}
	return s
}

// String is what a failure prints.
func (s *scenario) String() string {
	return fmt.Sprintf("fault %s, source %s, %v\nsink %s(%d), items %d, most %d, pause %v, quiet %v at %d, slow %v, hang %v, at %v, "+
		"failAt %d, leave %d, leavers %t, atFrom %t", s.fault, s.source, s.ops, s.sink, s.sinkN, s.items, s.most, s.pause, s.quiet, s.quietAt,
		s.slow, s.hang, s.at, s.failAt, s.leave, s.leavers, s.atFrom)
}

// run runs the scenario, and where a source has a checkpoint once more from there. It returns what is wrong.
func (s *scenario) run(ctx context.Context) error {
	s.seen.note("graph")
	w := newWorld(s)
	if err := w.run(ctx); err != nil || !w.resumes() {
		return err
	}
	s.seen.note("resumed")
	again := *s
	again.fault, again.ops = "none", redraw(s.ops)
	next := newWorld(&again)
	next.shelves = w.shelves
	if err := next.run(ctx); err != nil {
		return fmt.Errorf("in the run that goes on from the checkpoint: %w", err)
	}
	return nil
}

// run runs the scenario once.
func (w *world) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.cancel = cancel
	src, f := w.source(w.s.source)
	f = w.chain(f, w.s.ops)
	var err error
	var r *flow.Run
	switch {
	case w.s.fault == "leave":
		err = w.consume(ctx, cancel, f, "loop")
	case !startable(w.s.sink):
		err = w.consume(ctx, cancel, f, w.s.sink)
	default:
		p := w.to(f, w.s.sink, w.s.sinkN)
		if r, err = w.start(ctx, p); err != nil {
			return err
		}
		err = w.finish(src, r, cancel)
	}
	w.tidy(err)
	w.judge(src, err)
	if r != nil {
		w.wrong(w.edges(r, true))
		w.wrong(w.balance(r))
	}
	bad := errors.Join(w.bad...)
	if bad != nil && r != nil {
		return fmt.Errorf("%w\nthe run ended with %w\nreport %+v\n%s", bad, err, r.Report(), r.Graph().Mermaid())
	}
	return bad
}

// start starts p and what is around it.
func (w *world) start(ctx context.Context, p flow.Pipeline) (*flow.Run, error) {
	w.graph = p.Graph()
	r, err := watched(p).Start(ctx) // and nothing is taken for a deadlock
	if err != nil {
		return nil, err
	}
	if got := r.Graph(); got.Bound != w.graph.Bound {
		w.wrong(fmt.Errorf("the bound of the run is %d, that of its pipeline %d", got.Bound, w.graph.Bound))
	}
	w.live = r
	w.begin()
	return r, nil
}

// finish looks at the run now and then, does what the fault says, and waits for the end.
func (w *world) finish(src *source, r *flow.Run, cancel context.CancelCauseFunc) error {
	stuck := time.AfterFunc(stuckAfter, r.Stop) // a graph that is stuck fails as one that was stopped
	defer stuck.Stop()
	w.watch(src, r, w.s.at/2, 2)
	asked := time.Now()
	switch w.s.fault {
	case "stop":
		r.Stop()
	case "cancel":
		cancel(errCancel)
	case "drain":
		return r.Drain(context.Background())
	default:
		w.watch(src, r, w.s.hang/4+w.s.at, 3)
		return r.Wait()
	}
	err := r.Wait()
	if late := time.Since(asked); late > 0 { // L5; all user code here heeds its context
		w.wrong(fmt.Errorf("L5: the run ended %v after it was told to", late))
	}
	return err
}

// watch looks at the run a few times, each time when everything in it waits.
func (w *world) watch(src *source, r *flow.Run, every time.Duration, times int) {
	for range times {
		select {
		case <-r.Done():
			return
		case <-time.After(every):
		}
		synctest.Wait()
		w.look(src, r)
	}
}

// consume runs f without a handle on the run: in a loop that ends early, or until there is a result.
func (w *world) consume(ctx context.Context, cancel context.CancelCauseFunc, f stream, kind string) (err error) {
	stuck := time.AfterFunc(stuckAfter, func() { cancel(flow.ErrStopped) })
	defer stuck.Stop()
	if w.s.fault == "cancel" {
		defer time.AfterFunc(w.s.at, func() { cancel(errCancel) }).Stop()
	}
	e := w.newEnd(kind, 1)
	w.begin()
	var got []datum
	switch kind {
	case "collect":
		got, err = f.Take(1<<40).Collect(ctx, 1<<40)
	case "reduce":
		got, err = f.Take(1<<40).Reduce(ctx, nil, func(ds []datum, d datum) []datum { w.must(); return append(ds, d) })
	default:
		return w.loop(ctx, f, e)
	}
	for _, d := range got {
		_ = e.got.each(ctx, d)
	}
	return err
}

// loop consumes f by a loop that ends early.
func (w *world) loop(ctx context.Context, f stream, e *end) error {
	n := 0
	for d, err := range f.All(ctx) {
		if err != nil {
			return err
		}
		_ = e.got.each(ctx, d)
		if n++; n == w.s.leave {
			break
		}
	}
	return nil
}

// judge compares how the run ended, and what came out, with the reference.
func (w *world) judge(src *source, err error) {
	_, full := errors.AsType[*flow.FullError](err)
	struck := w.struck.Load()
	w.exact = err == nil && !w.leavers && !struck
	w.lenient = w.leavers && w.forks || w.fed() && (err != nil || w.leavers || w.s.fault == "drain")
	switch {
	case err == nil:
		if struck && !w.leavers && w.s.fault != "drain" {
			w.wrong(errors.New("the run ended well in spite of the fault"))
		}
	case full && uses(w.s.ops, is("reject")):
	case struck && (errors.Is(err, errFault) || w.s.fault == "goexit" && errors.Is(err, errGoexit)):
	case w.s.fault == "stop" && errors.Is(err, flow.ErrStopped):
	case w.s.fault == "cancel" && errors.Is(err, errCancel):
	case errors.Is(err, flow.ErrIdle):
		w.idle(err)
	default:
		w.wrong(fmt.Errorf("the run failed: %w", err))
	}
	w.record(true)
	w.wrong(w.settledOnce())
	w.check(src)
	if w.exact {
		w.allDone()
		w.reached()
		if len(w.idles) > 0 {
			w.s.seen.note("not idle")
		}
	}
}

// check compares what has come so far with the reference.
func (w *world) check(src *source) {
	want := w.follow(src, w.s.ops)
	for _, e := range w.ends {
		w.compare(e, want)
	}
}

// TestRandomGraphs runs random graphs of all operators against a sequential reference, with a fault at a random moment: an error,
// a panic or a Goexit at any call of user code, a stop, a cancelled context, a drain, a consumer that leaves. A failure is
// shrunk, and printed with the flag that replays it. -rapid.checks is per fault and round; 100 of them make 2,400 graphs.
func TestRandomGraphs(t *testing.T) {
	seen := newCensus()
	for _, fault := range faults {
		for round := range 3 {
			t.Run(fmt.Sprint(fault, round+1), func(t *testing.T) {
				rapid.Check(t, func(rt *rapid.T) {
					s := drawScenario(rt, fault)
					s.seen = seen
					var bad error
					synctest.Test(t, func(t *testing.T) { bad = s.run(context.WithoutCancel(t.Context())) })
					if bad != nil {
						rt.Fatalf("%v\n%s", s, strings.TrimSpace(bad.Error()))
					}
				})
			})
		}
	}
	seen.check(t)
}

// uses reports whether an operator of some kind occurs in the graph.
func uses(ops []*op, is func(*op) bool) bool {
	return slices.ContainsFunc(ops, func(o *op) bool {
		return is(o) || slices.ContainsFunc(o.subs, func(sub []*op) bool { return uses(sub, is) })
	})
}

// is matches operators of some kinds.
func is(kinds ...string) func(*op) bool {
	return func(o *op) bool { return slices.Contains(kinds, o.kind) }
}
