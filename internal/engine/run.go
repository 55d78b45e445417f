package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// deafAfter is how long a stopped run waits for user code that ignores its context.
const deafAfter = time.Second

// errDrain ends a pull that is waiting when a drain begins.
var errDrain = errors.New("flow: the run is draining")

// Edge is what a run knows of an edge, whatever its type of item.
type Edge interface {
	Info() EdgeInfo
	Stats() queue.Stats
	Abort(cause error)

	survey(s *survey)
	consumers() []*Worker
	stageOf(w *Worker) string // the one behind it that w reads for; "" if there is none
	grow(n int) bool
	shed() bool
}

// Part is when something is closed: sinks first, then what keeps dead letters, then sources, whose acknowledgements must get out.
type Part int

// The parts, in the order in which they are closed.
const (
	SinkPart Part = iota
	DeadLetterPart
	SourcePart
)

// Run is one run of a pipeline: first built, then started once. Its methods are safe for concurrent use after Start.
type Run struct {
	Workers []*Worker
	Edges   []Edge
	Stages  []*Stage

	ctx     context.Context
	cancel  context.CancelCauseFunc
	watch   func() bool // takes the watcher off the caller's context
	started int64
	ended   atomic.Int64
	workers countdown
	drains  []func()
	closers []closer
	closed  int // of closers, as far as their Close was called
	openers []opener
	spots   []spot // where workers wait for each other beside the edges
	monitor monitor
	report  counts

	watchdog watchdog

	mu        sync.Mutex
	running   bool  // it has been started
	early     error // of a stop before that
	cause     error
	others    []error
	sinks     int // that must reach their end
	reached   int
	deaf      *time.Timer
	closing   io.Closer // what is being closed
	published bool
	clean     bool  // every sink has reached its end, and all goroutines theirs
	late      error // of a stop after that

	done   chan struct{}
	result error
}

// counts are the figures of a report that the run keeps itself.
type counts struct {
	done, skipped, failed, givenBack, unknown atomic.Int64
}

// countdown calls last when as many have called Done as were added. Unlike a WaitGroup it needs no goroutine that waits.
type countdown struct {
	n    atomic.Int64
	last func()
}

// Hold adds one, unless all have called Done.
func (c *countdown) Hold() bool {
	for n := c.n.Load(); n > 0; n = c.n.Load() {
		if c.n.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// Drop is Done for a caller that can't wait for what comes last.
func (c *countdown) Drop() {
	if c.n.Add(-1) == 0 {
		go c.last()
	}
}

// Done counts one down.
func (c *countdown) Done() {
	if c.n.Add(-1) == 0 {
		c.last()
	}
}

// NewRun returns a run without anything in it.
func NewRun() *Run { return &Run{done: make(chan struct{})} }

// NewWorker adds a goroutine.
func (r *Run) NewWorker() *Worker {
	w := &Worker{run: r, id: len(r.Workers), pace: newPacer(maxChunk)}
	w.In, w.Out = &w.places[0], &w.places[1]
	w.In.Owner, w.Out.Owner = w, w
	r.Workers = append(r.Workers, w)
	return w
}

// NewStage adds a stage.
func (r *Run) NewStage(kind Kind, op, name string, at Origin) *Stage {
	st := &Stage{Name: name, Op: op, Kind: kind, At: at}
	r.Stages = append(r.Stages, st)
	return st
}

// OnDrain registers what a drain has to tell.
func (r *Run) OnDrain(fn func()) { r.drains = append(r.drains, fn) }

// closer is something to be closed, for a stage.
type closer struct {
	io.Closer
	part  Part
	stage string
}

// Register has v opened before the run starts, if it is a [stage.Opener], and closed for the stage when the run
// has ended, if it is an io.Closer: once each, however often it is registered.
func (r *Run) Register(p Part, stage string, v any) {
	r.opens(p, stage, v)
	c, ok := v.(io.Closer)
	if ok && !slices.ContainsFunc(r.closers, func(o closer) bool { return o.part == p && identical(o.Closer, c) }) {
		r.closers = append(r.closers, closer{c, p, stage})
	}
}

// Start runs every worker but inline, which the caller runs itself and ends with Finish.
func (r *Run) Start(ctx context.Context, inline *Worker) {
	r.started = clock.Now()
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.workers.last = r.complete
	r.workers.n.Store(int64(len(r.Workers)))
	for _, w := range r.Workers {
		w.open(r.ctx, r.started)
		if w.sink {
			r.sinks++
		}
	}
	if ctx.Done() != nil {
		r.watch = context.AfterFunc(ctx, func() { r.Stop(context.Cause(ctx)) })
	}
	r.mu.Lock()
	r.running = true
	early := r.early
	r.mu.Unlock()
	r.monitor.start(r)
	r.watchdog.start(r)
	if early != nil {
		r.fail(early)
	}
	for _, w := range r.Workers {
		if w != inline {
			go w.main()
		}
	}
}

// Finish ends a worker that the caller ran itself.
func (r *Run) Finish(w *Worker, err error) {
	w.finish(err)
	r.workers.Done()
}

// Stop abandons the run: cause is what Wait returns, unless the run has failed before.
func (r *Run) Stop(cause error) { r.fail(cause) }

// fail records an error that ends the run; the first one stops it.
func (r *Run) fail(err error) {
	r.mu.Lock()
	first := r.cause == nil
	switch {
	case r.published:
		r.mu.Unlock()
		return
	case !r.running: // it is being built, and a hub or an inlet that it reads from has failed: Start sees to it
		if r.early == nil {
			r.early = err
		}
		r.mu.Unlock()
		return
	case r.clean: // all is done but for the closing: that is not waited for any longer than a second
		if r.late == nil {
			r.late = err
			r.deaf = time.AfterFunc(deafAfter, r.abandon)
		}
		r.mu.Unlock()
		return
	case first:
		r.cause = err
		if r.deaf == nil {
			r.deaf = time.AfterFunc(deafAfter, r.abandon)
		}
	case !errors.Is(err, r.cause) && !errors.Is(err, context.Canceled) && !r.knows(err):
		r.others = append(r.others, err)
	}
	r.mu.Unlock()
	if !first {
		return
	}
	if r.workers.Hold() { // what edges give back must be out before anything is closed
		defer r.workers.Drop()
	}
	r.cancel(err)
	for _, e := range r.Edges {
		e.Abort(err)
	}
	for _, w := range r.Workers {
		w.quit(err)
	}
}

// knows reports whether an error of the same stage is recorded: many workers fail with the same, and one tells it all. It is
// called with the lock.
func (r *Run) knows(err error) bool {
	e, ok := errors.AsType[*stage.Error](err)
	if !ok {
		return false
	}
	return slices.ContainsFunc(append(r.others, r.cause), func(o error) bool {
		other, ok := errors.AsType[*stage.Error](o)
		return ok && other.Stage == e.Stage
	})
}

// reachedEnd is called by a worker whose stream has ended.
func (r *Run) reachedEnd(w *Worker) {
	if !w.sink || r.ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reached++; r.reached == r.sinks && r.deaf == nil {
		r.deaf = time.AfterFunc(deafAfter, r.abandon) // whoever still runs has been told that nobody wants more
	}
}

// complete runs when the last worker has ended, in its goroutine.
func (r *Run) complete() {
	r.mu.Lock()
	if r.cause == nil && r.reached < r.sinks {
		r.cause = context.Cause(r.ctx) // cancelled at the very end
	}
	if r.clean = r.cause == nil; r.clean && r.deaf != nil {
		r.deaf.Stop() // nobody was deaf, and a clean end leaves Close its time
	}
	r.mu.Unlock()
	slices.SortStableFunc(r.closers, func(a, b closer) int { return int(a.part - b.part) })
	r.close(nil)
}

// close closes all parts that have not been, and publishes the result. A panic in a Close is its error; a Goexit in it ends the
// goroutine, and another one goes on.
func (r *Run) close(errs []error) {
	finished := false
	defer func() {
		if !finished {
			go r.close(append(errs, closeError(r.closers[r.closed-1], stage.ErrGoexit)))
		}
	}()
	for r.closed < len(r.closers) {
		c := r.closers[r.closed]
		r.mu.Lock()
		r.closing = c.Closer
		r.mu.Unlock()
		r.closed++
		if err := closeOne(c); err != nil {
			errs = append(errs, closeError(c, err))
		}
	}
	finished = true
	if r.watch != nil {
		r.watch()
	}
	r.cancel(queue.ErrLeft)
	r.publish(errs)
}

func closeOne(c closer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &stage.PanicError{Value: p}
		}
	}()
	return c.Close()
}

// closeError says whose Close has failed.
func closeError(c closer, err error) error {
	return &stage.Error{Stage: c.stage, Err: fmt.Errorf("close: %w", err)}
}

// abandon publishes the result of a run that should have ended long ago, but whose user code does not return.
func (r *Run) abandon() {
	var names []string
	for _, w := range r.Workers {
		if w.ended.Load() != 0 {
			continue
		}
		r.report.unknown.Add(w.inHand.Load())
		if st := w.active.Load(); st != nil {
			names = append(names, st.Name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	r.mu.Lock()
	closing, late := r.closing, r.late
	waits := r.clean && late == nil // for a Close that has its time
	r.mu.Unlock()
	switch {
	case waits, closing == nil && len(names) == 0:
		return // all have just ended
	case closing != nil:
		names = append(names, fmt.Sprintf("%T.Close", closing))
	}
	r.publish([]error{late, fmt.Errorf("flow: the run is over, but the code of %s has not returned", strings.Join(names, ", "))})
}

// publish sets the result, once.
func (r *Run) publish(more []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.published {
		return
	}
	r.published = true
	if r.deaf != nil {
		r.deaf.Stop()
	}
	r.monitor.stop()
	r.watchdog.stop()
	r.ended.Store(clock.Now())
	errs := make([]error, 0, 1+len(r.others)+len(more))
	if r.cause != nil {
		errs = append(errs, r.cause)
	}
	errs = append(append(errs, r.others...), more...)
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 1 {
		r.result = errs[0]
	} else {
		r.result = errors.Join(errs...)
	}
	close(r.done)
}

// Done is closed when the run has ended.
func (r *Run) Done() <-chan struct{} { return r.done }

// Wait waits for the end of the run and returns its error.
func (r *Run) Wait() error {
	<-r.done
	return r.result
}

// Drain stops the intake and waits until everything inside has left. Once ctx is done it becomes Stop.
func (r *Run) Drain(ctx context.Context, stopped error) error {
	for _, fn := range r.drains {
		fn()
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		r.Stop(fmt.Errorf("%w: drain: %w", stopped, context.Cause(ctx)))
	}
	return r.Wait()
}

// Elapsed returns for how long the run has been running.
func (r *Run) Elapsed() time.Duration {
	end := r.ended.Load()
	if end == 0 {
		end = clock.Now()
	}
	return time.Duration(end - r.started)
}
