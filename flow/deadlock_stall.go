package flow

import (
	"time"

	"github.com/weir-go/weir/internal/engine"
)

// defaultStall is after what time without a moving item a stall is told.
const defaultStall = time.Minute

// Stall says that no item has moved in a run for some time, though user code is running: it may wait for what does not come. A
// deadlock that goes through user code looks like that.
type Stall struct {
	For    time.Duration
	Stages []string // whose code is running, in alphabetical order; waiting for a source does not count, for a subscriber it does
}

// watchdog returns what the engine needs to know.
func (w *watch) watchdog() (d engine.Watchdog) {
	if tell := w.Stalled; tell != nil {
		d.After, d.Stalled = w.StallAfter, func(s engine.Stall) { tell(Stall(s)) }
		if d.After == 0 {
			d.After = defaultStall
		}
	}
	return d
}
