package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/internal/codel"
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

// A group that was woken for an item which must not start any more rests on, or the router could wait for its place for ever.
func TestAGroupWokenForALostItemRests(t *testing.T) {
	late := func(int, *Tag) time.Time { return time.Time{} }
	for why, lane := range map[queue.Reason]queue.Config[int]{
		queue.DropExpired:  {MaxWait: 1},
		queue.DropDeadline: {Deadline: late},
		queue.DropShed:     {CoDel: codel.Config{Target: 1, Interval: 1}},
	} {
		told := 0
		lane.Capacity, lane.Dropped = 1, func(int, *Tag, queue.Reason) { told++ }
		g := openGroup(t, lane)
		r, lost := g.of, g.lane.Config().Dropped
		g.rest(1)
		if got, _, _ := r.look(7); got != g || r.resting.first != nil {
			t.Fatal("the group that expects an item still rests")
		}
		lost(1, nil, why)
		if r.resting.first != nil {
			t.Fatal("the group rests, but it had not been waiting for an item")
		}
		g.parked = true
		lost(2, nil, queue.DropFull)
		if r.resting.first != nil {
			t.Fatal("the group rests, but the item was dropped by the router")
		}
		lost(3, nil, why)
		if r.resting.first != g || told != 3 {
			t.Fatalf("reason %v: resting: %v, hook called %d times; want the group, and 3", why, r.resting.first, told)
		}
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
