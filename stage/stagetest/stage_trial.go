package stagetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// Names of what the kit puts around a part.
const (
	kitSource = "kit-source"
	kitFront  = "kit-front"
	kitBack   = "kit-back"
	kitSink   = "kit-sink"
)

// stageTrial is one run of a check of a part.
type stageTrial[A, B any] struct {
	*stageKit[A, B]
	*findings
	t *testing.T
}

// all does the check and returns what it has found. A check ends itself with a panic of what it lacks.
func (r *stageTrial[A, B]) all(run func(*stageTrial[A, B])) (errs []error) {
	defer func() {
		errs = r.errs
		if v := recover(); v != nil {
			l, ok := v.(lacking)
			if !ok {
				panic(v)
			}
			errs = append(errs, l)
		}
	}()
	run(r)
	return nil // set by the deferred function
}

// scene is what one pipeline of a check is like. The zero scene has no values, no pauses, and a sink that takes everything.
type scene[A, B any] struct {
	n      int                              // how many values go in
	edges  bool                             // with an edge for one value in front of the part and one behind it
	before func(ctx context.Context, i int) // called before value i, or the end; then values come one by one
	final  error                            // behind the values; nil is stage.ErrEnd
	waits  bool                             // the source waits for the end of its context instead
	long   time.Duration                    // how long all pauses are

	work  Work                                        // in user code
	take  func(ctx context.Context, i int, v B) error // before value i is taken
	leave int                                         // downstream leaves behind so many values; 0: never
}

// runs builds the pipeline of a scene and starts it.
func (r *stageTrial[A, B]) runs(s scene[A, B]) *running[A, B] {
	x := &running[A, B]{scene: s, stageTrial: r, settled: make([][]stage.Outcome, s.n)}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.t.Context()))
	x.cancel = func() { cancel(errCause) }
	f := flow.FromItems(stage.ItemSourceFunc(x.pull), flow.Name(kitSource))
	if s.edges {
		f = f.Buffer(1, flow.Block, flow.Name(kitFront))
	}
	out := r.apply(r.t, f, func(ctx context.Context) error {
		x.worked.add()
		if s.work == nil {
			return nil
		}
		return s.work(ctx)
	})
	if s.edges {
		out = out.Buffer(1, flow.Block, flow.Name(kitBack))
	}
	if s.leave > 0 {
		out = out.Take(s.leave)
	}
	run, err := out.ForEach(x.push, flow.Name(kitSink)).Start(ctx)
	if err != nil {
		r.t.Fatalf("the pipeline of the check can't be built: %v", err)
	}
	x.run = run
	r.t.Cleanup(func() {
		x.cancel()
		_ = run.Wait()
	})
	return x
}

// running is the pipeline of a scene while it runs, its source, its sink, and the settler of its messages.
type running[A, B any] struct {
	scene[A, B]
	*stageTrial[A, B]
	run    *flow.Run
	cancel func() // the context of the run, with errCause
	worked counter

	mu      sync.Mutex
	handed  int  // to the pipeline, by the source
	ended   bool // the source has said that there is no more
	got     []B
	last    time.Time         // when the sink was called last
	settled [][]stage.Outcome // of each message
}

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	return c.n
}

func (c *counter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// pull is the source.
func (x *running[A, B]) pull(ctx context.Context, dst []stage.Item[A]) (int, error) {
	if x.before != nil {
		dst = dst[:1]
		x.before(ctx, x.handed)
	}
	if x.handed == x.n && x.waits {
		<-ctx.Done()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case x.handed == x.n && x.final != nil:
		return 0, x.final
	case x.handed == x.n:
		x.ended = true
		return 0, stage.ErrEnd
	}
	n := min(len(dst), x.n-x.handed)
	for i := range dst[:n] {
		token := x.handed + i
		dst[i] = stage.Claimed(x.Item(token), stage.Meta{}, x, uint64(token))
	}
	x.handed += n
	return n, nil
}

// Settle implements stage.Settler.
func (x *running[A, B]) Settle(token uint64, o stage.Outcome) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.settled[token] = append(x.settled[token], o)
}

// push is the sink. What it has taken without an error counts as delivered.
func (x *running[A, B]) push(ctx context.Context, v B) error {
	if x.take != nil {
		if err := x.take(ctx, len(x.out()), v); err != nil {
			return err
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.got = append(x.got, v)
	x.last = time.Now()
	return nil
}

// in returns the values that have gone in.
func (x *running[A, B]) in() []A {
	x.mu.Lock()
	n := x.handed
	x.mu.Unlock()
	return x.values(n)
}

// out returns the values that have come out.
func (x *running[A, B]) out() []B {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clip(x.got)
}

// outcomes returns how message i has ended: once, if all is well.
func (x *running[A, B]) outcomes(i int) []stage.Outcome {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.settled[i]
}

// values returns the first n values that go in.
func (k *stageKit[A, B]) values(n int) []A {
	vs := make([]A, n)
	for i := range vs {
		vs[i] = k.Item(i)
	}
	return vs
}

// wait waits for the end of the run, and reports a run that does not end. It returns how long that took.
func (x *running[A, B]) wait() (took time.Duration, err error) {
	began := time.Now()
	limit := ending(x.Bubble) + x.long
	if !within(limit, x.run.Done()) {
		x.addf("the run has not ended after %v, with %d values in and %d out", limit, len(x.in()), len(x.out()))
		x.run.Stop()
	}
	err = x.run.Wait()
	return time.Since(began), err
}

// healthy runs a scene in which nothing goes wrong, and reports where it fails.
func (r *stageTrial[A, B]) healthy(s scene[A, B]) *running[A, B] {
	x := r.runs(s)
	if _, err := x.wait(); err != nil {
		r.addf("the run of %d values returned %v, want nil", s.n, err)
	}
	return x
}

// needsWork ends the check of a part without user code.
func (r *stageTrial[A, B]) needsWork() int {
	n := r.healthy(scene[A, B]{n: 12}).worked.count()
	if n == 0 {
		panic(lacking("a part that calls Work"))
	}
	return n
}

// once reports messages that have not settled once.
func (x *running[A, B]) once() {
	for i, v := range x.in() {
		switch os := x.outcomes(i); len(os) {
		case 1:
		case 0:
			x.addf("message %d (%s) has not settled, although the run is over", i, shown(v))
			return
		default:
			x.addf("message %d (%s) has settled %d times: %v", i, shown(v), len(os), os)
			return
		}
	}
}

// blamed returns the messages that have failed and were not just given back.
func (x *running[A, B]) blamed() (is []int) {
	for i := range x.in() {
		if os := x.outcomes(i); len(os) > 0 && os[0].Kind == stage.Failed && !os[0].GivenBack {
			is = append(is, i)
		}
	}
	return is
}

// notEarly reports when more messages are done than what has come out accounts for.
func (x *running[A, B]) notEarly() {
	if all := x.values(x.n); x.Want == nil || x.Own != nil || x.Unordered && len(x.Want(all)) != len(all) {
		return // it can't be told of which messages they are made
	}
	done := 0
	for i, v := range x.in() {
		if os := x.outcomes(i); len(os) > 0 && os[0].Kind == stage.Done && !x.LetGo(v) {
			done++
		}
	}
	if most := x.madeOf(len(x.out()), len(x.in())); done > most {
		x.addf("%d messages have ended as done, but all that has arrived is %d results, which are made of %d messages at most", done, len(x.out()), most)
	}
}

// madeOf returns of how many of the first n values the first out results are made, at most and without what is let go.
func (k *stageKit[A, B]) madeOf(out, n int) (most int) {
	for _, v := range k.values(k.through(out, n)) {
		if !k.LetGo(v) {
			most++
		}
	}
	return most
}

// through returns how many of the first n values are through when so many results have come out, with what is let go.
func (k *stageKit[A, B]) through(out, n int) int {
	for in := k.values(n); n > 0 && len(k.Want(in[:n])) > out; {
		n--
	}
	return n
}

// stoppedPart describes the error of a run that a part's fault has stopped, "" if it is as it should be.
func stoppedPart(err, cause error) string {
	e, ok := errors.AsType[*stage.Error](err)
	switch {
	case err == nil:
		return "the run returned nil"
	case !ok:
		return fmt.Sprintf("the run returned %v, want a *stage.Error", err)
	case e.Stage == kitSource || e.Stage == kitSink:
		return fmt.Sprintf("the run returned %v, want an error of the part's stage", err)
	case cause != nil && !errors.Is(err, cause):
		return fmt.Sprintf("the run returned %v, want one that wraps %q", err, cause)
	}
	return ""
}

// pause waits for a random time: none to a hundred of them make a second.
func (r *stageTrial[A, B]) pause(ctx context.Context) {
	longest := 200 * time.Microsecond
	if r.Bubble {
		longest = 5 * time.Millisecond
	}
	rest(ctx, rand.N(longest))
}

// rest waits for d, or for the end of ctx.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
