package queue

import "github.com/weir-go/weir/internal/codel"

// newest serves the newest first while the queue stands. What the oldest has waited is the signal: that of the item served would be
// next to nothing as soon as it is the newest.
type newest struct {
	single
	law    codel.Config
	state  codel.State
	stands bool
}

func newNewest(o *Order, s *slots) *newest {
	return &newest{single: single{s}, law: codel.Config{Target: o.Target, Interval: o.Interval}}
}

func (n *newest) add(int32)          {}
func (n *newest) remove(int32, bool) {}

func (n *newest) next(now int64) int32 {
	n.stands = n.state.Above(&n.law, now, wait(now, n.of[n.age.first].at), n.n-1)
	if n.stands {
		return n.age.last
	}
	return n.age.first
}

func (n *newest) victim(*facts, int64) int32 { return n.age.first }
