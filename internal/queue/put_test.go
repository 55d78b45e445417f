package queue_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// open returns a queue with a producer and a consumer, and their handles.
func open[T any](cfg queue.Config[T]) (q *queue.Queue[T], producer, consumer *queue.Waiter) {
	q = queue.New(cfg)
	q.AddProducer()
	q.AddConsumer()
	return q, queue.NewWaiter(), queue.NewWaiter()
}

// mustPut puts values that get in or are dropped. Any goroutine may call it.
func mustPut[T any](t *testing.T, q *queue.Queue[T], w *queue.Waiter, values ...T) {
	t.Helper()
	if n, err := q.Put(w, values, nil, nil); n != len(values) || err != nil {
		t.Errorf("Put(%v) = %d, %v, want %d, nil", values, n, err, len(values))
	}
}

// mustTake takes up to limit values.
func mustTake[T any](t *testing.T, q *queue.Queue[T], w *queue.Waiter, limit int) []T {
	t.Helper()
	dst := make([]T, limit)
	n, err := q.Take(w, dst, nil, nil)
	if err != nil {
		t.Fatalf("Take(%d) = %v, want nil", limit, err)
	}
	return dst[:n]
}

func TestPoliciesOnAFullQueue(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy queue.Policy
		n      int
		err    string
		left   []int
		drops  []int
	}{
		{"drop newest keeps what waits", queue.DropNewest, 5, "", []int{1, 2, 3}, []int{4, 5}},
		{"drop oldest keeps the end of the chunk", queue.DropOldest, 5, "", []int{3, 4, 5}, []int{1, 2}},
		{"reject stops at the first that does not fit", queue.Reject, 3, "full (capacity 3)", []int{1, 2, 3}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var drops []int
			q, in, out := open(queue.Config[int]{
				Name: "e", Capacity: 3, OnFull: c.policy,
				Dropped: func(v int, _ *queue.Tag, why queue.Reason) {
					if why != queue.DropFull {
						t.Errorf("reason = %v, want full", why)
					}
					drops = append(drops, v)
				},
			})
			n, err := q.Put(in, []int{1, 2, 3, 4, 5}, nil, nil)
			if n != c.n || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Fatalf("Put(1..5) = %d, %v, want %d, %q", n, err, c.n, c.err)
			}
			if !slices.Equal(drops, c.drops) {
				t.Errorf("dropped %v, want %v", drops, c.drops)
			}
			if got := mustTake(t, q, out, 9); !slices.Equal(got, c.left) {
				t.Errorf("Take() = %v, want %v", got, c.left)
			}
		})
	}
}

func TestAnEmptyPutDoesNothing(t *testing.T) {
	for p := range queue.Reject + 1 {
		q, in, _ := open(queue.Config[int]{Capacity: 1, OnFull: p})
		mustPut(t, q, in)
		mustPut(t, q, in, 1)
		mustPut(t, q, in)
		if st := q.Stats(); st.In != 1 || st.Depth != 1 {
			t.Errorf("%v: In, Depth = %d, %d, want 1, 1", p, st.In, st.Depth)
		}
	}
}

func TestOfferDoesNotWait(t *testing.T) {
	q, _, _ := open(queue.Config[int]{Name: "orders", Capacity: 1})
	if err := q.Offer(1, nil); err != nil {
		t.Fatalf("Offer(1) = %v, want nil", err)
	}
	full, ok := errors.AsType[*queue.FullError](q.Offer(2, nil))
	if !ok || full.Edge != "orders" || full.Capacity != 1 || full.EstimatedWait != 0 {
		t.Fatalf("Offer(2) = %+v, want a *FullError of orders, capacity 1", full)
	}
	if st := q.Stats(); st.In != 1 || st.Refused != 1 {
		t.Errorf("In, Refused = %d, %d, want 1, 1", st.In, st.Refused)
	}
	if n, err := q.Put(nil, []int{3}, nil, nil); n != 0 || !isFull(err) {
		t.Errorf("Put without a waiter = %d, %v, want 0 and a *FullError", n, err)
	}
}

// T30: an offer is resolved at once and for good; nothing is accepted any more once the last producer has closed.
func TestNothingIsAcceptedAfterTheEnd(t *testing.T) {
	for p := range queue.Reject + 1 {
		for _, end := range []struct {
			name string
			do   func(q *queue.Queue[int])
			want error
		}{
			{"closed", (*queue.Queue[int]).CloseProducer, queue.ErrClosed},
			{"left", func(q *queue.Queue[int]) { q.Leave(errLeft) }, queue.ErrLeft},
			{"aborted", func(q *queue.Queue[int]) { q.Abort(errAbort) }, errAbort},
		} {
			t.Run(p.String()+" "+end.name, func(t *testing.T) {
				q, in, _ := open(queue.Config[int]{Capacity: 1, OnFull: p})
				mustPut(t, q, in, 1)
				end.do(q)
				if err := q.Offer(2, nil); !errors.Is(err, end.want) {
					t.Errorf("Offer() = %v, want %v", err, end.want)
				}
				if n, err := q.Put(in, []int{2}, nil, nil); n != 0 || !errors.Is(err, end.want) {
					t.Errorf("Put() = %d, %v, want 0, %v", n, err, end.want)
				}
				for _, sole := range []bool{true, false} {
					if n, err := q.Demand(in, 1, sole); n != 0 || !errors.Is(err, end.want) {
						t.Errorf("Demand() = %d, %v, want 0, %v", n, err, end.want)
					}
				}
				if st := q.Stats(); st.In != 1 || st.Depth != 1 {
					t.Errorf("In, Depth = %d, %d, want 1, 1", st.In, st.Depth)
				}
			})
		}
	}
}

func TestABlockedProducerGetsInAsSoonAsThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, in, out := open(queue.Config[int]{Capacity: 2})
		began := time.Now()
		var took time.Duration
		go func() {
			mustPut(t, q, in, 1, 2, 3)
			took = time.Since(began)
		}()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if st := q.Stats(); st.Blocked != 2*time.Second || st.Depth != 2 {
			t.Errorf("while a producer is parked: Blocked, Depth = %v, %d, want 2s, 2", st.Blocked, st.Depth)
		}
		time.Sleep(time.Second)
		mustTake(t, q, out, 1)
		synctest.Wait()
		if st := q.Stats(); took != 3*time.Second || st.Blocked != 3*time.Second || in.Parked.Sum() != int64(3*time.Second) {
			t.Errorf("Put took %v, Blocked %v, Parked %v, want 3s each", took, st.Blocked, time.Duration(in.Parked.Sum()))
		}
		time.Sleep(time.Second)
		if st := q.Stats(); st.Blocked != 3*time.Second {
			t.Errorf("later: Blocked = %v, want 3s", st.Blocked)
		}
	})
}

// A chunk larger than the queue hands over what fits before it waits, also to a consumer that has waited for it.
func TestAChunkLargerThanTheQueuePassesThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, in, out := open(queue.Config[int]{Capacity: 2})
		var got []int
		go func() {
			for len(got) < 7 {
				got = append(got, mustTake(t, q, out, 9)...)
			}
		}()
		synctest.Wait() // the consumer is parked
		mustPut(t, q, in, 1, 2, 3, 4, 5, 6, 7)
		synctest.Wait()
		if want := []int{1, 2, 3, 4, 5, 6, 7}; !slices.Equal(got, want) {
			t.Fatalf("took %v, want %v", got, want)
		}
	})
}

func TestAProducerThatGivesUpKeepsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, in, _ := open(queue.Config[int]{Capacity: 2})
		done := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(done) })
		if n, err := q.Put(in, []int{1, 2, 3}, nil, done); n != 2 || err != queue.ErrGaveUp {
			t.Fatalf("Put() = %d, %v, want 2, ErrGaveUp", n, err)
		}
		if st := q.Stats(); st.In != 2 || st.Blocked != time.Second {
			t.Fatalf("In, Blocked = %d, %v, want 2, 1s", st.In, st.Blocked)
		}
	})
}

func TestDemand(t *testing.T) {
	t.Run("a sole producer waits and gets what fits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q, in, out := open(queue.Config[int]{Capacity: 4})
			demand := func(limit, want int) {
				t.Helper()
				if n, err := q.Demand(in, limit, true); n != want || err != nil {
					t.Fatalf("Demand(%d) = %d, %v, want %d, nil", limit, n, err, want)
				}
			}
			demand(9, 4)
			demand(3, 3)
			mustPut(t, q, in, 1, 2, 3, 4)
			began := time.Now()
			time.AfterFunc(time.Second, func() { mustTake(t, q, out, 3) })
			demand(9, 3)
			if took := time.Since(began); took != time.Second {
				t.Fatalf("Demand took %v, want 1s", took)
			}
		})
	})
	t.Run("one of several gets one, and reserves nothing", func(t *testing.T) { // T14
		q, in, out := open(queue.Config[int]{Capacity: 4})
		for range 100 { // idle producers that hold demand keep nobody out
			if n, err := q.Demand(queue.NewWaiter(), 9, false); n != 4 || err != nil {
				t.Fatalf("Demand() = %d, %v, want 4, nil", n, err)
			}
		}
		mustPut(t, q, in, 1, 2, 3, 4)
		if n, err := q.Demand(in, 9, false); n != 1 || err != nil {
			t.Fatalf("Demand() of a full queue = %d, %v, want 1, nil", n, err)
		}
		mustTake(t, q, out, 4)
	})
	t.Run("a dropping queue never withholds it", func(t *testing.T) {
		for _, p := range []queue.Policy{queue.DropNewest, queue.DropOldest, queue.Reject} {
			q, in, _ := open(queue.Config[int]{Capacity: 4, OnFull: p})
			mustPut(t, q, in, 1, 2, 3, 4)
			if n, err := q.Demand(in, 9, true); n != 4 || err != nil {
				t.Errorf("%v: Demand(9) = %d, %v, want 4, nil", p, n, err)
			}
			if n, err := q.Demand(in, 3, true); n != 3 || err != nil {
				t.Errorf("%v: Demand(3) = %d, %v, want 3, nil", p, n, err)
			}
		}
	})
	t.Run("by weight it is estimated from the mean", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			q, in, out := open(queue.Config[int64]{Capacity: 100, MaxWeight: 100, Weight: weightOf})
			mustPut(t, q, in, 10, 30) // mean 20, 60 left
			if n, err := q.Demand(in, 99, true); n != 3 || err != nil {
				t.Fatalf("Demand() = %d, %v, want 3, nil", n, err)
			}
			mustPut(t, q, in, 50) // mean 30, 10 left: one may fit
			if n, err := q.Demand(in, 99, true); n != 1 || err != nil {
				t.Fatalf("Demand() = %d, %v, want 1, nil", n, err)
			}
			mustPut(t, q, in, 10)
			began := time.Now()
			time.AfterFunc(time.Second, func() { mustTake(t, q, out, 1) })
			if n, err := q.Demand(in, 99, true); n != 1 || err != nil || time.Since(began) != time.Second {
				t.Fatalf("Demand() = %d, %v after %v, want 1, nil after 1s", n, err, time.Since(began))
			}
		})
	})
}

func TestRoomForSeveralLetsSeveralProducersIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, in, out := open(queue.Config[int]{Capacity: 5})
		mustPut(t, q, in, make([]int, 5)...)
		for i := range 7 {
			go func() { _, _ = q.Put(queue.NewWaiter(), []int{i}, nil, nil) }()
		}
		synctest.Wait()
		mustTake(t, q, out, 3)
		synctest.Wait()
		if st := q.Stats(); st.In != 8 || st.Depth != 5 {
			t.Errorf("In, Depth = %d, %d, want 8, 5: as many as there was room for", st.In, st.Depth)
		}
		q.Abort(errAbort)
	})
}

// The hook may use the queue: it runs without the lock.
func TestTheHookRunsOutsideTheLock(t *testing.T) {
	var q *queue.Queue[int]
	depths := 0
	q, in, _ := open(queue.Config[int]{Capacity: 1, OnFull: queue.DropOldest, Dropped: func(int, *queue.Tag, queue.Reason) {
		depths += q.Stats().Depth
	}})
	mustPut(t, q, in, 1, 2)
	if err := q.Offer(3, nil); err != nil || depths != 2 {
		t.Fatalf("Offer() = %v, depths seen by the hook %d, want nil, 2", err, depths)
	}
}

func TestOnLeftRunsOnceWhenTheLastConsumerLeaves(t *testing.T) {
	var q *queue.Queue[int]
	called := 0
	q, _, _ = open(queue.Config[int]{Capacity: 1, Left: func(cause error) stage.Outcome { return stage.Outcome{Err: cause} }})
	q.AddConsumer()
	q.OnLeft(func() { called += 1 + q.Stats().Depth })
	for i, want := range []int{0, 1, 1} {
		if q.Leave(errLeft); called != want {
			t.Fatalf("after %d consumers left: called %d times, want %d", i+1, called, want)
		}
	}
}

func TestNames(t *testing.T) {
	for p, want := range map[queue.Policy]string{queue.Block: "block", queue.Reject: "reject", 4: "policy(4)"} {
		if got := p.String(); got != want || p.Valid() != (p < 4) {
			t.Errorf("Policy %d: %q, valid %v, want %q, %v", uint8(p), got, p.Valid(), want, p < 4)
		}
	}
	for r, want := range map[queue.Reason]string{queue.DropFull: "full", queue.DropTooHeavy: "too heavy", queue.Reasons: "reason(5)"} {
		if got := r.String(); got != want {
			t.Errorf("Reason %d: %q, want %q", uint8(r), got, want)
		}
	}
	err := &queue.FullError{Edge: "e", Capacity: 3, EstimatedWait: 1500 * time.Microsecond}
	if got, want := err.Error(), `flow: edge "e" is full (capacity 3, estimated wait 1.5ms)`; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}
