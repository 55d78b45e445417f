package queue

import "github.com/weir-go/weir/internal/fairqueue"

// fair serves lanes in turn.
type fair struct {
	*slots
	turn    *fairqueue.Queue
	now     int64
	lanes   []fairLane
	longest *heap // lanes by length, where the longest one pays; nil: nobody does
	oldest  bool  // it pays with its oldest item

	// Where nobody pays producers wait, by lane.
	keeps   int              // places for a lane that has nothing
	gate    *fairqueue.Queue // whose turn it is to be let in
	outside ring[int32]      // lanes that have nothing and for which somebody waits, in the order in which that came about
	waiting int              // lanes for which somebody waits
}

type fairLane struct {
	list
	share  int32 // its weight
	served int64 // when it last had its turn, or had nothing
	due    int   // places that are kept for it
	waits  bool  // somebody waits for it
	listed bool  // it is in outside
}

// out reports whether the lane has nothing, and for all to see: not in a moment, either.
func (l *fairLane) out() bool { return l.n == 0 && l.due == 0 }

func newFair(o *Order, onFull Policy, s *slots) *fair {
	f := &fair{slots: s, turn: fairqueue.New(o.Lanes, true), lanes: make([]fairLane, o.Lanes), oldest: onFull == DropOldest}
	if onFull == DropOldest || onFull == DropNewest {
		f.longest = newHeap(func(a, b int32) bool { return f.lanes[a].n > f.lanes[b].n })
	} else {
		f.keeps = 1
		f.gate = fairqueue.New(o.Lanes, false)
		f.outside.grow(o.Lanes, o.Lanes)
	}
	return f
}

func (f *fair) add(i int32) {
	s := &f.of[i]
	l := &f.lanes[s.lane]
	if l.n == 0 {
		l.served = s.at
	}
	if l.n == 0 || l.share != s.share {
		l.share = s.share
		f.turn.Add(int(s.lane), int(s.share))
	}
	f.push(&l.list, i, byLane)
	if f.longest != nil {
		f.longest.fix(s.lane)
	}
}

func (f *fair) next(now int64) int32 {
	f.now = now
	return f.lanes[f.turn.Next()].first
}

func (f *fair) remove(i int32, served bool) {
	s := &f.of[i]
	l := &f.lanes[s.lane]
	f.cut(&l.list, i, byLane)
	if served {
		f.turn.Charge(int(s.lane), max(s.weight, 1))
		l.served = f.now
	}
	if l.n == 0 {
		f.turn.Empty(int(s.lane))
	}
	switch {
	case f.longest == nil:
		f.look(s.lane)
	case l.n == 0:
		f.longest.remove(s.lane)
	default:
		f.longest.fix(s.lane)
	}
}

func (f *fair) behind(i int32) int { return f.lanes[f.of[i].facts.lane].n - 1 }

// victim is of the longest lane, the arriving item included.
func (f *fair) victim(arriving *facts, _ int64) int32 {
	own := &f.lanes[arriving.lane]
	longest := &f.lanes[f.longest.first()]
	switch {
	case own.n+1 > longest.n && f.oldest:
		return own.first
	case own.n+1 > longest.n:
		return none
	case f.oldest:
		return longest.first
	}
	return longest.last
}

// admits keeps a place for a lane that has nothing. Any other is behind those that wait.
func (f *fair) admits(arriving *facts, free int) bool {
	l := &f.lanes[arriving.lane]
	return free > f.keeps && f.waiting == 0 || l.out() && !l.waits
}

// wait implements [keeper], as do the methods below.
func (f *fair) wait(of *facts) {
	f.waiting++
	f.lanes[of.lane].waits = true
	f.gate.Add(int(of.lane), int(of.share))
	f.look(of.lane)
}

func (f *fair) empty(lane int32) {
	f.waiting--
	f.lanes[lane].waits = false
	f.gate.Empty(int(lane))
}

// look puts a lane on the list of those that are outside, if it is.
func (f *fair) look(lane int32) {
	if l := &f.lanes[lane]; l.waits && l.out() && !l.listed {
		l.listed = true
		f.outside.add(lane)
	}
}

func (f *fair) pick(free int) int32 {
	for f.outside.n > 0 {
		lane := f.outside.buf[f.outside.head]
		l := &f.lanes[lane]
		if l.waits && l.out() {
			return lane
		}
		f.outside.drop(head, 1)
		l.listed = false
	}
	if free <= f.keeps {
		return -1
	}
	return int32(f.gate.Next())
}

func (f *fair) keep(lane int32) {
	f.lanes[lane].due++
	f.gate.Charge(int(lane), 1)
}

func (f *fair) unkeep(lane int32) {
	f.lanes[lane].due--
	f.look(lane)
}

func (f *fair) spare(free int) int {
	if f.n == 0 {
		return max(free-f.keeps, min(free, 1))
	}
	return max(free-f.keeps, 0)
}
