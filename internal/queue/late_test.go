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
