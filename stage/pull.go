package stage

import (
	"context"
	"errors"
)

// errPanicked is the final error of a part whose input or output panicked. A part sets it before it calls foreign code and
// takes it back afterwards, so that it stands when the call does not return: a recovered panic, or a runtime.Goexit, is then
// never followed by what looks like a clean end (P12).
var errPanicked = errors.New("stage: used again after a panic in an earlier call")

// errClosed is the final error of a source that was closed before its end.
var errClosed = errors.New("stage: source is closed")

// proceed reports whether a Pull has work to do, and if not, what it returns: the final error (P4), nothing for an empty dst
// (P6), or the cause of a context that is done (P7).
func proceed(ctx context.Context, final error, demand int) (bool, error) {
	switch {
	case final != nil:
		return false, final
	case demand == 0:
		return false, nil
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	default:
		return true, nil
	}
}
