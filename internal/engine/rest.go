package engine

import (
	"time"

	"github.com/weir-go/weir/internal/clock"
)

// Rest holds the worker back for d. What is upstream waits meanwhile as it does where there is no room, and the time is counted
// like that: it is no work, of which the pacer would conclude that items are dear. Rest reports false if the worker is to end
// first.
func (w *Worker) Rest(d time.Duration) bool {
	w.held.Start(clock.Now())
	defer func() { w.held.Stop(clock.Now()) }()
	return w.sleep(d)
}
