package queue

import "time"

// largest serves in the order of arrival, and lets the dearest item pay, unless it has waited for its age.
type largest struct {
	single
	dear   *heap // the items that may pay
	young  int32 // the oldest of them; none if there are none
	oldest bool  // of equals the older one pays, not the newer
	limit  time.Duration
}

func newLargest(o *Order, onFull Policy, s *slots) *largest {
	l := &largest{single: single{s}, oldest: onFull == DropOldest, limit: o.Age}
	l.dear = newHeap(l.pays)
	return l
}

// pays reports whether a pays before b.
func (l *largest) pays(a, b int32) bool {
	x, y := &l.of[a], &l.of[b]
	if x.cost != y.cost {
		return x.cost > y.cost
	}
	return (x.seq < y.seq) == l.oldest
}

func (l *largest) add(i int32) {
	if l.young == none {
		l.young = i
	}
	l.dear.fix(i)
}

func (l *largest) next(int64) int32 { return l.age.first }

func (l *largest) remove(i int32, _ bool) {
	if i == l.young {
		l.young = l.younger(i)
	}
	l.dear.remove(i)
}

func (l *largest) victim(arriving *facts, now int64) int32 {
	for l.young != none && wait(now, l.of[l.young].at) > l.limit {
		l.dear.remove(l.young)
		l.young = l.younger(l.young)
	}
	if l.young == none {
		return none
	}
	i := l.dear.first()
	if cost := l.of[i].cost; cost < arriving.cost || cost == arriving.cost && !l.oldest {
		return none
	}
	return i
}
