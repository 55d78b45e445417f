package queue

import "slices"

// ranks serves the highest rank first, and lets the lowest pay.
type ranks struct {
	*slots
	lanes    []list
	oldest   bool
	reserved int // places for ranks from here on
	from     int32
	waits    []bool // by rank: somebody waits for a place
}

func newRanks(o *Order, onFull Policy, s *slots) *ranks {
	return &ranks{slots: s, lanes: make([]list, o.Lanes), oldest: onFull == DropOldest, reserved: o.Reserved, from: int32(o.From), waits: make([]bool, o.Lanes)}
}

func (r *ranks) add(i int32)            { r.push(&r.lanes[r.of[i].lane], i, byLane) }
func (r *ranks) remove(i int32, _ bool) { r.cut(&r.lanes[r.of[i].lane], i, byLane) }

func (r *ranks) next(int64) int32 {
	for rank := len(r.lanes) - 1; rank > 0; rank-- {
		if i := r.lanes[rank].first; i != none {
			return i
		}
	}
	return r.lanes[0].first
}

func (r *ranks) behind(int32) int { return r.n - 1 }

// victim is of the lowest rank, the arriving item included.
func (r *ranks) victim(arriving *facts, _ int64) int32 {
	for rank := range r.lanes[:arriving.lane] {
		if l := &r.lanes[rank]; l.n > 0 {
			if r.oldest {
				return l.first
			}
			return l.last
		}
	}
	if r.oldest {
		return r.lanes[arriving.lane].first
	}
	return none
}

// admits keeps the reserve for those that it is for. Nobody passes one of a rank as high that waits.
func (r *ranks) admits(arriving *facts, free int) bool {
	return r.fits(arriving.lane, free) && !slices.Contains(r.waits[arriving.lane:], true)
}

func (r *ranks) fits(rank int32, free int) bool { return free > r.reserved || rank >= r.from }

// wait implements [keeper], as do the methods below.
func (r *ranks) wait(of *facts)   { r.waits[of.lane] = true }
func (r *ranks) empty(rank int32) { r.waits[rank] = false }
func (r *ranks) keep(int32)       {}
func (r *ranks) unkeep(int32)     {}

func (r *ranks) pick(free int) int32 {
	for rank := int32(len(r.waits)) - 1; rank >= 0; rank-- {
		if r.waits[rank] {
			if r.fits(rank, free) {
				return rank
			}
			return -1
		}
	}
	return -1
}

func (r *ranks) spare(free int) int { return max(free-r.reserved, 0) }
