package engine

import (
	"testing"
	"testing/synctest"

	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// openGroup returns a group that is open, but not started.
func openGroup(t *testing.T, lane queue.Config[int]) *group[int, int, int] {
	t.Helper()
	run := NewRun()
	w := run.NewWorker()
	st := run.NewStage(Step, "groupby", "groups", nil)
	out := NewLink[int](run, queue.New(queue.Config[int]{Name: "out", Capacity: 1}), nil, Stream{})
	GroupBy(w, st, Input[int]{}, out, Groups[int, int, int]{Most: 1, Lane: lane})
	r := st.crew.(*grouping[int, int, int])
	g := newGroup(r, 7)
	if err := r.enter(g); err != nil {
		t.Fatal(err)
	}
	return g
}

// A group that was woken for an item which had expired by then rests on, or the router could wait for its place for ever.
func TestAGroupWokenForAnExpiredItemRests(t *testing.T) {
	told := 0
	g := openGroup(t, queue.Config[int]{Capacity: 1, MaxWait: 1, Dropped: func(int, *Tag, queue.Reason) { told++ }})
	r := g.of
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

// An item that comes just before the lane is closed, by the router here, is one for another stage.
func TestAGroupTakesWhatCameBeforeItsLaneWasClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := openGroup(t, queue.Config[int]{Capacity: 1})
		g.of.mark(g)
		go func() {
			synctest.Wait() // the group has found the lane empty
			if _, err := g.lane.Put(queue.NewWaiter(), []int{42}, nil, nil); err != nil {
				t.Errorf("Put() = %v, want no error", err)
			}
			g.lane.CloseProducer()
		}()
		if n, err := g.another(); n != 1 || err != nil || g.value[0] != 42 {
			t.Fatalf("another() = %d, %v with %d, want 1, no error and 42", n, err, g.value[0])
		}
		if n, err := g.another(); n != 0 || err != stage.ErrEnd {
			t.Fatalf("another() = %d, %v behind the last item, want the end", n, err)
		}
	})
}
