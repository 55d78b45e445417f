package engine

import (
	"slices"
	"sync"
	"time"
)

// Stall says that nothing has moved for some time, though user code is running.
type Stall struct {
	For    time.Duration
	Stages []string // whose code is running
}

// stallParts is how often it is looked whether anything moves, in the time after which that is told.
const stallParts = 4

// Watchdog says when a run tells of a [Stall].
type Watchdog struct {
	After   time.Duration // 0 is never
	Stalled func(Stall)
}

// watchdog looks whether items move. It is a clock of its own, because nothing else tells that time passes in user code.
type watchdog struct {
	Watchdog
	run *Run

	mu    sync.Mutex
	timer *time.Timer
	over  bool

	survey survey // this and what follows is for the goroutine of the timer
	moved  int64
	still  int // looks in a row that have seen the same
}

// Watch sets when the run tells of a stall. It is called before Start.
func (r *Run) Watch(d Watchdog) { r.watchdog.Watchdog = d }

func (d *watchdog) start(r *Run) {
	d.run = r
	if d.After > 0 {
		d.arm()
	}
}

func (d *watchdog) arm() {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch every := max(d.After/stallParts, 1); {
	case d.over:
	case d.timer == nil:
		d.timer = time.AfterFunc(every, d.look)
	default:
		d.timer.Reset(every)
	}
}

func (d *watchdog) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	if d.timer != nil {
		d.timer.Stop()
	}
}

// look tells of a stall when it has seen the same for long enough, once until something moves.
func (d *watchdog) look() {
	if moved := d.run.moved(); moved != d.moved {
		d.moved, d.still = moved, 0
	} else if d.still++; d.still == stallParts {
		if names := d.run.inUserCode(&d.survey); len(names) > 0 {
			d.Stalled(Stall{For: d.After, Stages: names})
		}
	}
	d.arm()
}

// moved returns a number that is another one whenever an item has moved in or out of a stage.
func (r *Run) moved() (n int64) {
	for _, st := range r.Stages {
		n += st.In.Load() + st.Out.Load() + st.Skipped.Load() + st.Failed.Load()
	}
	return n + r.report.done.Load()
}

// inUserCode returns the stages whose code is running: those of workers and groups that wait nowhere, but for what waits for a source.
func (r *Run) inUserCode(s *survey) (names []string) {
	s.take(r)
	for _, w := range r.Workers {
		if st := w.active.Load(); w.ended.Load() == 0 && !s.waits[w.id].found && st != nil && !st.pulling {
			names = append(names, st.Name)
		}
	}
	names = append(names, s.busy...)
	slices.Sort(names)
	return slices.Compact(names)
}
