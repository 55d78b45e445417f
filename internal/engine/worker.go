package engine

import (
	"context"
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/weir-go/weir/internal/claim"
	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// Worker is one goroutine of a run.
type Worker struct {
	// In and Out are the places where the worker parks: for items, and for room.
	In, Out *queue.Waiter

	lifetime
	run    *Run
	id     int             // in the run's list
	places [2]queue.Waiter // what In and Out point to
	body   func() error    // runs until the stream ends; after a Goexit that was dealt with it is called again
	leave  func()          // gives back what the chain holds
	stages []*Stage        // head to tail; where chains meet, one chain after the other
	sink   bool

	ahead []func(*Stage) // told which stage comes next
	pairs [][2]*Stage    // neighbours

	pace   pacer
	handed struct { // the last chunk from the head
		at          int64
		asked, took int
		parked      int64
	}
	chunks   int
	curbed   bool // the head would have taken more than it was asked for
	sampling bool // this chunk's time is attributed to the stages

	active  atomic.Pointer[Stage] // whose user code is running
	held    clock.Stopwatch       // for room in a window of results
	turn    chan struct{}         // says that there is room; made when it is first waited for
	router  *Worker               // of a group: who fills its lane
	gathers gathering             // what gathers items in it, if anything does
	started atomic.Int64
	ended   atomic.Int64

	holds   int  // items that steps may keep
	branch  bool // it works for a branch of a fan-out
	outputs atomic.Int32
	quits   []func()     // tell the heads from another goroutine
	closes  []func()     // called when the worker has ended
	gate    *Gate        // of the loop that it lets items into
	hides   func() bool  // whether items may be with goroutines that are not looked at, such as other runs; nil: never
	outs    []output     // the edges that it feeds
	opens   []func()     // called when the run starts, before any goroutine
	inHand  atomic.Int64 // items of the last chunk
	resume  bool         // a Goexit was recorded, go on in a new goroutine
	blamed  bool         // a Goexit was recorded, the item has failed
	doubt   bool         // one of the items in its hands is to blame, and nobody knows which
	leaving bool         // its body has returned, or will not, or a step has enough
	ending  sync.Once
}

// output is what a worker does to an edge that it feeds: it says that it is done, or that there is no end behind what it has put.
type output interface {
	CloseProducer()
	Abort(cause error)
}

// Body sets what the worker does: body, and leave, which gives back what its chain holds.
func (w *Worker) Body(body func() error, leave func()) { w.body, w.leave = body, leave }

// open makes the worker ready to run.
func (w *Worker) open(ctx context.Context, now int64) {
	w.parent, w.owner = ctx, w
	w.started.Store(now)
	for _, fn := range w.opens {
		fn()
	}
}

// Hold says that a step of the worker may keep n items, for the bound of the whole.
func (w *Worker) Hold(n int) { w.holds += n }

// Bound returns the most items that the worker may have in its hands.
func (w *Worker) Bound() int { return w.pace.limit + w.holds }

// unwanted reports whether the worker is to end because nobody wants its output. What fails then is of no interest; when the
// run fails, it is.
func (w *Worker) unwanted() bool { return w.Gone() == ErrLeft }

// outputLeft is called when one of the edges that the worker feeds has no consumer any more.
func (w *Worker) outputLeft() {
	if w.outputs.Add(-1) == 0 {
		w.quit(queue.ErrLeft)
	}
}

// quit ends the worker from another goroutine.
func (w *Worker) quit(cause error) {
	w.end(cause)
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
	k := w.pace.grant(want)
	w.curbed = k == want && k < w.pace.size
	return k
}

// took closes a head's pull.
func (w *Worker) took(now int64, asked, n int) {
	w.handed.at, w.handed.asked, w.handed.took, w.handed.parked = now, asked, n, w.waited()
	w.inHand.Store(int64(n))
}

// slow reports whether the current chunk has taken long, waiting for room not counted, so that what is done of it is to be handed
// on.
func (w *Worker) slow() bool {
	spent := clock.Now() - w.handed.at
	return spent > int64(longChunk) && spent-(w.waited()-w.handed.parked) > int64(longChunk)
}

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
			w.doubt = true
		case !finished && w.resume:
			w.resume = false
			go w.main()
			return
		case !finished && errors.Is(w.Gone(), stage.ErrGoexit):
			err = w.Gone() // a hook's, which is known already
			w.doubt = !w.blamed
		case !finished:
			err = w.failure(stage.ErrGoexit, nil)
			w.doubt = !w.blamed
		}
		w.finish(err)
		w.run.workers.Done()
	}()
	deepen(len(w.stages))
	err = w.body()
	finished = true
}

// deepen makes the stack of a new goroutine grow while there is hardly anything on it. It would grow anyway, but in the middle
// of the chain, and copying a dozen frames costs more than all else that a goroutine does to start and end.
//
//go:noinline
func deepen(i int) byte {
	var room [1536]byte
	room[i%len(room)] = 1
	return room[(i+1)%len(room)]
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
			for _, out := range w.outs { // another goroutine may be about to, and a clean end must not come first
				out.Abort(err)
			}
		}
		w.leaving = true
		w.leave()
		for _, out := range w.outs {
			out.CloseProducer()
		}
		for _, done := range w.closes {
			done()
		}
		w.end(queue.ErrLeft)
		w.ended.Store(clock.Now())
	})
}

// errCutShort is why items are given back by a worker whose user code has not returned, before the run knows of that. It must
// not be ErrLeft, which would be done with the items of a branch.
var errCutShort = errors.New("flow: the run ends with an error")

// giveBack releases the tags of n items that nobody has processed, because of cause; nil is what ends the worker.
func (w *Worker) giveBack(cause error, n int, tags []*Tag) {
	if n == 0 {
		return
	}
	w.run.report.givenBack.Add(int64(n))
	switch {
	case cause != nil:
	case w.leaving, w.Gone() != nil:
		cause = w.Cause()
	default:
		cause = errCutShort
	}
	release(tags, w.givenBack(w.branch, cause))
}

// givenBack is how an item ends, of a branch or not, that the worker gives back because of cause. Where one of them is to blame and
// nobody knows which, none is cleared of it: it might come again for ever.
func (w *Worker) givenBack(branch bool, cause error) stage.Outcome {
	o := claim.GivenBack(cause)
	if branch {
		o = LeftEarly(cause)
	}
	o.GivenBack = o.GivenBack && !w.doubt
	return o
}

// LeftEarly is how a branch of a fan-out ends what it holds: where it has left because it wants no more, that is done, so
// that it does not come again for ever. The others go on.
func LeftEarly(cause error) stage.Outcome {
	if cause == ErrLeft {
		return stage.Outcome{}
	}
	return claim.GivenBack(cause)
}

// Cause says why items are given back.
func (w *Worker) Cause() error {
	if err := w.Gone(); err != nil {
		return err
	}
	return queue.ErrLeft
}

// release ends items with o.
func release(tags []*Tag, o stage.Outcome) { claim.ReleaseAll(tags, o) }
