package queue

import (
	"errors"
	"testing"
	"time"
)

// A consumer whose time is up just when an item has come, which then is too old, returns: its timer does not fire again.
func TestTimeIsUpForAnItemThatHasExpired(t *testing.T) {
	q := New(Config[int]{Capacity: 9, MaxWait: 1})
	q.AddConsumer()
	timeout, got := make(chan time.Time), make(chan error)
	go func() {
		_, err := q.Take(NewWaiter(), make([]int, 1), nil, timeout)
		got <- err
	}()
	timeout <- time.Time{} // the consumer gives up, and waits for the lock
	q.mu.Lock()
	q.values.grow(1, 9)
	q.values.push([]int{1})
	q.marks.push(0, 1, 9)
	q.count.in++
	q.mu.Unlock()
	watchdog := time.AfterFunc(5*time.Second, func() { q.Abort(errors.New("still waiting after 5 s")) })
	defer watchdog.Stop()
	if err := <-got; err != ErrTimeout {
		t.Errorf("Take() = %v, want ErrTimeout", err)
	}
}

// The hint is what makes refusing cheap; that it may be wrong never shows but in the time that refusals take.
func TestTheHintIsSetJustWhileOffersAreRefused(t *testing.T) {
	for p := range policies {
		q := New(Config[int]{Capacity: 1, OnFull: p})
		want := p == DropNewest || p == Reject
		for range 2 {
			if q.full.Load() {
				t.Errorf("%v: the hint is set while there is room", p)
			}
			if err := q.Offer(1, nil); err != nil || q.full.Load() != want {
				t.Errorf("%v: Offer() = %v, full %v, want nil, %v", p, err, q.full.Load(), want)
			}
			if n, err := q.Take(NewWaiter(), make([]int, 1), nil, nil); n != 1 || err != nil {
				t.Errorf("%v: Take() = %d, %v, want 1, nil", p, n, err)
			}
		}
	}
}
