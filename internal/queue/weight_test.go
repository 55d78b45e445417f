package queue_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weir-go/weir/internal/queue"
)

func weightOf(v int64) int64 { return v }

func TestAHeavyItemPassesAloneInABlockQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, in, out := open(queue.Config[int64]{Capacity: 10, MaxWeight: 10, Weight: weightOf})
		mustPut(t, q, in, 1, 2)
		go mustPut(t, q, in, 99, 3)
		synctest.Wait()
		if got := mustTake(t, q, out, 9); !slices.Equal(got, []int64{1, 2}) {
			t.Fatalf("Take() = %v, want 1, 2: the heavy item waits until they are gone", got)
		}
		synctest.Wait()
		if st := q.Stats(); st.Depth != 1 || st.Weight != 99 || st.Oversize != 1 {
			t.Fatalf("Depth, Weight, Oversize = %d, %d, %d, want 1, 99, 1", st.Depth, st.Weight, st.Oversize)
		}
		if got := mustTake(t, q, out, 9); !slices.Equal(got, []int64{99}) {
			t.Fatalf("Take() = %v, want 99 alone", got)
		}
		synctest.Wait()
		if got := mustTake(t, q, out, 9); !slices.Equal(got, []int64{3}) {
			t.Fatalf("Take() = %v, want 3", got)
		}
	})
}

func TestDroppingQueuesRefuseAHeavyItemUnlessTheyAreEmpty(t *testing.T) {
	for _, p := range []queue.Policy{queue.DropNewest, queue.DropOldest} {
		q, in, out := open(queue.Config[int64]{Capacity: 2, OnFull: p, MaxWeight: 10, Weight: weightOf})
		mustPut(t, q, in, 1, 99, 2, 99)
		if err := q.Offer(99, nil); err != queue.ErrDropped {
			t.Errorf("%v: Offer(99) = %v, want ErrDropped", p, err)
		}
		if got := mustTake(t, q, out, 9); !slices.Equal(got, []int64{1, 2}) {
			t.Errorf("%v: Take() = %v, want 1, 2", p, got)
		}
		mustPut(t, q, in, 99)
		if st := q.Stats(); st.Dropped[queue.DropTooHeavy] != 3 || st.Oversize != 1 || st.Weight != 99 {
			t.Errorf("%v: too heavy, oversize, weight = %d, %d, %d, want 3, 1, 99", p, st.Dropped[queue.DropTooHeavy], st.Oversize, st.Weight)
		}
	}
}

// The room that a heavy item waits for is kept for it: light ones of another producer do not pass it for ever.
func TestAHeavyItemIsNotStarvedByLightOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, heavy, out := open(queue.Config[int64]{Capacity: 100, MaxWeight: 10, Weight: weightOf})
		q.AddProducer()
		light := queue.NewWaiter()
		mustPut(t, q, light, 1, 1, 1, 1, 1)
		go mustPut(t, q, heavy, 9)
		synctest.Wait()
		go func() {
			for range 50 {
				mustPut(t, q, light, 1)
			}
		}()
		synctest.Wait()
		if err := q.Offer(1, nil); !isFull(err) {
			t.Errorf("Offer() = %v, want a *FullError: the room is reserved", err)
		}
		var got []int64
		for len(got) < 56 {
			got = append(got, mustTake(t, q, out, 1)...)
			synctest.Wait()
		}
		if at := slices.Index(got, 9); at != 5 {
			t.Fatalf("the heavy item came out as number %d, want 5, behind what waited before it", at)
		}
	})
}

// The reservation follows the chunk: once one heavy item is in, the room is kept for the next one, by its own weight.
func TestAReservationIsForTheNextItemOfTheChunk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, in, out := open(queue.Config[int64]{Capacity: 10, MaxWeight: 10, Weight: weightOf})
		mustPut(t, q, in, 8, 1)
		go mustPut(t, q, in, 6, 4)
		for _, want := range []int64{9, 7, 10} { // 8 1, then 1 6, then 6 4
			synctest.Wait()
			if st := q.Stats(); st.Depth != 2 || st.Weight != want {
				t.Fatalf("Depth, Weight = %d, %d, want 2, %d", st.Depth, st.Weight, want)
			}
			mustTake(t, q, out, 1)
		}
	})
}

// An item without weight fits where the bound is just reached, and is let in when a place becomes free.
func TestAnItemWithoutWeightFitsWhenTheBoundIsReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, in, out := open(queue.Config[int64]{Capacity: 2, MaxWeight: 10, Weight: weightOf})
		mustPut(t, q, in, 0, 10)
		go mustPut(t, q, in, 0)
		synctest.Wait()
		mustTake(t, q, out, 1)
		synctest.Wait()
		if st := q.Stats(); st.Depth != 2 {
			t.Fatalf("Depth = %d, want 2", st.Depth)
		}
	})
}

func TestANegativeWeightIsAnError(t *testing.T) {
	q, in, _ := open(queue.Config[int64]{Name: "e", Capacity: 9, MaxWeight: 10, Weight: weightOf})
	if n, err := q.Put(in, []int64{1, -1}, nil, nil); n != 0 || err == nil || !strings.Contains(err.Error(), `edge "e": weight must be >= 0, got -1`) {
		t.Errorf("Put() = %d, %v, want 0 and what is wrong", n, err)
	}
	if err := q.Offer(-1, nil); err == nil {
		t.Error("Offer(-1) = nil, want what is wrong")
	}
	if st := q.Stats(); st.In != 0 {
		t.Errorf("In = %d, want 0", st.In)
	}
}
