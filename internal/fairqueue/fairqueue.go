// Package fairqueue shares a server between lanes by deficit round robin: whose turn it is. It knows lanes by their numbers and
// nothing of what waits in them.
//
// Each lane that has something may spend its weight in each round, so that no lane's share depends on how much waits in another. What
// a lane does not use is not saved: the round goes on without it. A lane that has had nothing may come first, once: so what is sparse
// hardly waits for what is heavy, and can't gain by sending in pieces.
//
//	Source: M. Shreedhar and G. Varghese, "Efficient Fair Queuing Using Deficit Round Robin", 1996; for lanes that are new
//	RFC 8290, "The Flow Queue CoDel Packet Scheduler and Active Queue Management Algorithm".
package fairqueue

// nobody ends lists: lanes count from 1 in there.
const nobody = 0

// Queue is the order of lanes. It is not safe for concurrent use.
type Queue struct {
	lanes []lane // lane i is at i+1
	fresh list   // lanes that had nothing, until they have had their first turn
	round list   // all others that have something, or had when it was last their turn
	first bool
	unit  int64 // the largest cost so far: what weight 1 may spend in a round
}

type lane struct {
	next   int32
	where  place
	idle   bool // it has nothing, and leaves when its turn comes
	weight int64
	credit int64
}

type place uint8

const (
	nowhere place = iota
	inFresh
	inRound
)

// list is a first-in, first-out list of lanes.
type list struct{ head, tail int32 }

// New returns a queue of n lanes, none of which has anything. newFirst lets a lane that has had nothing go before the others.
func New(n int, newFirst bool) *Queue {
	return &Queue{lanes: make([]lane, n+1), first: newFirst, unit: 1}
}

// Add says that a lane has something, with the weight that it has from now on, at least 1.
func (q *Queue) Add(i, weight int) {
	l := &q.lanes[i+1]
	l.weight, l.idle = int64(weight), false
	if l.where != nowhere {
		return
	}
	if q.first {
		l.credit = q.quantum(l)
		q.push(&q.fresh, inFresh, int32(i+1))
		return
	}
	l.credit = 0
	q.push(&q.round, inRound, int32(i+1))
}

// Empty says that a lane has nothing any more.
func (q *Queue) Empty(i int) { q.lanes[i+1].idle = true }

// Next returns the lane whose turn it is, -1 if none has anything. It is the same until something changes.
func (q *Queue) Next() int {
	for {
		from := &q.fresh
		if from.head == nobody {
			from = &q.round
		}
		i := from.head
		if i == nobody {
			return -1
		}
		l := &q.lanes[i]
		switch {
		case l.idle && l.where == inRound:
			q.pop(from)
			l.where, l.credit = nowhere, 0
		case l.idle: // it may come back within this round, and must not be first again
			q.pop(from)
			l.credit = 0
			q.push(&q.round, inRound, i)
		case l.credit <= 0:
			q.pop(from)
			l.credit += q.quantum(l)
			q.push(&q.round, inRound, i)
		default:
			return int(i) - 1
		}
	}
}

// Charge says that something of a lane was served, and what it cost, at least 1.
func (q *Queue) Charge(i int, cost int64) {
	q.unit = max(q.unit, cost)
	q.lanes[i+1].credit -= cost
}

// quantum is what a lane may spend in a round: never less than anything costs, so that each has its turn in each round.
func (q *Queue) quantum(l *lane) int64 { return l.weight * q.unit }

func (q *Queue) push(to *list, where place, i int32) {
	q.lanes[i].next, q.lanes[i].where = nobody, where
	if to.head == nobody {
		to.head = i
	} else {
		q.lanes[to.tail].next = i
	}
	to.tail = i
}

func (q *Queue) pop(from *list) { from.head = q.lanes[from.head].next }
