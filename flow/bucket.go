package flow

import (
	"math"
	"math/bits"
	"time"
)

// bucket is a token bucket that holds n tokens, starts full and fills from empty in per. All that it remembers is the moment at
// which it will be full if nothing more is taken. That moment is kept exactly, in n-ths of a nanosecond, so that no rate drifts.
type bucket struct {
	n, per uint64
	full   int64  // clock; in the past where the bucket is full
	part   uint64 // n-ths of a nanosecond behind full
}

// farOff is later than any wait that matters, and early enough for sums not to overflow.
const farOff = 1 << 61

// newBucket returns a full bucket. Arguments out of range are those of a blueprint that is refused.
func newBucket(n int64, per time.Duration) bucket {
	return bucket{n: uint64(max(n, 1)), per: uint64(min(max(per, 1), farOff)), full: math.MinInt64}
}

// level returns how many tokens there are at now, rounded down; 0 while it is in debt.
func (b *bucket) level(now int64) int64 {
	if b.full <= now && b.part == 0 || b.full < now {
		return int64(b.n)
	}
	missing := uint64(b.full - now)
	if missing >= b.per {
		return 0
	}
	hi, lo := bits.Mul64(b.per-missing, b.n)
	lo, borrow := bits.Sub64(lo, b.part, 0)
	tokens, _ := bits.Div64(hi-borrow, lo, b.per)
	return int64(tokens)
}

// wait returns how long after now there are enough tokens: as many as cost, or all that it holds where cost is more.
func (b *bucket) wait(now, cost int64) time.Duration {
	if cost == 0 || b.full < now {
		return 0
	}
	ns, part := b.time(min(uint64(cost), b.n))
	ns, part = b.after(ns, part)
	if part > 0 {
		ns++
	}
	return time.Duration(max(b.full+ns-int64(b.per)-now, 0))
}

// take takes tokens, also those that it does not have.
func (b *bucket) take(now, cost int64) {
	if b.full < now {
		b.full, b.part = now, 0
	}
	ns, part := b.time(uint64(cost))
	ns, b.part = b.after(ns, part)
	b.full = min(b.full+ns, farOff)
}

// time returns how long it takes to fill in so many tokens.
func (b *bucket) time(tokens uint64) (ns int64, part uint64) {
	hi, lo := bits.Mul64(tokens, b.per)
	if hi >= b.n {
		return farOff, 0
	}
	q, part := bits.Div64(hi, lo, b.n)
	return int64(min(q, farOff)), part
}

// after adds the part behind full to a time.
func (b *bucket) after(ns int64, part uint64) (int64, uint64) {
	if part >= b.n-b.part {
		return ns + 1, part - (b.n - b.part)
	}
	return ns, part + b.part
}
