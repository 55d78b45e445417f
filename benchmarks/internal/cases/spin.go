package cases

import (
	"sync"
	"time"
)

// spin keeps the CPU busy for some turns. It never returns 0.
//
//go:noinline
func spin(turns int) uint64 {
	x := uint64(88172645463325252)
	for range turns {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// turnsPer100ns is how many turns of spin take 100 ns on this machine: the fastest of some measurements, as others may be
// disturbed.
var turnsPer100ns = sync.OnceValue(func() int {
	const turns = 1_000_000
	best := time.Hour
	for range 5 {
		began := time.Now()
		if spin(turns) != 0 { // always
			best = min(best, time.Since(began))
		}
	}
	return max(int(100*turns/best.Nanoseconds()), 1)
})

// busy returns a function that works for about d, a multiple of 100 ns, and returns v + 1.
func busy(d time.Duration) func(v int64) int64 {
	turns := turnsPer100ns() * int(d/(100*time.Nanosecond))
	return func(v int64) int64 {
		if turns > 0 && spin(turns) == 0 {
			return 0
		}
		return v + 1
	}
}
