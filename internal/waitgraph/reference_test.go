package waitgraph_test

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/internal/waitgraph"
)

// world is processes that put numbers into bounded lines and take them out, one step at a time in any order: what a snapshot is a
// picture of. A process does the steps of its program again and again, or a limited number of times. One that can't go on parks, and
// somebody who has made an item or room wakes the one that has been parked there for the longest time; when that goes on is
// another matter.
type world struct {
	procs []*process
	lines []*line
}

type process struct {
	program []op
	left    int // steps; -1: no limit
	at      int
	parked  bool
	epoch   uint64
	moved   int
}

type op struct {
	kind waitgraph.Kind
	on   []int
}

type line struct {
	n, capacity        int
	putters, takers    []int // parked
	producers, readers []int
	fed, read          bool // by somebody outside
}

func drawWorld(t *rapid.T) *world {
	w := &world{}
	for range rapid.IntRange(1, 6).Draw(t, "lines") {
		w.lines = append(w.lines, &line{
			capacity: rapid.IntRange(1, 3).Draw(t, "capacity"),
			fed:      rapid.IntRange(0, 9).Draw(t, "fed") == 0, read: rapid.IntRange(0, 9).Draw(t, "read") == 0,
		})
	}
	for i := range rapid.IntRange(1, 7).Draw(t, "processes") {
		p := &process{left: -1}
		if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
			p.left = rapid.IntRange(0, 20).Draw(t, "steps")
		}
		for range rapid.IntRange(1, 5).Draw(t, "ops") {
			p.program = append(p.program, w.drawOp(t, i))
		}
		w.procs = append(w.procs, p)
	}
	return w
}

func (w *world) drawOp(t *rapid.T, i int) op {
	lines := rapid.SliceOfNDistinct(rapid.IntRange(0, len(w.lines)-1), 1, min(len(w.lines), 3), rapid.ID[int]).Draw(t, "on")
	if rapid.Bool().Draw(t, "put") {
		l := w.lines[lines[0]]
		l.producers = append(l.producers, i)
		return op{waitgraph.Room, lines[:1]}
	}
	if rapid.Bool().Draw(t, "one") {
		lines = lines[:1]
	}
	for _, on := range lines {
		w.lines[on].readers = append(w.lines[on].readers, i)
	}
	return op{waitgraph.Items, lines}
}

func (p *process) ended() bool { return p.left == 0 }

// alive returns those of some processes that have not ended.
func (w *world) alive(all []int) []int {
	return slices.DeleteFunc(slices.Clone(all), func(i int) bool { return w.procs[i].ended() })
}

// over reports whether nobody will ever put anything into a line again, or read from it: who waits there is told, and goes on.
func (w *world) over(l *line) bool {
	return !l.fed && len(w.alive(l.producers)) == 0 || !l.read && len(w.alive(l.readers)) == 0
}

// step lets a process go on by one step, or park. A parked one does nothing.
func (w *world) step(i int) {
	p := w.procs[i]
	if p.parked || p.ended() {
		return
	}
	o := p.program[p.at]
	for _, on := range o.on {
		if w.do(o.kind, w.lines[on]) {
			p.next()
			if p.ended() {
				w.wakeEnded()
			}
			return
		}
	}
	p.parked = true
	p.epoch++
	for _, on := range o.on {
		if l := w.lines[on]; o.kind == waitgraph.Room {
			l.putters = append(l.putters, i)
		} else {
			l.takers = append(l.takers, i)
		}
	}
}

func (p *process) next() {
	p.at = (p.at + 1) % len(p.program)
	p.moved++
	if p.left > 0 {
		p.left--
	}
}

// do puts or takes an item, where that is possible.
func (w *world) do(kind waitgraph.Kind, l *line) bool {
	switch {
	case kind == waitgraph.Room && l.n < l.capacity:
		l.n++
		w.wake(l.takers)
	case kind == waitgraph.Items && l.n > 0:
		l.n--
		w.wake(l.putters)
	default:
		return w.over(l)
	}
	return true
}

// wake wakes the first of those that are parked in a line.
func (w *world) wake(parked []int) {
	if len(parked) > 0 {
		w.unpark(parked[0])
	}
}

func (w *world) unpark(i int) {
	w.procs[i].parked = false
	for _, l := range w.lines {
		is := func(j int) bool { return j == i }
		l.putters, l.takers = slices.DeleteFunc(l.putters, is), slices.DeleteFunc(l.takers, is)
	}
}

// wakeEnded wakes everybody at the lines that are over now.
func (w *world) wakeEnded() {
	for _, l := range w.lines {
		if w.over(l) {
			for _, i := range slices.Concat(l.putters, l.takers) {
				w.unpark(i)
			}
		}
	}
}

// outside does what somebody outside may do.
func (w *world) outside(l *line) {
	if l.fed {
		w.do(waitgraph.Room, l)
	}
	if l.read {
		w.do(waitgraph.Items, l)
	}
}

// task is the picture of one process.
func (w *world) task(i int) waitgraph.Task {
	p := w.procs[i]
	if !p.parked {
		return waitgraph.Task{Epoch: p.epoch}
	}
	o := p.program[p.at]
	return waitgraph.Task{Kind: o.kind, On: o.on, Epoch: p.epoch}
}

// edge is the picture of one line.
func (w *world) edge(i int) waitgraph.Edge {
	l := w.lines[i]
	return waitgraph.Edge{
		Length: l.n, Capacity: l.capacity, Full: l.n == l.capacity, Ended: w.over(l), Fed: l.fed, Read: l.read,
		Producers: w.alive(l.producers), Consumers: w.alive(l.readers),
	}
}

// snapshot takes pictures of everything, one after the other; between does something in between.
func (w *world) snapshot(between func()) *waitgraph.Snapshot {
	s := &waitgraph.Snapshot{}
	for i := range w.lines {
		s.Edges = append(s.Edges, w.edge(i))
		between()
	}
	for i := range w.procs {
		s.Tasks = append(s.Tasks, w.task(i))
		between()
	}
	return s
}
