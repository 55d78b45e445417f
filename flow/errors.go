package flow

import (
	"errors"
	"fmt"

	"github.com/weir-go/weir/internal/queue"
)

// FullError says that an edge was full: its Policy is Reject, or Offer found no room. One value per edge serves all
// refusals, so that refusing allocates nothing; match it with errors.AsType[*flow.FullError](err).
type FullError = queue.FullError

var (
	// ErrClosed is what an Inlet returns once it has been closed, or its run has ended.
	ErrClosed = queue.ErrClosed
	// ErrDropped is what an Inlet returns when its edge dropped the item.
	ErrDropped = queue.ErrDropped
	// ErrGivenBack is how an item fails that nobody processed, because nobody wanted it any more: behind it stood a Take, for
	// example. A message comes again.
	ErrGivenBack = queue.ErrLeft
	// ErrStopped is what a run returns that was stopped with Stop, or whose Drain did not finish in time.
	ErrStopped = errors.New("flow: stopped")
	// ErrWouldDeadlock is what Put and Do of an Inlet return to a stage that gets what comes out of the inlet, instead of waiting for
	// what this stage may have to do itself. Offer never waits.
	ErrWouldDeadlock = errors.New("flow: it would wait for itself")
	// ErrTooMany is what Collect returns beyond its limit, and how an item fails of which Expand emits more than MaxResults.
	ErrTooMany = errors.New("flow: more items than the limit")
)

// argument says what is wrong with a number.
func argument(what, want string, got any) string {
	return fmt.Sprintf("%s must be %s, got %v", what, want, got)
}
