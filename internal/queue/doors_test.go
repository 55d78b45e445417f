package queue_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/internal/queue"
)

// laned returns the configuration of a queue of things with lanes that weigh one.
func laned(kind queue.Kind, capacity int) queue.Config[thing] {
	return queue.Config[thing]{
		Name: "e", Capacity: capacity,
		Order: queue.Order{Kind: kind, Lanes: modelLanes, From: 2, Target: time.Millisecond, Interval: time.Millisecond, Age: time.Hour},
		Lane:  func(v thing, _ *queue.Tag) (int, int) { return v.lane, 1 },
		Cost:  func(v thing) int64 { return v.weight },
	}
}

// putters start a producer for each lane given, which puts one thing, one after the other.
func putters(q *queue.Queue[thing], lanes ...int) {
	for id, lane := range lanes {
		go func() { _, _ = q.Put(queue.NewWaiter(), []thing{{id: id, lane: lane}}, nil, nil) }()
		synctest.Wait()
	}
}

// taken takes n things one by one, and returns their lanes.
func taken(t *testing.T, q *queue.Queue[thing], w *queue.Waiter, n int) (lanes []int) {
	t.Helper()
	for range n {
		lanes = append(lanes, mustTake(t, q, w, 1)[0].lane)
		synctest.Wait()
	}
	return lanes
}

func TestProducersAreLetInByKeyInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, _, consumer := open(laned(queue.Fair, 4))
		putters(q, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 1, 2)
		// Three of lane 0 are inside, and the place that is kept went to the first of lane 1.
		if got := q.Stats(); got.Depth != 4 {
			t.Fatalf("Depth = %d, want 4", got.Depth)
		}
		if got, want := taken(t, q, consumer, 13), []int{0, 1, 2, 0, 1, 2, 0, 1, 0, 0, 0, 0, 0}; !slices.Equal(got, want) {
			t.Errorf("took lanes %v, want %v", got, want)
		}
	})
}

// Room is given out in turn as well where all have something inside.
func TestRoomIsGivenOutByKeyInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, w, consumer := open(laned(queue.Fair, 13))
		defer q.Abort(errAbort)
		for id := range 12 {
			mustPut(t, q, w, thing{id: id, lane: id % 3})
		}
		var in [3]atomic.Int32
		for _, lane := range []int{0, 0, 0, 1, 1, 1, 2, 2, 2} {
			go func() {
				if _, err := q.Put(queue.NewWaiter(), []thing{{lane: lane}}, nil, nil); err == nil {
					in[lane].Add(1)
				}
			}()
			synctest.Wait()
		}
		for turn := int32(1); turn <= 3; turn++ {
			taken(t, q, consumer, 3)
			for lane := range in {
				if got := in[lane].Load(); got != turn {
					t.Errorf("turn %d: %d producers of lane %d were let in, want %d", turn, got, lane, turn)
				}
			}
		}
	})
}

// A place is kept for a lane that has nothing, so that it never waits while others fill the queue.
func TestAPlaceIsKeptForANewLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, policy := range []queue.Policy{queue.Block, queue.Reject} {
			cfg := laned(queue.Fair, 3)
			cfg.OnFull = policy
			q, _, consumer := open(cfg)
			offer := func(lane int, want bool) {
				t.Helper()
				if err := q.Offer(thing{lane: lane}, nil); (err == nil) != want {
					t.Errorf("%v: Offer(lane %d) = %v, want it taken: %t", policy, lane, err, want)
				}
			}
			offer(0, true)
			offer(0, true)
			offer(0, false)
			offer(1, true)
			offer(2, false) // full
			taken(t, q, consumer, 1)
			offer(0, false)
			offer(2, true)
		}
	})
}

// A producer that gives up does not take its place with it, also when it does so just as it is let in.
func TestAProducerThatGivesUpAtTheDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, _, consumer := open(laned(queue.Fair, 2))
		mustPut(t, q, queue.NewWaiter(), thing{lane: 0})
		done := make(chan struct{})
		errs := make(chan error)
		go func() {
			_, err := q.Put(queue.NewWaiter(), []thing{{lane: 0}}, nil, done)
			errs <- err
		}()
		synctest.Wait()
		putters(q, 0)
		close(done)
		if err := <-errs; err != queue.ErrGaveUp {
			t.Fatalf("Put() = %v, want ErrGaveUp", err)
		}
		taken(t, q, consumer, 2)
		if s := q.Stats(); s.Depth != 0 || s.Out != 2 {
			t.Errorf("Depth, Out = %d, %d, want 0, 2", s.Depth, s.Out)
		}
	})
}

func TestTheHighestClassIsLetInFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := laned(queue.ByRank, 3)
		cfg.Order.Reserved = 1
		q, _, consumer := open(cfg)
		putters(q, 0, 0, 0, 1, 3, 2) // two of lane 0, and lane 3 in the reserve, are inside
		if got := q.Stats(); got.Reserve != 0 || got.Depth != 3 {
			t.Fatalf("Depth, Reserve = %d, %d, want 3, 0", got.Depth, got.Reserve)
		}
		if got, want := taken(t, q, consumer, 6), []int{3, 2, 0, 1, 0, 0}; !slices.Equal(got, want) {
			t.Errorf("took lanes %v, want %v", got, want)
		}
		if got := q.Stats().Reserve; got != 1 {
			t.Errorf("Reserve = %d, want 1", got)
		}
	})
}

// What is open to anybody is what the only producer of a queue is asked for.
func TestDemandLeavesWhatIsKept(t *testing.T) {
	fair, ranked := laned(queue.Fair, 5), laned(queue.ByRank, 20)
	ranked.Order.Reserved = 2
	for want, cfg := range map[int]queue.Config[thing]{4: fair, 18: ranked} {
		q, w, _ := open(cfg)
		if n, err := q.Demand(w, 100, true); n != want || err != nil {
			t.Errorf("Demand() = %d, %v, want %d, nil", n, err, want)
		}
	}
	one, w, _ := open(laned(queue.Fair, 1))
	if n, err := one.Demand(w, 100, true); n != 1 || err != nil {
		t.Errorf("Demand() = %d, %v of an empty queue of one place, want 1, nil", n, err)
	}
}

// Eight producers and two consumers, while another looks: nothing is lost or counted twice, at any instant, and what one producer puts
// into a lane comes out in order.
func TestOrdersUnderRaces(t *testing.T) {
	const producers, each = 8, 150
	for name, order := range map[string]struct {
		kind     queue.Kind
		policies []queue.Policy
	}{
		"fair":    {queue.Fair, []queue.Policy{queue.Block, queue.DropNewest, queue.DropOldest, queue.Reject}},
		"by rank": {queue.ByRank, []queue.Policy{queue.Block, queue.DropNewest, queue.DropOldest, queue.Reject}},
		"newest":  {queue.Newest, []queue.Policy{queue.DropOldest}},
		"largest": {queue.Largest, []queue.Policy{queue.DropNewest, queue.DropOldest}},
	} {
		for _, policy := range order.policies {
			t.Run(name+" "+policy.String(), func(t *testing.T) {
				cfg := laned(order.kind, 16)
				cfg.OnFull = policy
				cfg.Deadline = func(v thing, _ *queue.Tag) time.Time { return v.deadline }
				var mu sync.Mutex
				dropped := 0
				cfg.Dropped = func(thing, *queue.Tag, queue.Reason) { mu.Lock(); dropped++; mu.Unlock() }
				q := queue.New(cfg)
				var puts, takes sync.WaitGroup
				for range producers { // all of them, before the first can close
					q.AddProducer()
				}
				for p := range producers {
					puts.Go(func() {
						defer q.CloseProducer()
						w := queue.NewWaiter()
						for i := range each {
							v := thing{id: p*each + i, lane: p % modelLanes, weight: int64(i % 7)}
							if i%11 == 0 {
								v.deadline = time.Now().Add(time.Microsecond)
							}
							_, _ = q.Put(w, []thing{v}, nil, nil)
						}
					})
				}
				last, got := make([]int, producers), 0
				for i := range last {
					last[i] = -1
				}
				q.AddConsumer() // one is enough to see the order, the other takes as well
				q.AddConsumer()
				for c := range 2 {
					takes.Go(func() {
						w, dst := queue.NewWaiter(), make([]thing, 5)
						for {
							n, err := q.Take(w, dst, nil, nil)
							if err != nil {
								return
							}
							mu.Lock()
							got += n
							mu.Unlock()
							if c == 0 && order.kind == queue.Fair {
								for _, v := range dst[:n] {
									if p := v.id / each; v.id <= last[p] {
										t.Errorf("item %d of producer %d came behind %d", v.id, p, last[p])
									} else {
										last[p] = v.id
									}
								}
							}
						}
					})
				}
				over := make(chan struct{})
				go func() { puts.Wait(); takes.Wait(); close(over) }()
				for looking := true; looking; {
					select {
					case <-over:
						looking = false
					default:
					}
					if s := q.Stats(); s.In != s.Out+sum(s.Dropped)+int64(s.Depth) || s.Depth > 16 {
						t.Fatalf("In = %d, want Out %d + Dropped %v + Depth %d, and that at most 16", s.In, s.Out, s.Dropped, s.Depth)
					}
				}
				s := q.Stats()
				if int64(got) != s.Out || int64(dropped) != sum(s.Dropped) || s.In+s.Refused != producers*each {
					t.Errorf("took %d, hook %d, want %d, %v; In %d + Refused %d, want %d", got, dropped, s.Out, s.Dropped, s.In, s.Refused, producers*each)
				}
			})
		}
	}
}
