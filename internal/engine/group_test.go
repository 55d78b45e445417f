package engine

import (
	"testing"

	"github.com/weir-go/weir/internal/queue"
)

// A group that was woken for an item which had expired by then rests on, or the router could wait for its place for ever.
func TestAGroupWokenForAnExpiredItemRests(t *testing.T) {
	run := NewRun()
	w := run.NewWorker()
	st := run.NewStage(Step, "groupby", "groups", nil)
	out := NewLink[int](run, queue.New(queue.Config[int]{Name: "out", Capacity: 1}), nil, Stream{})
	told := 0
	GroupBy(w, st, Input[int]{}, out, Groups[int, int, int]{Most: 1, Lane: queue.Config[int]{
		Capacity: 1, MaxWait: 1, Dropped: func(int, *Tag, queue.Reason) { told++ },
	}})
	r := st.crew.(*grouping[int, int, int])
	g := newGroup(r, 7)
	if err := r.enter(g); err != nil {
		t.Fatal(err)
	}
	g.rest(1)
	if got, _, _ := r.look(7); got != g || r.resting.first != nil {
		t.Fatal("the group that expects an item still rests")
	}
	g.expired(1, nil, queue.DropExpired)
	if r.resting.first != nil {
		t.Fatal("the group rests, but it had not been waiting for an item")
	}
	g.parked = true
	g.expired(2, nil, queue.DropExpired)
	if r.resting.first != g || told != 2 {
		t.Fatalf("resting: %v, hook called %d times; want the group, and 2", r.resting.first, told)
	}
}
