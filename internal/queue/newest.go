package queue

import (
	"time"

	"github.com/weir-go/weir/internal/codel"
)

// newest serves the newest first while the queue stands. What the oldest has waited is the signal: that of the item served would be
// next to nothing as soon as it is the newest.
type newest struct {
	law   codel.Config
	state codel.State
}

func newNewest(o *Order) *newest {
	return &newest{law: codel.Config{Target: o.Target, Interval: o.Interval}}
}

// look takes note of how long the oldest has waited, and how many wait behind it, and returns the end that is served.
func (n *newest) look(now int64, waited time.Duration, behind int) end {
	return end(n.state.Above(&n.law, now, waited, behind))
}
