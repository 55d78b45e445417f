package queue_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/internal/claim"
	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

const ms = time.Millisecond

func TestTakeMovesWhatIsThere(t *testing.T) {
	q, in, out := open(queue.Config[int]{Capacity: 9})
	mustPut(t, q, in, 1, 2, 3, 4, 5)
	if got := mustTake(t, q, out, 2); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("Take(2) = %v, want 1, 2", got)
	}
	if got := mustTake(t, q, out, 0); len(got) != 0 {
		t.Errorf("Take(0) = %v, want nothing", got)
	}
	if got := mustTake(t, q, out, 99); !slices.Equal(got, []int{3, 4, 5}) {
		t.Errorf("Take(99) = %v, want 3, 4, 5", got)
	}
	q.CloseProducer()
	for range 2 {
		if n, err := q.Take(out, make([]int, 9), nil, nil); n != 0 || err != stage.ErrEnd {
			t.Errorf("Take() = %d, %v, want 0, ErrEnd, each time", n, err)
		}
	}
}

func TestTheStreamEndsBehindWhatWaits(t *testing.T) {
	q, in, out := open(queue.Config[int]{Capacity: 9})
	q.AddProducer()
	mustPut(t, q, in, 1)
	q.CloseProducer()
	mustPut(t, q, in, 2) // the other one is still there
	q.CloseProducer()
	if got := mustTake(t, q, out, 9); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("Take() = %v, want 1, 2", got)
	}
	if _, err := q.Take(out, make([]int, 9), nil, nil); err != stage.ErrEnd {
		t.Errorf("Take() = %v, want ErrEnd", err)
	}
}

func TestTakeWaitsForAnItemOrUntilItsTimeIsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, in, out := open(queue.Config[int]{Capacity: 9})
		dst := make([]int, 9)
		if n, err := q.Take(out, dst, nil, time.After(3*time.Second)); n != 0 || err != queue.ErrTimeout {
			t.Fatalf("Take() = %d, %v, want 0, ErrTimeout", n, err)
		}
		if got := time.Duration(out.Returned - out.Entered); got != 3*time.Second || out.Waited != out.Returned-out.Entered {
			t.Errorf("it took %v of which %v waiting, want 3s", got, time.Duration(out.Waited))
		}
		time.AfterFunc(2*time.Second, func() { mustPut(t, q, in, 1) })
		if n, err := q.Take(out, dst, nil, time.After(3*time.Second)); n != 1 || err != nil {
			t.Fatalf("Take() = %d, %v, want 1, nil", n, err)
		}
		if got := time.Duration(out.Waited); got != 2*time.Second {
			t.Errorf("Waited = %v, want 2s", got)
		}
		if st := q.Stats(); st.Starved != 5*time.Second || out.Parked.Sum() != int64(5*time.Second) {
			t.Errorf("Starved, Parked = %v, %v, want 5s", st.Starved, time.Duration(out.Parked.Sum()))
		}
		go func() { _, _ = q.Take(out, dst, nil, nil) }()
		time.Sleep(time.Second)
		if st := q.Stats(); st.Starved != 6*time.Second {
			t.Errorf("while a consumer is parked: Starved = %v, want 6s", st.Starved)
		}
		q.Abort(errAbort)
	})
}

func TestMaxWaitDropsExactlyWhatIsOlder(t *testing.T) {
	for _, hook := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var drops []int
			cfg := queue.Config[int]{Capacity: 9, MaxWait: 10 * ms}
			if hook {
				cfg.Dropped = func(v int, _ *queue.Tag, why queue.Reason) {
					if why != queue.DropExpired {
						t.Errorf("reason = %v, want expired", why)
					}
					drops = append(drops, v)
				}
			}
			q, in, out := open(cfg)
			mustPut(t, q, in, 1, 2)
			time.Sleep(5*ms - 1)
			mustPut(t, q, in, 3)
			time.Sleep(time.Nanosecond)
			mustPut(t, q, in, 4)
			time.Sleep(10 * ms)
			if got := mustTake(t, q, out, 9); !slices.Equal(got, []int{4}) {
				t.Errorf("Take() = %v, want 4, which is just 10ms old", got)
			}
			if st := q.Stats(); st.Dropped[queue.DropExpired] != 3 {
				t.Errorf("expired: %d, want 3", st.Dropped[queue.DropExpired])
			}
			if hook && !slices.Equal(drops, []int{1, 2, 3}) {
				t.Errorf("hook saw %v, want 1, 2, 3", drops)
			}
		})
	}
}

func TestAnyNumberOfItemsExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dropped, depth := 0, 0
		var q *queue.Queue[int]
		q, in, out := open(queue.Config[int]{Capacity: 2000, MaxWait: ms, Dropped: func(v int, _ *queue.Tag, _ queue.Reason) {
			if v != dropped {
				t.Errorf("dropped %d, want %d", v, dropped)
			}
			dropped++
			depth = q.Stats().Depth
		}})
		for i := range 1999 {
			mustPut(t, q, in, i)
			time.Sleep(time.Nanosecond)
		}
		time.Sleep(2 * ms)
		blocked := make(chan struct{})
		go func() { mustPut(t, q, queue.NewWaiter(), 1999, 2000, 2001); close(blocked) }()
		synctest.Wait()
		time.Sleep(ms / 2)
		got := mustTake(t, q, out, 1)
		<-blocked
		if dropped != 1999 || depth > 3 || !slices.Equal(got, []int{1999}) {
			t.Errorf("dropped %d, then %d waited; took %v; want 1999, at most 3, 1999", dropped, depth, got)
		}
	})
}

func TestAFairQueueGivesAConsumerItsShare(t *testing.T) {
	for _, late := range []bool{false, true} {
		testShares(t, late)
	}
}

func testShares(t *testing.T, late bool) {
	t.Helper()
	q, in, out := open(queue.Config[int]{Capacity: 100, Fair: !late})
	if late {
		q.ShareOut()
	}
	q.AddConsumer()
	q.AddConsumer()
	mustPut(t, q, in, make([]int, 10)...)
	for _, want := range []int{4, 2, 2, 1, 1} {
		if got := len(mustTake(t, q, out, 99)); got != want {
			t.Errorf("Take() moved %d of what was left, want %d", got, want)
		}
	}
	mustPut(t, q, in, make([]int, 10)...)
	q.Leave(nil)
	q.Leave(nil)
	if got := len(mustTake(t, q, out, 99)); got != 10 {
		t.Errorf("the only consumer took %d, want 10", got)
	}
}

// One chunk wakes as many consumers as it has work for.
func TestAChunkWakesAllConsumers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, in, _ := open(queue.Config[int]{Capacity: 100})
		q.AddProducer()
		took := make(chan int, 9)
		for range 5 {
			go func() {
				n, _ := q.Take(queue.NewWaiter(), make([]int, 2), nil, nil)
				took <- n
			}()
		}
		synctest.Wait()
		mustPut(t, q, in, make([]int, 9)...)
		synctest.Wait()
		if len(took) != 5 {
			t.Errorf("%d consumers were served, want 5", len(took))
		}
	})
}

// The estimate counts what is running and what busy consumers finish: it is not the rate of an idle edge.
func TestEstimatedWaitAtTenPercentLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, in, out := open(queue.Config[int]{Capacity: 100})
		if got := q.EstimatedWait(); got != 0 {
			t.Errorf("EstimatedWait() = %v, want 0 while nothing is known", got)
		}
		go func() {
			for {
				if _, err := q.Take(out, make([]int, 1), nil, nil); err != nil {
					return
				}
				time.Sleep(10 * ms)
			}
		}()
		for range 30 {
			mustPut(t, q, in, 1)
			time.Sleep(100 * ms)
		}
		if got := q.EstimatedWait(); got != 0 {
			t.Errorf("EstimatedWait() of an idle edge = %v, want 0", got)
		}
		mustPut(t, q, in, 1)
		synctest.Wait()
		if got := q.EstimatedWait(); got != 10*ms {
			t.Errorf("EstimatedWait() with one item running = %v, want 10ms", got)
		}
		mustPut(t, q, in, 1, 2, 3)
		if got := q.EstimatedWait(); got != 40*ms {
			t.Errorf("EstimatedWait() with one running and three waiting = %v, want 40ms", got)
		}
		q.AddConsumer()
		if got := q.Stats().EstimatedWait; got != 20*ms {
			t.Errorf("with two consumers: %v, want 20ms", got)
		}
		q.Abort(errAbort)
		time.Sleep(time.Second) // the consumer comes back and sees it
	})
}

// The estimate follows a change of speed within a hundred items.
func TestEstimatedWaitFollowsTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, in, out := open(queue.Config[int]{Capacity: 1, OnFull: queue.Reject, Name: "e"})
		for i := range 1200 {
			_ = q.Offer(i, nil)
			mustTake(t, q, out, 1)
			if i < 1000 {
				time.Sleep(10 * ms)
			} else {
				time.Sleep(30 * ms)
			}
		}
		mustPut(t, q, in, 1)
		// The last item still counts as running.
		if got := q.EstimatedWait(); got < 55*ms || got > 60*ms {
			t.Errorf("EstimatedWait() = %v, want 55ms to 60ms", got)
		}
		full, ok := errors.AsType[*queue.FullError](q.Offer(2, nil))
		if !ok || full.EstimatedWait < 25*ms || full.EstimatedWait > 60*ms {
			t.Errorf("Offer() = %v, want an estimate that is live", full)
		}
	})
}

func TestMinSojournTellsABurstFromAStandingQueue(t *testing.T) {
	// serve puts n items at once and takes one each interval; then puts and takes by turns, keeping the backlog.
	serve := func(t *testing.T, burst, rest int) (during, after time.Duration) {
		t.Helper()
		q, in, out := open(queue.Config[int]{Capacity: 1000})
		mustPut(t, q, in, make([]int, burst)...)
		for range burst - rest {
			time.Sleep(10 * ms)
			mustTake(t, q, out, 1)
		}
		during = q.Stats().MinSojourn
		for range 100 {
			mustPut(t, q, in, 1)
			time.Sleep(10 * ms)
			mustTake(t, q, out, 1)
		}
		return during, q.Stats().MinSojourn
	}
	synctest.Test(t, func(t *testing.T) {
		if during, after := serve(t, 50, 0); during < 300*ms || after != 10*ms {
			t.Errorf("a burst: MinSojourn %v at its end, then %v, want above 300ms, then 10ms", during, after)
		}
		if _, after := serve(t, 50, 20); after != 210*ms {
			t.Errorf("a standing queue of 20: MinSojourn = %v, want 210ms", after)
		}
	})
}

func TestMinSojournForgetsABurstThatWasLongAgo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, in, out := open(queue.Config[int]{Capacity: 1000})
		mustPut(t, q, in, 1)
		time.Sleep(500 * ms)
		mustTake(t, q, out, 1)
		if got := q.Stats().MinSojourn; got != 500*ms {
			t.Errorf("MinSojourn = %v, want 500ms", got)
		}
		time.Sleep(time.Hour)
		if got := q.Stats().MinSojourn; got != 0 {
			t.Errorf("after an hour without items: MinSojourn = %v, want 0", got)
		}
		mustPut(t, q, in, 1)
		mustTake(t, q, out, 1)
		if got := q.Stats().MinSojourn; got != 0 {
			t.Errorf("with an item that did not wait: MinSojourn = %v, want 0", got)
		}
		mustPut(t, q, in, 1)
		time.Sleep(time.Second)
		if got := q.Stats().MinSojourn; got != time.Second {
			t.Errorf("when nobody takes: MinSojourn = %v, want the age of the oldest, 1s", got)
		}
	})
}

func TestSojournTimesAreMeasuredPerItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, in, out := open(queue.Config[int]{Capacity: 9})
		mustPut(t, q, in, 1, 2)
		time.Sleep(3 * ms)
		mustPut(t, q, in, 3)
		time.Sleep(ms)
		mustTake(t, q, out, 9)
		h := q.Stats().Sojourn
		if h.Count() != 3 || h.Max() != 4*ms || h.Mean() != 3*ms {
			t.Errorf("count, max, mean = %d, %v, %v, want 3, 4ms, 3ms", h.Count(), h.Max(), h.Mean())
		}
	})
}

// The clock of a Take is read before the lock is taken: what is accepted in between has not waited for less than nothing.
func TestAnItemThatComesAfterTheReadingHasNotWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, in, out := open(queue.Config[int]{Capacity: 9, MaxWait: ms})
		now := clock.Now()
		time.Sleep(ms)
		mustPut(t, q, in, 1)
		if n, err := q.TakeAt(now, out, make([]int, 9), nil, nil); n != 1 || err != nil {
			t.Fatalf("TakeAt() = %d, %v, want 1, nil", n, err)
		}
		if st := q.Stats(); st.MinSojourn != 0 || st.Sojourn.Max() != 0 {
			t.Errorf("MinSojourn, longest = %v, %v, want 0, 0", st.MinSojourn, st.Sojourn.Max())
		}
	})
}

func TestWhatWaitsIsGivenBackWithTheOutcomeThatLeftSays(t *testing.T) {
	settled := &ledger{outcomes: map[int][]stage.Outcome{}}
	cfg := queue.Config[int]{Capacity: 9, Tagged: true}
	for i, c := range []struct {
		left func(error) stage.Outcome
		want stage.Outcome
	}{
		{nil, stage.Outcome{Kind: stage.Failed, GivenBack: true, Err: errLeft}},
		{func(error) stage.Outcome { return stage.Outcome{} }, stage.Outcome{}},
	} {
		cfg.Left = c.left
		q, in, out := open(cfg)
		tags := []*queue.Tag{
			claim.Claimed(stage.Meta{}, settled, uint64(10*i)),
			claim.Claimed(stage.Meta{}, settled, uint64(10*i+1)),
		}
		if n, err := q.Put(in, []int{1, 2}, tags, nil); n != 2 || err != nil {
			t.Fatalf("Put() = %d, %v, want 2, nil", n, err)
		}
		dst := make([]*queue.Tag, 1)
		if n, err := q.Take(out, make([]int, 1), dst, nil); n != 1 || err != nil || dst[0] != tags[0] {
			t.Fatalf("Take() = %d, %v, want 1, nil and the first tag", n, err)
		}
		q.Leave(errLeft)
		q.Abort(errAbort) // too late
		if got := settled.outcomes[10*i+1]; !slices.Equal(got, []stage.Outcome{c.want}) {
			t.Errorf("what waited was settled with %v, want once %v", got, c.want)
		}
		if got := settled.outcomes[10*i]; got != nil {
			t.Errorf("what was taken was settled with %v", got)
		}
		if st := q.Stats(); st.In != 2 || st.Out != 1 || st.Depth != 1 {
			t.Errorf("In, Out, Depth = %d, %d, %d, want 2, 1, 1: it stays true for ever", st.In, st.Out, st.Depth)
		}
		if n, err := q.Take(out, make([]int, 1), dst, nil); n != 0 || err != queue.ErrLeft {
			t.Errorf("Take() = %d, %v, want 0, ErrLeft", n, err)
		}
	}
}

func TestAnAbortedQueueEndsForEverybodyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, in, out := open(queue.Config[int]{Capacity: 1})
		errs := make(chan error, 9)
		go func() {
			_, err := q.Take(out, make([]int, 1), nil, nil)
			errs <- err
		}()
		synctest.Wait()
		q.Abort(errAbort)
		q.Abort(errLeft)
		synctest.Wait()
		if len(errs) != 1 || !errors.Is(<-errs, errAbort) {
			t.Error("the consumer got something else than the cause of Abort, at once")
		}
		q, in, _ = open(queue.Config[int]{Capacity: 1})
		go func() {
			_, err := q.Put(in, []int{1, 2}, nil, nil)
			errs <- err
		}()
		go func() {
			time.Sleep(ms)
			_, err := q.Demand(queue.NewWaiter(), 9, true)
			errs <- err
		}()
		time.Sleep(2 * ms)
		q.Abort(errAbort)
		synctest.Wait()
		if len(errs) != 2 || !errors.Is(<-errs, errAbort) || !errors.Is(<-errs, errAbort) {
			t.Error("the producers got something else than the cause of Abort, at once")
		}
	})
}
