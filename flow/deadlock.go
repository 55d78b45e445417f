package flow

import (
	"slices"
	"time"

	"github.com/weir-go/weir/internal/engine"
)

// defaultLook is the time between two looks at a run.
const defaultLook = time.Second

// DeadlockConfig says how a run looks for stages that wait for each other for ever, and what becomes of it. The zero value is what a
// pipeline does of itself: it looks, and fails with a [*DeadlockError].
//
// Grow, Shed and the end of the run are tried in that order. Growing and shedding are refused where they would not help, but have
// the same items go round for ever: in a circle of edges without a way out.
type DeadlockConfig struct {
	// Interval is the time between two looks, of which two in a row must see the same. 0 is one second, and negative is never. Nothing
	// is looked at while nothing changes, and nothing at all in a run whose goroutines never wait.
	Interval time.Duration

	// Grow is how many places edges may be given in one run: where stages wait for room, the full edge of the circle with the least
	// capacity is doubled, as long as that lasts. 0 is none. What the edge needs is in Found and in Stats: configure it.
	//
	//	Source: T. Parks, "Bounded Scheduling of Process Networks", dissertation, Berkeley 1995.
	Grow int

	// Shed lets a full edge of the circle drop its oldest item, if it says what becomes of a dropped one: with Dropped or
	// SettleDropped. It is counted as DropShed.
	Shed bool

	// Found is told of each deadlock when the reaction to it is known. It is called by a goroutine of the run's, must be quick, and
	// must not panic.
	Found func(*DeadlockError)

	// Stalled is told when no item has moved for StallAfter, or up to a quarter longer, while user code other than that of a source
	// was running: once, until one moves. Nothing is done about it. StallAfter 0 is one minute. It is called as Found is.
	Stalled    func(Stall)
	StallAfter time.Duration
}

// OnDeadlock returns p with another reaction to stages that wait for each other for ever. It may be said once for pipelines that
// are joined, of one of them or of the whole. Of one that runs beside a chain, in a Tee or a With, it is a build error, and so are fields
// out of range.
func (p Pipeline) OnDeadlock(c DeadlockConfig) Pipeline {
	w := &watch{DeadlockConfig: c}
	if c.Grow < 0 || c.Grow > maxCapacity {
		w.bad = append(w.bad, "flow: OnDeadlock: "+argument("Grow", "0 to 2147483647", c.Grow))
	}
	if c.StallAfter < 0 {
		w.bad = append(w.bad, "flow: OnDeadlock: "+argument("StallAfter", ">= 0", c.StallAfter))
	}
	p.watch = w
	return p
}

// watch is a DeadlockConfig, and what is wrong with it.
type watch struct {
	DeadlockConfig
	bad []string
}

// runsBeside makes p part of whatever n becomes part of.
func (n *node) runsBeside(p Pipeline) {
	n.sides = p.leaves
	n.check(p.watch == nil, "the pipeline beside it has an OnDeadlock: say it of the whole")
}

// joined returns that of pipelines which run together.
func joined(ps []Pipeline) (w *watch) {
	for _, p := range ps {
		switch {
		case p.watch == nil, p.watch == w:
		case w == nil:
			w = p.watch
		default:
			return &watch{bad: slices.Concat(w.bad, p.watch.bad, []string{"flow: Join: several of the pipelines have an OnDeadlock: say it once, of the whole"})}
		}
	}
	return w
}

// apply has a run do what is configured.
func (w *watch) apply(r *engine.Run) (bad []string) {
	if w == nil {
		w = new(watch)
	}
	d := engine.Detection{Every: w.Interval, Found: (&reaction{config: &w.DeadlockConfig, reserve: w.Grow}).to}
	switch {
	case w.Interval == 0:
		d.Every = defaultLook
	case w.Interval < 0:
		d.Every = 0
	}
	r.Detect(d)
	r.Watch(w.watchdog())
	return w.bad
}

// reaction is what one run does about deadlocks.
type reaction struct {
	config  *DeadlockConfig
	reserve int // what is left of it
}

// to reacts to a deadlock. It returns the error that ends the run, nil where it may go on.
func (r *reaction) to(d *engine.Deadlock) error {
	e := deadlockError(d)
	goesOn := r.resolve(d, e)
	if r.config.Found != nil {
		r.config.Found(e)
	}
	if goesOn {
		return nil
	}
	return e
}

// resolve reports whether something could be done.
func (r *reaction) resolve(d *engine.Deadlock, e *DeadlockError) bool {
	switch {
	case r.config.Grow == 0 && !r.config.Shed:
		return false
	case d.Spins():
		e.Refused = "there is no way out of the circle, so its items would go round for ever"
		return false
	}
	if r.config.Grow > 0 {
		capacity, more := d.Grow(r.reserve)
		r.reserve -= more
		if more > 0 {
			e.Capacity = capacity
			return true
		}
		e.Refused = "the places that edges may grow by are used up"
		if !e.Artificial {
			e.Refused = "no edge is full"
		}
	}
	if r.config.Shed {
		if e.Shed = d.Shed(); e.Shed != "" {
			e.Refused = ""
			return true
		}
		e.Refused = "no full edge of the circle says what becomes of a dropped item"
	}
	return false
}
