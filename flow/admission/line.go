package admission

import "math"

// line is who is inside: at most width run, the others wait in order, and one of them starts whenever one that runs has ended. Its
// owner has the lock. Places are used again, so that nothing is allocated once there have been enough of them.
type line struct {
	width   int
	running int
	waiting int
	first   *place // of those that wait
	last    *place
	spare   *place
}

// place is that of one inside.
type place struct {
	prev, next *place
	phase      phase
	generation uint64 // of its use: permits of earlier ones are void
	started    int64  // when it started, by the clock
	wake       chan struct{}
	held       held // what a Gate has to give back
}

type phase uint8

const (
	spare phase = iota
	waits
	runs
)

// inside returns how many there are.
func (l *line) inside() int { return l.running + l.waiting }

// enter gives out a place at the end of the line.
func (l *line) enter(now int64) *place {
	p := l.spare
	if p == nil {
		p = new(place)
	} else {
		l.spare = p.next
	}
	p.prev, p.next = nil, nil
	p.generation++
	if l.running < l.width {
		l.start(p, now)
		return p
	}
	p.phase = waits
	l.waiting++
	if p.prev = l.last; p.prev != nil {
		p.prev.next = p
	} else {
		l.first = p
	}
	l.last = p
	return p
}

func (l *line) start(p *place, now int64) {
	p.phase, p.started = runs, now
	l.running++
}

// unlink takes one that waits out of the line.
func (l *line) unlink(p *place) {
	if p.prev != nil {
		p.prev.next = p.next
	} else {
		l.first = p.next
	}
	if p.next != nil {
		p.next.prev = p.prev
	} else {
		l.last = p.prev
	}
	p.prev, p.next = nil, nil
	l.waiting--
}

// begin lets one that waits start out of turn: its owner says that it has.
func (l *line) begin(p *place, now int64) {
	if p.phase == waits {
		l.unlink(p)
		l.start(p, now)
	}
}

// leave takes p's place back, and returns who starts instead.
func (l *line) leave(p *place, now int64) (started *place) {
	if p.phase == waits {
		l.unlink(p)
	} else {
		l.running--
	}
	p.phase, p.held = spare, held{}
	p.generation++
	p.next, l.spare = l.spare, p
	if l.first == nil || l.running >= l.width {
		return nil
	}
	started = l.first
	l.unlink(started)
	l.start(started, now)
	return started
}

// wait estimates how long one more would wait: those inside, running ones included, each at its share of the width. Where one more
// would start at once that is nothing.
func (l *line) wait(mean float64) float64 {
	if l.running < l.width {
		return 0
	}
	return min(float64(l.inside())*mean/float64(l.width), math.MaxInt64/2)
}
