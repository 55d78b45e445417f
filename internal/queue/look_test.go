package queue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// owner counts how often it is told.
type owner struct{ parked, holds int }

func (o *owner) Parks()     { o.parked++ }
func (o *owner) Holds() int { return o.holds }

func ownedBy(o *owner) *queue.Waiter {
	w := queue.NewWaiter()
	w.Owner = o
	return w
}

// put and take are calls whose answer is of no interest.
func put(q *queue.Queue[int], w *queue.Waiter, vs []int, tags []*queue.Tag, done <-chan struct{}) {
	_, _ = q.Put(w, vs, tags, done)
}

func take(q *queue.Queue[int], w *queue.Waiter, dst []int) { _, _ = q.Take(w, dst, nil, nil) }

// Whoever parks tells so once, and whoever does not wait tells nothing: all that is recorded is the line of the waiting.
func TestOnlyParkingIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New(queue.Config[int]{Capacity: 2})
		q.AddProducer()
		q.AddConsumer()
		p, c := &owner{}, &owner{holds: 7}
		producer, consumer := ownedBy(p), ownedBy(c)
		dst := make([]int, 4)
		for range 100 {
			put(q, producer, []int{1, 2}, nil, nil)
			take(q, consumer, dst)
		}
		if p.parked+c.parked != 0 {
			t.Fatalf("parked %d and %d times, want never: nobody has waited", p.parked, c.parked)
		}
		for range 10 {
			before := c.parked
			go func() {
				time.Sleep(time.Second)
				put(q, producer, []int{1, 2, 3, 4}, nil, nil) // the last two wait for the first
			}()
			var l queue.Look
			go func() {
				time.Sleep(time.Second / 2)
				q.Look(&l)
			}()
			for n := 0; n < 4; {
				k, _ := q.Take(consumer, dst[:2], nil, nil)
				n += k
			}
			synctest.Wait()
			if len(l.Takers) != 1 || len(l.Putters) != 0 {
				t.Fatalf("parked: %+v, want one consumer", l)
			}
			if got := l.Takers[0]; got.Owner != c || got.Holds != 7 || got.Timed || got.Done != nil || int(got.Epoch) != before+1 {
				t.Fatalf("got %+v behind %d waits", got, before)
			}
		}
	})
}

// A look shows who waits, and what ends the wait.
func TestLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue.New(queue.Config[int]{Capacity: 1})
		q.AddProducer()
		q.AddProducer()
		q.AddConsumer()
		first, second := &owner{}, &owner{}
		done := make(chan struct{})
		put(q, queue.NewWaiter(), []int{0}, nil, nil)
		go put(q, ownedBy(first), []int{1}, nil, nil)
		synctest.Wait()
		time.Sleep(time.Second)
		go put(q, ownedBy(second), []int{2}, nil, done)
		synctest.Wait()
		var l queue.Look
		q.Look(&l)
		if l.Length != 1 || l.Capacity != 1 || !l.Full || l.Ended || l.Producers != 2 || l.Consumers != 1 || len(l.Putters) != 2 {
			t.Fatalf("got %+v", l)
		}
		if a, b := l.Putters[0], l.Putters[1]; a.Owner != first || b.Owner != second || a.Done != nil || b.Done != done || b.Since-a.Since != int64(time.Second) {
			t.Fatalf("parked: %+v and %+v", a, b)
		}
		close(done)
		q.CloseProducer()
		if first.parked != 1 {
			t.Fatalf("told %d times, want once: a producer less is no matter to those who wait for room", first.parked)
		}
		q.AddConsumer()
		q.Leave(queue.ErrLeft)
		if first.parked != 2 {
			t.Fatalf("told %d times, want twice: there is a consumer less", first.parked)
		}
		q.Abort(stage.ErrEnd)
		synctest.Wait()
		if q.Look(&l); !l.Ended || len(l.Putters) != 0 {
			t.Fatalf("got %+v, want nobody to wait at an end", l)
		}
	})
}

// Grow lets in who waits, and nothing is lost or out of order on the way, whatever the ring looks like.
func TestGrow(t *testing.T) {
	for offset := range 8 {
		synctest.Test(t, func(t *testing.T) {
			q := queue.New(queue.Config[int]{Capacity: 4})
			q.AddProducer()
			q.AddConsumer()
			consumer := queue.NewWaiter()
			dst := make([]int, 40)
			for range offset {
				put(q, queue.NewWaiter(), []int{-1}, nil, nil)
				take(q, consumer, dst)
			}
			go func() {
				defer q.CloseProducer()
				for i := range 12 {
					put(q, queue.NewWaiter(), []int{i}, nil, nil)
				}
			}()
			synctest.Wait()
			q.Grow(3)
			synctest.Wait()
			if q.Capacity() != 7 || q.Config().Capacity != 7 || q.Stats().Depth != 7 {
				t.Fatalf("capacity %d, depth %d, want 7 each", q.Capacity(), q.Stats().Depth)
			}
			if err := q.Offer(0, nil); err == nil || err.(*queue.FullError).Capacity != 7 { //nolint:errorlint // it comes from the queue
				t.Fatalf("Offer() = %v, want one that says 7", err)
			}
			for next := 0; next < 12; {
				n, err := q.Take(consumer, dst, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, v := range dst[:n] {
					if v != next {
						t.Fatalf("got %d, want %d", v, next)
					}
					next++
				}
			}
		})
	}
}

// Shed drops the oldest, tells of it, and lets in who waits.
func TestShed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dropped []int
		q := queue.New(queue.Config[int]{Capacity: 2, Dropped: func(v int, _ *queue.Tag, why queue.Reason) {
			if why != queue.DropShed {
				t.Errorf("reason %v, want %v", why, queue.DropShed)
			}
			dropped = append(dropped, v)
		}})
		q.AddProducer()
		q.AddConsumer()
		if q.Shed(stage.Outcome{}) {
			t.Fatal("an empty queue has dropped something")
		}
		go put(q, queue.NewWaiter(), []int{1, 2, 3}, nil, nil)
		synctest.Wait()
		if !q.Shed(stage.Outcome{}) {
			t.Fatal("a full queue has dropped nothing")
		}
		synctest.Wait()
		s := q.Stats()
		if len(dropped) != 1 || dropped[0] != 1 || s.Depth != 2 || s.In != 3 || s.Dropped[queue.DropShed] != 1 {
			t.Fatalf("dropped %v, stats %+v", dropped, s)
		}
	})
}
