package queue

// doors let waiting producers in by lane, where the order has lanes, instead of first come, first served. Whoever is let in has a
// place kept for it until it comes, so that no other can be faster.
type doors struct {
	keeper  keeper
	lanes   []door
	waiting int // producers behind all doors
	due     int // places that are kept
}

// door is where the producers wait whose next item belongs to one lane, in the order in which they came.
type door struct{ first, last *Waiter }

// keeper is an order that says which door opens.
type keeper interface {
	// wait says that a producer with an item like f is the first to wait for its lane.
	wait(f *facts)
	// empty says that no producer waits for a lane any more.
	empty(lane int32)
	// pick returns the lane of the next producer, if that may take one of free places, -1 otherwise.
	pick(free int) int32
	// keep says that a place is kept for an item of a lane, and unkeep that it is not any more.
	keep(lane int32)
	unkeep(lane int32)
}

// pass is what a waiter has to do with doors.
type pass struct {
	lane       int32
	behind     bool // it waits behind the door of its lane
	kept       bool // a place is kept for it
	prev, next *Waiter
}

func newDoors(o order, lanes int) *doors {
	if k, ok := o.(keeper); ok {
		return &doors{keeper: k, lanes: make([]door, lanes)}
	}
	return nil
}

// join puts w behind the door of its next item's lane.
func (d *doors) join(w *Waiter, f *facts) {
	l := &d.lanes[f.lane]
	w.pass = pass{lane: f.lane, behind: true, prev: l.last}
	if l.last == nil {
		l.first = w
		d.keeper.wait(f)
	} else {
		l.last.pass.next = w
	}
	l.last = w
	d.waiting++
}

// leave takes w away from its door, if it is there.
func (d *doors) leave(w *Waiter) {
	if !w.pass.behind {
		return
	}
	l, at := &d.lanes[w.pass.lane], &w.pass
	if at.prev == nil {
		l.first = at.next
	} else {
		at.prev.pass.next = at.next
	}
	if at.next == nil {
		l.last = at.prev
	} else {
		at.next.pass.prev = at.prev
	}
	at.behind, at.prev, at.next = false, nil, nil
	d.waiting--
	if l.first == nil {
		d.keeper.empty(at.lane)
	}
}

// open returns the producer that is let in to one of free places, which is kept for it; nil if there is none.
func (d *doors) open(free int) *Waiter {
	if d.waiting == 0 || free <= 0 {
		return nil
	}
	lane := d.keeper.pick(free)
	if lane < 0 {
		return nil
	}
	w := d.lanes[lane].first
	d.due++
	w.pass.kept = true
	d.keeper.keep(lane)
	d.leave(w)
	return w
}

// end gives up the place that is kept for w, or says that it is taken.
func (d *doors) end(w *Waiter) {
	if w.pass.kept {
		w.pass.kept = false
		d.due--
		d.keeper.unkeep(w.pass.lane)
	}
}
