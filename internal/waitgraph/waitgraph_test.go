package waitgraph_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-go/weir/internal/waitgraph"
)

func nothing() {}

// run lets everything go on in random order for some steps.
func (w *world) run(rng *rand.Rand, steps int) {
	for range steps {
		if i := rng.IntN(len(w.procs) + 1); i < len(w.procs) {
			w.step(i)
		} else {
			w.outside(w.lines[rng.IntN(len(w.lines))])
		}
	}
}

// moved returns how often each process has moved.
func (w *world) moved() (all []int) {
	for _, p := range w.procs {
		all = append(all, p.moved)
	}
	return all
}

// Whoever is said to be stuck never moves again, whatever the others do. And when nobody can move any more, all who are parked are
// said to be.
func TestStuckIsWhoNeverMovesAgain(t *testing.T) {
	found := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		for range 20 {
			w.run(rng, 30)
			stuck := w.snapshot(nothing).Stuck()
			before := w.moved()
			w.run(rng, 300)
			after, now := w.moved(), w.snapshot(nothing).Stuck()
			for i := range w.procs {
				if stuck[i] && after[i] != before[i] {
					rt.Fatalf("process %d was said to be stuck, and has moved", i)
				}
				if stuck[i] && !now[i] {
					rt.Fatalf("process %d was stuck and is not any more", i)
				}
				if stuck[i] {
					found++
				}
			}
			if slices.Equal(before, after) {
				w.complete(rt, now)
			}
		}
	})
	if found == 0 {
		t.Error("nothing was ever stuck")
	}
}

// complete fails the test where nothing moves, and not all who are parked are stuck: those that wait for somebody outside aside.
func (w *world) complete(rt *rapid.T, stuck []bool) {
	for _, l := range w.lines {
		if l.fed || l.read {
			return
		}
	}
	for i, p := range w.procs {
		if !p.parked && !p.ended() {
			return // nobody asked it in all that time
		}
		if p.parked != stuck[i] {
			rt.Fatalf("nothing moves, process %d is parked: %v, stuck: %v", i, p.parked, stuck[i])
		}
	}
}

// A Detector is right about pictures that were taken one after the other, while everything went on. What stands still for good it has
// found by the second look.
func TestDetectorBelievesTwoLooks(t *testing.T) {
	found := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 2))
		var d waitgraph.Detector
		for range 20 {
			slow := rng.IntN(3)
			knots, _ := d.Look(w.snapshot(func() { w.run(rng, rng.IntN(1+slow)) }))
			before := w.moved()
			w.run(rng, 300)
			for _, k := range knots {
				found++
				for _, i := range slices.Concat(k.Tasks, k.Behind) {
					if w.procs[i].moved != before[i] {
						rt.Fatalf("process %d was said to be stuck, and has moved", i)
					}
				}
			}
		}
		stuck := w.snapshot(nothing).Stuck()
		d.Look(w.snapshot(nothing))
		knots, changed := d.Look(w.snapshot(nothing))
		if changed {
			rt.Fatal("two looks at the same have seen a change")
		}
		var all []int
		for _, k := range knots {
			all = append(all, k.Tasks...)
			all = append(all, k.Behind...)
		}
		for i := range stuck {
			if stuck[i] != slices.Contains(all, i) {
				rt.Fatalf("process %d is stuck: %v, and in a knot or behind one: %v", i, stuck[i], !stuck[i])
			}
		}
	})
	if found == 0 {
		t.Error("nothing was ever found")
	}
}

// drawSnapshot makes up a picture of anything, be it possible or not.
func drawSnapshot(t *rapid.T) *waitgraph.Snapshot {
	number := func(most int, name string) int { return rapid.IntRange(0, most).Draw(t, name) }
	tasks, edges := 1+number(7, "tasks"), 1+number(5, "edges")
	some := func(n int, name string) []int {
		return rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, 3, rapid.ID[int]).Draw(t, name)
	}
	s := &waitgraph.Snapshot{}
	for range edges {
		e := waitgraph.Edge{
			Capacity: 1 + number(3, "capacity"), Full: number(3, "full") > 0, Weighs: number(3, "weighs") == 0,
			Ended: number(9, "ended") == 0, Fed: number(9, "fed") == 0, Read: number(9, "read") == 0,
			Fixed:     number(4, "fixed") == 0,
			Producers: some(tasks, "producers"), Consumers: some(tasks, "consumers"),
		}
		if number(3, "length") == 0 {
			e.Length = 1
		}
		s.Edges = append(s.Edges, e)
	}
	for range tasks {
		task := waitgraph.Task{Kind: waitgraph.Kind(number(3, "kind")), Holds: max(0, number(4, "holds")-2)}
		switch task.Kind {
		case waitgraph.Room:
			task.On = []int{number(edges-1, "on")}
		case waitgraph.Items:
			task.On = append(some(edges, "on"), number(edges-1, "and"))
		case waitgraph.Tasks:
			task.On = some(tasks, "on")
		case waitgraph.Moves:
		}
		s.Tasks = append(s.Tasks, task)
	}
	return s
}

// wakers is the definition of who can end the wait of a task; ok is false where nobody has to.
func wakers(s *waitgraph.Snapshot, i int) (all []int, ok bool) {
	task := s.Tasks[i]
	switch task.Kind {
	case waitgraph.Moves:
		return nil, false
	case waitgraph.Room:
		e := s.Edges[task.On[0]]
		all = append(all, e.Consumers...)
		if e.Weighs {
			all = append(all, slices.DeleteFunc(slices.Clone(e.Producers), func(p int) bool { return p == i })...)
		}
		ok = e.Full && !e.Ended && !e.Read && (!e.Weighs || !e.Fed)
	case waitgraph.Items:
		ok = true
		for _, on := range task.On {
			e := s.Edges[on]
			all = append(all, e.Producers...)
			ok = ok && e.Length == 0 && !e.Ended && !e.Fed
		}
	case waitgraph.Tasks:
		all, ok = task.On, true
	}
	return all, ok && len(all) > 0
}

// closed reports whether the tasks in set wait for nobody but each other.
func closed(s *waitgraph.Snapshot, set uint) bool {
	for i := range s.Tasks {
		if set>>i&1 == 0 {
			continue
		}
		all, ok := wakers(s, i)
		if !ok || slices.ContainsFunc(all, func(w int) bool { return set>>w&1 == 0 }) {
			return false
		}
	}
	return true
}

// The stuck tasks are those of all sets that wait for nobody else: here every set there is is tried. And the knots are the smallest
// of these sets, each with a circle in it on which every task waits for the next.
func TestStuckAndKnotsAreWhatTheDefinitionSays(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSnapshot(rt)
		var all uint
		var sets []uint
		for set := uint(1); set < 1<<len(s.Tasks); set++ {
			if closed(s, set) {
				all |= set
				sets = append(sets, set)
			}
		}
		for i, stuck := range s.Stuck() {
			if want := all>>i&1 == 1; stuck != want {
				rt.Fatalf("task %d is stuck: %v, want %v\n%+v", i, stuck, want, s)
			}
		}
		smallest := slices.DeleteFunc(slices.Clone(sets), func(set uint) bool {
			return slices.ContainsFunc(sets, func(o uint) bool { return o != set && o&^set == 0 })
		})
		var d waitgraph.Detector
		d.Look(s)
		knots, _ := d.Look(s)
		var got []uint
		for _, k := range knots {
			var set uint
			for _, i := range k.Tasks {
				set |= 1 << i
			}
			got = append(got, set)
			circle(rt, s, &k)
			behind(rt, s, &k, all)
		}
		slices.Sort(got)
		if !slices.Equal(got, smallest) {
			rt.Fatalf("knots %b, want %b\n%+v", got, smallest, s)
		}
	})
}

// circle checks the circle of a knot.
func circle(rt *rapid.T, s *waitgraph.Snapshot, k *waitgraph.Knot) {
	for i, task := range k.Cycle {
		all, _ := wakers(s, task)
		if next := k.Cycle[(i+1)%len(k.Cycle)]; !slices.Contains(all, next) || !slices.Contains(k.Tasks, task) {
			rt.Fatalf("task %d of the circle %v does not wait for %d\n%+v", task, k.Cycle, next, s)
		}
	}
	least, at := 0, -1
	for _, i := range k.Tasks {
		if s.Tasks[i].Kind != waitgraph.Room || s.Edges[s.Tasks[i].On[0]].Fixed {
			continue
		}
		if on := s.Tasks[i].On[0]; at < 0 || s.Edges[on].Capacity < least {
			least, at = s.Edges[on].Capacity, on
		}
	}
	if (at < 0) != (k.Smallest < 0) || at >= 0 && s.Edges[k.Smallest].Capacity != least {
		rt.Fatalf("the smallest full edge is %d, want %d\n%+v", k.Smallest, at, s)
	}
	if at >= 0 && !slices.ContainsFunc(k.Cycle, func(i int) bool { return s.Tasks[i].Kind == waitgraph.Room && s.Tasks[i].On[0] == k.Smallest }) {
		rt.Fatalf("the circle %v does not go through edge %d\n%+v", k.Cycle, k.Smallest, s)
	}
	if at < 0 {
		keeper(rt, s, k)
	}
}

// keeper checks that the circle of a knot in which nobody waits for room goes through who has gathered most, or else through who has
// items in front of it, where there is one.
func keeper(rt *rapid.T, s *waitgraph.Snapshot, k *waitgraph.Knot) {
	rank := func(i int) int {
		before := func(e waitgraph.Edge) bool { return e.Length > 0 && slices.Contains(e.Consumers, i) }
		switch holds := s.Tasks[i].Holds; {
		case holds > 0:
			return 1 + holds
		case slices.ContainsFunc(s.Edges, before):
			return 1
		}
		return 0
	}
	best := func(tasks []int) (most int) {
		for _, i := range tasks {
			most = max(most, rank(i))
		}
		return most
	}
	if got, want := best(k.Cycle), best(k.Tasks); got != want {
		rt.Fatalf("the circle %v has nobody who keeps as much as one of %v does\n%+v", k.Cycle, k.Tasks, s)
	}
}

// behind checks who is behind a knot: who is stuck, is no part of it, and waits for one of it or for another one behind it.
func behind(rt *rapid.T, s *waitgraph.Snapshot, k *waitgraph.Knot, stuck uint) {
	in := slices.Clone(k.Tasks)
	for grown := true; grown; {
		grown = false
		for i := range s.Tasks {
			all, _ := wakers(s, i)
			if stuck>>i&1 == 1 && !slices.Contains(in, i) && slices.ContainsFunc(all, func(w int) bool { return slices.Contains(in, w) }) {
				in, grown = append(in, i), true
			}
		}
	}
	want := in[len(k.Tasks):]
	slices.Sort(want)
	if !slices.Equal(k.Behind, want) {
		rt.Fatalf("behind %v is %v, want %v\n%+v", k.Tasks, k.Behind, want, s)
	}
}

// A change that does not end anybody's wait is none, but an end of an edge is.
func TestLookSaysWhetherAnythingHasChanged(t *testing.T) {
	s := &waitgraph.Snapshot{
		Tasks: []waitgraph.Task{{Kind: waitgraph.Items, On: []int{0}, Epoch: 1}},
		Edges: []waitgraph.Edge{{Capacity: 1, Fed: true, Producers: []int{0}}},
	}
	var d waitgraph.Detector
	look := func(want bool, knots int) {
		t.Helper()
		k, changed := d.Look(s)
		if changed != want || len(k) != knots {
			t.Fatalf("changed: %v, knots: %v; want %v, %d", changed, k, want, knots)
		}
	}
	look(true, 0)
	look(false, 0)
	s.Tasks[0].Epoch = 3
	look(true, 0)
	look(false, 0)
	s.Edges[0].Fed = false
	look(true, 1)
	look(false, 1)
}

// Epochs and places are compared, not only who is stuck.
func TestAnotherWaitIsAnotherOne(t *testing.T) {
	at := func(epoch uint64, on int) *waitgraph.Snapshot {
		return &waitgraph.Snapshot{
			Tasks: []waitgraph.Task{{Kind: waitgraph.Room, On: []int{on}, Epoch: epoch}},
			Edges: []waitgraph.Edge{{Capacity: 2, Full: true, Consumers: []int{0}}, {Capacity: 1, Full: true, Consumers: []int{0}}},
		}
	}
	var d waitgraph.Detector
	for _, s := range []*waitgraph.Snapshot{at(1, 0), at(2, 0), at(2, 1)} {
		if knots, _ := d.Look(s); len(knots) > 0 {
			t.Fatalf("it has moved, but got %v", knots)
		}
	}
	knots, _ := d.Look(at(2, 1))
	want := []waitgraph.Knot{{Tasks: []int{0}, Cycle: []int{0}, Smallest: 1}}
	if !reflect.DeepEqual(knots, want) {
		t.Fatalf("got %v, want %v", knots, want)
	}
}
