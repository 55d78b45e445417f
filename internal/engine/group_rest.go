package engine

import "github.com/weir-go/weir/internal/clock"

// resting is the list of groups whose lane is empty and whose stage waits for an item, the one that has waited longest first. It
// measures for how long there were any. The lock of the grouping guards it.
type resting[K comparable, T, U any] struct {
	first, last *group[K, T, U]
	since       int64
	total       int64
}

func (l *resting[K, T, U]) add(g *group[K, T, U]) {
	if g.rests {
		return
	}
	if l.first == nil {
		l.since = clock.Now()
		l.first = g
	} else {
		l.last.next, g.prev = g, l.last
	}
	l.last, g.rests = g, true
}

func (l *resting[K, T, U]) remove(g *group[K, T, U]) {
	if !g.rests {
		return
	}
	if g.prev == nil {
		l.first = g.next
	} else {
		g.prev.next = g.next
	}
	if g.next == nil {
		l.last = g.prev
	} else {
		g.next.prev = g.prev
	}
	g.prev, g.next, g.rests = nil, nil, false
	if l.first == nil {
		l.total += clock.Now() - l.since
	}
}

// waited returns for how long there were any, up to now.
func (l *resting[K, T, U]) waited(now int64) int64 {
	if l.first == nil {
		return l.total
	}
	return l.total + now - l.since
}
