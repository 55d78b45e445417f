package stagetest

import (
	"fmt"
	"sync/atomic"
)

// history is what happened at a queue whose values are all different, in the order of one clock.
type history struct {
	clock atomic.Int64
	puts  []event
	takes []event
}

// event is one value that was put or taken at some moment from began to ended.
type event struct {
	value        int
	began, ended int64
}

// now returns a moment that is later than all before.
func (h *history) now() int64 { return h.clock.Add(1) }

// check looks for a moment for each put and each take, within its time, such that a queue would have done the same: first in,
// first out for values for which key gives the same. It returns what shows that there are none, "" if there are.
//
// No search is needed. Where all values are different, and nobody was told that the queue is empty, there are such moments unless a
// value was taken that nobody had put, was taken twice, or was taken for certain behind one that was put for certain behind it.
//
//	Source: T. A. Henzinger, A. Sezgin, V. Vafeiadis, "Aspect-Oriented Linearizability Proofs", CONCUR 2013.
func (h *history) check(key func(value int) string) string {
	put, taken := byValue(h.puts), make(map[int]event)
	for _, e := range h.takes {
		p, ok := put[e.value]
		switch _, twice := taken[e.value]; {
		case !ok:
			return fmt.Sprintf("item %d was taken, and nobody has put it", e.value)
		case twice:
			return fmt.Sprintf("item %d was taken twice", e.value)
		case e.ended < p.began:
			return fmt.Sprintf("item %d was taken before it was put", e.value)
		}
		taken[e.value] = e
	}
	return outOfOrder(put, taken, key)
}

// outOfOrder looks for a pair whose order can't be that of a queue.
func outOfOrder(put, taken map[int]event, key func(value int) string) string {
	for a, takenA := range taken {
		for b, takenB := range taken {
			if put[a].ended < put[b].began && takenB.ended < takenA.began && key(a) == key(b) {
				return fmt.Sprintf("item %d was put before item %d, and taken behind it", a, b)
			}
		}
	}
	return ""
}

func byValue(es []event) map[int]event {
	m := make(map[int]event, len(es))
	for _, e := range es {
		m[e.value] = e
	}
	return m
}
