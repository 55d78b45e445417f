package engine

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/waitgraph"
)

// Detection says how a run looks for workers that wait for each other for ever.
type Detection struct {
	// Every is the time between two looks, two of which find what there is. 0 is never.
	Every time.Duration
	// Found is told of each deadlock. It returns the error that ends the run, or nil where it has done something about it.
	Found func(*Deadlock) error
}

// Detect sets what the run looks for. It is called before Start.
func (r *Run) Detect(d Detection) { r.monitor.Detection = d }

// monitor looks at a run whenever something in it has begun to wait, until two looks in a row have seen the same: then nothing
// changes before somebody waits anew, and the monitor sleeps. So a run that never waits pays nothing, one that works pays for a look
// in each interval, and one that is idle does not wake up for it.
type monitor struct {
	Detection
	state atomic.Int32
	run   *Run

	mu    sync.Mutex
	timer *time.Timer
	over  bool

	survey   survey // this and what follows is for the goroutine of the timer
	detector waitgraph.Detector
}

// The states of a monitor.
const (
	off     int32 = iota
	asleep        // until something waits
	armed         // the timer is running
	looking       // nothing has begun to wait since
)

func (m *monitor) start(r *Run) {
	m.run = r
	if m.Every > 0 {
		m.state.Store(asleep)
	}
}

// stop ends it. A look that is going on finishes.
func (m *monitor) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.over = true
	if m.timer != nil {
		m.timer.Stop()
	}
}

// notice is called when something has begun to wait.
func (m *monitor) notice() {
	switch m.state.Load() {
	case asleep:
		if m.state.CompareAndSwap(asleep, armed) {
			m.arm()
		}
	case looking:
		m.state.CompareAndSwap(looking, armed) // the look arms the timer when it is done
	}
}

// arm starts the timer.
func (m *monitor) arm() {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.over:
	case m.timer == nil:
		m.timer = time.AfterFunc(m.Every, m.look)
	default:
		m.timer.Reset(m.Every)
	}
}

// look looks once, and arms the timer again unless there is nothing to see.
func (m *monitor) look() {
	m.state.Store(looking)
	knots, changed := m.detector.Look(m.survey.take(m.run))
	for i := range knots {
		m.report(&knots[i])
	}
	if !changed && m.state.CompareAndSwap(looking, asleep) {
		return
	}
	m.state.Store(armed)
	m.arm()
}

// report tells of a knot, and ends the run if that is the answer.
func (m *monitor) report(k *waitgraph.Knot) {
	if err := m.Found(m.describe(k, clock.Now())); err != nil {
		m.run.fail(err)
	}
}
