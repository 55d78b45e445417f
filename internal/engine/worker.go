package engine

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// Worker is one goroutine of a run.
type Worker struct {
	// In and Out are the places where the worker parks: for items, and for room.
	In, Out *queue.Waiter

	run    *Run
	ctx    context.Context
	cancel context.CancelCauseFunc
	body   func() error // runs until the stream ends; after a Goexit that was dealt with it is called again
	leave  func()       // gives back what the chain holds
	stages []*Stage     // head to tail
	sink   bool

	pace   pacer
	handed struct { // the last chunk from the head
		at          int64
		asked, took int
		parked      int64
	}
	chunks   int
	sampling bool // this chunk's time is attributed to the stages

	active  atomic.Pointer[Stage] // whose user code is running
	pulling clock.Stopwatch       // in a source
	held    clock.Stopwatch       // for room in a window of results
	started atomic.Int64
	ended   atomic.Int64

	holds   int // items that steps may keep
	outputs atomic.Int32
	quits   []func()     // tell the heads from another goroutine
	closes  []func()     // tell the edges that this producer is done
	opens   []func()     // called when the run starts, before any goroutine
	inHand  atomic.Int64 // items of the last chunk
	resume  bool         // a Goexit was recorded, go on in a new goroutine
	ending  sync.Once
}

// Context is what user code gets: it ends with the run, or when nobody wants the worker's output any more.
func (w *Worker) Context() context.Context { return w.ctx }

// Body sets what the worker does: body, and leave, which gives back what its chain holds.
func (w *Worker) Body(body func() error, leave func()) { w.body, w.leave = body, leave }

// Hold says that a step of the worker may keep n items, for the bound of the whole.
func (w *Worker) Hold(n int) { w.holds += n }

// Bound returns the most items that the worker may have in its hands.
func (w *Worker) Bound() int { return w.pace.limit + w.holds }

// Gone returns why the worker should end, nil while it should not.
func (w *Worker) Gone() error {
	if w.ctx.Err() == nil {
		return nil
	}
	return context.Cause(w.ctx)
}

// outputLeft is called when one of the edges that the worker feeds has no consumer any more.
func (w *Worker) outputLeft() {
	if w.outputs.Add(-1) == 0 {
		w.quit(queue.ErrLeft)
	}
}

// quit ends the worker from another goroutine.
func (w *Worker) quit(cause error) {
	if w.cancel != nil {
		w.cancel(cause)
	}
	for _, q := range w.quits {
		q()
	}
}

// granted opens a head's pull at now: it accounts for the last chunk and returns how many of want items to take.
func (w *Worker) granted(now int64, want int) int {
	h, work := &w.handed, int64(0)
	if h.took > 0 {
		work = now - h.at - (w.waited() - h.parked)
		w.pace.observe(h.asked, h.took, work)
	}
	w.chunks++
	w.sampling = w.chunks&63 == 1 || work > int64(longChunk)
	return w.pace.grant(want)
}

// took closes a head's pull.
func (w *Worker) took(now int64, asked, n int) {
	w.handed.at, w.handed.asked, w.handed.took, w.handed.parked = now, asked, n, w.waited()
	w.inHand.Store(int64(n))
}

// spent returns how long ago the head handed over the current chunk, waiting for room not counted.
func (w *Worker) spent() int64 { return clock.Now() - w.handed.at - (w.waited() - w.handed.parked) }

// waited returns how long the worker has waited for room.
func (w *Worker) waited() int64 { return w.Out.Parked.Sum() + w.held.Sum() }

// main is the goroutine.
func (w *Worker) main() {
	var err error
	finished := false
	defer func() {
		switch p := recover(); {
		case p != nil: // not in user code that a step guards
			err = w.failure(&stage.PanicError{Value: p}, debug.Stack())
		case !finished && w.resume:
			w.resume = false
			go w.main()
			return
		case !finished:
			err = w.failure(stage.ErrGoexit, nil)
		}
		w.finish(err)
		w.run.workers.Done()
	}()
	err = w.body()
	finished = true
}

// failure is an error of the stage whose user code was running.
func (w *Worker) failure(err error, stack []byte) error {
	name := "engine"
	if st := w.active.Load(); st != nil {
		name = st.Name
	}
	return &stage.Error{Stage: name, Err: err, Stack: stack}
}

// finish ends the worker: it tells the run, gives back what is held and closes its outputs.
func (w *Worker) finish(err error) {
	w.ending.Do(func() {
		switch {
		case err == stage.ErrEnd:
			w.run.reachedEnd(w)
		case err == nil, errors.Is(err, queue.ErrLeft):
		default:
			w.run.fail(err)
		}
		w.leave()
		for _, done := range w.closes {
			done()
		}
		w.cancel(queue.ErrLeft)
		w.ended.Store(clock.Now())
	})
}

// giveBack releases the tags of n items that nobody has processed.
func (w *Worker) giveBack(n int, tags []*Tag) {
	if n == 0 {
		return
	}
	w.run.report.givenBack.Add(int64(n))
	release(tags, stage.Outcome{Kind: stage.Failed, Err: w.Cause()})
}

// Cause says why items are given back.
func (w *Worker) Cause() error {
	if err := w.Gone(); err != nil {
		return err
	}
	return queue.ErrLeft
}

// release ends items with o.
func release(tags []*Tag, o stage.Outcome) {
	for i, t := range tags {
		tags[i] = nil
		t.Release(o)
	}
}
