package broker

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/weir-go/weir/flow"
)

// newPauses makes the waits between attempts at a full stream.
var newPauses = flow.Exponential(firstPause, mostPause)

// pause waits between attempts at a full stream, longer each time, until some message got in. The zero value is ready.
type pause struct{ next backoff.BackOff }

func (p *pause) reset() { p.next = nil }

// wait waits, or returns the cause that ctx has ended for.
func (p *pause) wait(ctx context.Context) error {
	if p.next == nil {
		p.next = newPauses()
	}
	t := time.NewTimer(p.next.NextBackOff())
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
