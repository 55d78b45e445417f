package admission

import "time"

// parts is how many parts a rolling window has.
const parts = 20

// rolling is a sum over a window that ends now. What is old leaves it in parts, never early: it covers the window and up to one
// part more, so a sum that stays below a limit does so in any window of that length. Its owner has the lock.
type rolling struct {
	part  int64 // nanoseconds
	from  int64 // when it was first used
	now   int64 // the number of the current part, from 1 on; 0 before the first use
	sum   int64
	parts [parts + 1]int64
}

func newRolling(window time.Duration) rolling {
	return rolling{part: max(int64(window)/parts, 1)}
}

// move forgets what is too old at now. A clock reading that is older than the last one counts as that.
func (r *rolling) move(now int64) {
	if r.now == 0 {
		r.from, r.now = now, 1
	}
	at := (now-r.from)/r.part + 1
	for steps := min(at-r.now, parts+1); steps > 0; steps-- {
		r.now++
		slot := &r.parts[r.now%(parts+1)]
		r.sum -= *slot
		*slot = 0
	}
	r.now = max(r.now, at)
}

// add counts n.
func (r *rolling) add(now, n int64) {
	r.move(now)
	r.parts[r.now%(parts+1)] += n
	r.sum += n
}

// total returns the sum.
func (r *rolling) total(now int64) int64 {
	r.move(now)
	return r.sum
}

// rate returns the sum per second, over the time that it covers.
func (r *rolling) rate(now int64) float64 {
	r.move(now)
	covered := min(now-r.from, parts*r.part+(now-r.from)%r.part)
	return float64(r.sum) / time.Duration(max(covered, r.part)).Seconds()
}

// turn returns how long it takes until the oldest part is forgotten.
func (r *rolling) turn(now int64) time.Duration {
	r.move(now)
	return time.Duration(r.part - (now-r.from)%r.part)
}

// correct adds n to what was counted in the part with that number, if that is still remembered. What is more than was counted, and
// late, counts now.
func (r *rolling) correct(part, now, n int64) {
	r.move(now)
	switch {
	case part > r.now-parts-1:
	case n > 0:
		part = r.now
	default:
		return
	}
	r.parts[part%(parts+1)] += n
	r.sum += n
}
