package engine

import (
	"testing"

	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/internal/waitgraph"
)

// A crowd that somebody has joined since the look began moves, and is another one in each look, so that there is a next one.
func TestACrowdThatSomebodyJoinsMoves(t *testing.T) {
	g := openGroup(t, queue.Config[int]{Capacity: 1})
	s := survey{graph: waitgraph.Snapshot{Tasks: make([]waitgraph.Task, 1)}, waits: make([]wait, 1)}
	wait := waitgraph.Task{Kind: waitgraph.Room, On: []int{0}}
	at := func(began, since int64) waitgraph.Task {
		s.looks, s.began = s.looks+1, began
		c := crowds{survey: &s, router: g.of.W}
		c.wait(0, wait, crowd{groups: 3, since: since})
		return s.graph.Tasks[0]
	}
	for _, since := range []int64{10, 11} {
		first, second := at(10, since), at(10, since)
		if first.Kind != waitgraph.Moves || second.Kind != waitgraph.Moves || first.Epoch == second.Epoch {
			t.Fatalf("joined at %d, looks at 10: got %+v and %+v, want two that move and differ", since, first, second)
		}
	}
	if got := at(11, 10); got.Kind != waitgraph.Room || got.Epoch != 10 {
		t.Fatalf("joined at 10, look at 11: got %+v, want a wait since 10", got)
	}
}

// What the router waits for may be there though it has not run yet: then it moves.
func TestGlanceSeesWhatTheRouterHasNotSeenYet(t *testing.T) {
	g := openGroup(t, queue.Config[int]{Capacity: 1})
	r := g.of
	over := func(want bool, when string) {
		t.Helper()
		var a await
		if r.glance(&a); a.over != want {
			t.Errorf("%s: over: %v, want %v", when, a.over, want)
		}
	}
	r.look(8)
	over(false, "a place, which the only group has")
	g.rest(1)
	over(true, "a place, and the group rests")
	r.look(8)
	over(false, "a place, and the group has been asked for it")
	r.look(7)
	over(false, "a group of the key of one that has not ended")
	g.w.open(t.Context(), 0)
	g.gone()
	over(true, "a group of the key, and the last one has")
	r.look(8)
	over(true, "a place, and there is one")
}

// A group that is found at two places, or at none, is in no crowd, and neither is one that is ending or that something else sets free.
func TestOnlyGroupsThatNeedOthersAreInACrowd(t *testing.T) {
	done := make(chan struct{})
	tests := map[string]struct {
		takers   []queue.Parked
		emits    []queue.Parked
		ends     bool
		readers  int
		writers  int
		userCode bool
	}{
		"for an item":                 {takers: []queue.Parked{{}}, readers: 1},
		"for room":                    {emits: []queue.Parked{{}}, writers: 1},
		"nowhere":                     {userCode: true},
		"at both":                     {takers: []queue.Parked{{}}, emits: []queue.Parked{{}}},
		"for an item or a time":       {takers: []queue.Parked{{Timed: true}}},
		"for room or another context": {emits: []queue.Parked{{Done: done}}},
		"told to end":                 {takers: []queue.Parked{{}}, ends: true},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			g := openGroup(t, queue.Config[int]{Capacity: 1})
			g.w.open(t.Context(), 0)
			if c.ends {
				g.w.end(queue.ErrLeft)
			}
			var s survey
			for _, p := range c.emits {
				s.emit(g.w, p)
			}
			cs := crowds{survey: &s, router: g.of.W}
			cs.see(g.w, &queue.Look{Takers: c.takers})
			others := 1 - c.readers - c.writers
			if cs.reading.groups != c.readers || cs.writing.groups != c.writers || cs.others != others || cs.runs != c.userCode {
				t.Fatalf("got %d that read, %d that write, %d others, in user code: %v; want %d, %d, %d, %v",
					cs.reading.groups, cs.writing.groups, cs.others, cs.runs, c.readers, c.writers, others, c.userCode)
			}
		})
	}
}
