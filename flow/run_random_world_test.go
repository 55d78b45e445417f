package flow_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// datum is what flows through a random graph: a value, the messages that it was made of, the input of a Merge that it came
// through, and how many values a Conflate has made it of.
type datum struct {
	v    int
	ids  []int
	mark int
	of   int
}

func (d datum) String() string { return fmt.Sprint(d.v, d.ids) }

type stream = flow.Flow[datum]

var errGoexit = stage.ErrGoexit

// idSpan is how many numbers a source has for its messages.
const idSpan = 10_000

// world is one run of a scenario: what its user code has seen, and what is wrong.
type world struct {
	s       *scenario
	table   map[string]operator
	sources []*source
	ends    []*end         // the main ones
	shelves map[int]*shelf // by source, from one run to the next
	idles   []*op          // the IdleTimeouts
	count   int            // of points, for names
	forks   bool           // an item may have several ways
	leavers bool           // something may end its input early

	cancel  context.CancelCauseFunc
	begun   chan struct{} // closed when the run has been started
	over    chan struct{} // closed at its end
	starts  []func()      // what runs beside it
	tidies  []func(error) // to be done when it has ended, told how
	helpers sync.WaitGroup
	graph   flow.Graph
	live    *flow.Run // nil before begun, and where nobody has a handle
	ended   time.Duration

	events  atomic.Int64
	onEvent func(n int64) // nil: nobody counts
	permits *permits      // of the limiter that its stages share; nil: none has one
	calls   atomic.Int64
	struck  atomic.Bool
	hung    atomic.Bool

	lenient, exact bool

	mu    sync.Mutex
	bad   []error
	began time.Time
}

func newWorld(s *scenario) *world {
	w := &world{
		s: s, table: allOperators(), shelves: map[int]*shelf{}, began: time.Now(),
		begun: make(chan struct{}), over: make(chan struct{}),
	}
	w.leavers = s.fault == "leave" || uses(s.ops, leaving)
	w.forks = uses(s.ops, forking)
	return w
}

// begin starts what runs beside the run.
func (w *world) begin() {
	close(w.begun)
	for _, start := range w.starts {
		start()
	}
}

// tidy ends what runs beside the run, which has ended with err.
func (w *world) tidy(err error) {
	w.ended = time.Since(w.began)
	close(w.over)
	for _, fn := range w.tidies {
		fn(err)
	}
	w.helpers.Wait()
}

func (w *world) wrong(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.bad = append(w.bad, err)
	}
}

// well reports whether nothing is known to be wrong.
func (w *world) well() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.bad) == 0
}

// event is called at each call of user code, each pull and each settlement.
func (w *world) event() {
	if n := w.events.Add(1); w.onEvent != nil {
		w.onEvent(n)
	}
}

// hit is called by all user code, and does the fault when it is its turn.
func (w *world) hit() error {
	w.event()
	if w.calls.Add(1) != w.s.failAt || !slices.Contains([]string{"error", "panic", "goexit"}, w.s.fault) {
		return nil
	}
	w.struck.Store(true)
	switch w.s.fault {
	case "panic":
		panic(errFault)
	case "goexit":
		runtime.Goexit()
	}
	return errFault
}

// must is hit for functions that can't fail.
func (w *world) must() {
	if err := w.hit(); err != nil {
		panic(err)
	}
}

// dwell is how long a sink takes for a push: the first one of a scenario may hang.
func (w *world) dwell(ctx context.Context) error {
	d := w.s.slow
	if w.s.hang > 0 && w.hung.CompareAndSwap(false, true) {
		d = w.s.hang
	}
	return nap(ctx, d)
}

// point is a place where the values are noted that pass: a source, or the exit of an operator whose result depends on who was
// faster. The reference goes on with what was noted.
type point struct {
	name    string
	number  int
	got     *seen[datum]
	dropped *seen[datum]    // by the edge there
	own     *seen[datum]    // made there
	most    int             // an edge's capacity
	ended   flow.Settlement // how what it drops ends; nil: it does not say
}

func (w *world) point(name string) *point {
	w.count++
	return &point{
		name: fmt.Sprint(name, w.count), number: w.count,
		got: newSeen[datum](), dropped: newSeen[datum](), own: newSeen[datum](),
	}
}

// watch notes what passes p.
func (p *point) watch(f stream) stream {
	return f.Tap(func(d datum) { _ = p.got.each(context.Background(), d) })
}

// settledOnce is L1: every message that was handed out is settled, once.
func (w *world) settledOnce() error {
	var errs []error
	for _, src := range w.sources {
		if src.broker != nil {
			errs = append(errs, src.broker.problem())
		}
	}
	return errors.Join(errs...)
}

// outcome returns how message id ended.
func (w *world) outcome(id int) (stage.Outcome, bool) {
	b := w.sources[id/idSpan].broker
	b.mu.Lock()
	defer b.mu.Unlock()
	os := b.settled[id%idSpan]
	if len(os) == 0 {
		return stage.Outcome{}, false
	}
	return os[0], true
}

// allDone checks that a run without a fault has let no message down.
func (w *world) allDone() {
	for k, src := range w.sources {
		if src.broker == nil || src.shelf != nil { // reached is for the latter
			continue
		}
		var left []int
		for i := range src.broker.next {
			o, _ := w.outcome(k*idSpan + i)
			late := w.s.fault == "drain" && o.Kind == stage.Failed // given back behind the drain
			if o.Kind != stage.Done && !errors.Is(o.Err, flow.ErrDropped) && !late {
				left = append(left, i)
			}
		}
		if len(left) > 0 {
			w.wrong(fmt.Errorf("source %d: messages %v are not done", k, brief(left)))
		}
	}
}
