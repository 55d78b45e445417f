package queue

// Look is a queue at one moment, with those who are parked there.
type Look struct {
	Length, Capacity     int
	Full                 bool // no room for one item more, be it only by weight
	Weighs               bool // there is more to room than a number, so a producer that gives up may let another in
	Ended                bool
	Producers, Consumers int
	Putters, Takers      []Parked
}

// Parked is a waiter that is in line, and has not been signalled.
type Parked struct {
	Owner Owner // nil: unknown
	Epoch uint64
	Since int64           // when it got in line, by package clock
	Timed bool            // a timeout ends the wait
	Done  <-chan struct{} // closing this ends it, too; may be nil
	Holds int             // items that its owner has gathered
}

// Look fills l, whose slices it uses again.
func (q *Queue[T]) Look(l *Look) {
	q.mu.Lock()
	defer q.mu.Unlock()
	*l = Look{
		Length: q.depth(), Capacity: q.cfg.Capacity, Weighs: q.cfg.MaxWeight > 0 || q.doors != nil, Ended: q.end != nil,
		Producers: q.producers, Consumers: q.consumers,
		Putters: q.putters.look(l.Putters[:0]), Takers: q.takers.look(l.Takers[:0]),
	}
	l.Full = l.Weighs || q.room() == 0 // but for a place that an order keeps
}

// look appends those in line.
func (l *line) look(all []Parked) []Parked {
	for w := l.first; w != nil; w = w.next {
		p := Parked{Owner: w.Owner, Epoch: w.epoch, Since: w.since, Timed: w.timed, Done: w.done}
		if w.Owner != nil {
			p.Holds = w.Owner.Holds()
		}
		all = append(all, p)
	}
	return all
}
