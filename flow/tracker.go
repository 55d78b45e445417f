package flow

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// tracker finds the highest position before which everything has settled. Items have tokens in the order of the source; a ring
// has those from the oldest that has not settled on. It is the settler of their claims.
//
// Its size is bounded by what is inside the pipeline, whose edges bound that, and by limit, for what has settled ahead
// of the oldest. To bound the sum instead would stop a source whose items wait in a Batch for more to come.
type tracker struct {
	limit int
	moved chan struct{} // has a value when the position has moved
	room  chan struct{} // has a value when somebody may go on who waits for room

	mu       sync.Mutex
	ring     []place // token t is at t % len, a power of two
	oldest   uint64  // not settled
	next     uint64  // to be given out
	ahead    int     // settled, behind the oldest
	end      uint64  // an item that failed: the position does not pass it
	failed   error   // why, unless it was only given back
	position string
}

type place struct {
	position string
	settled  bool
}

func newTracker(limit int) *tracker {
	return &tracker{
		limit: limit, end: math.MaxUint64, ring: make([]place, 64),
		moved: make(chan struct{}, 1), room: make(chan struct{}, 1),
	}
}

// wait waits until another item may come. It fails once an item has failed, which can't come again.
func (t *tracker) wait(ctx context.Context) error {
	for {
		t.mu.Lock()
		full, failed, at := t.ahead >= t.limit, t.failed, t.position
		t.mu.Unlock()
		switch {
		case failed != nil:
			return fmt.Errorf("an item behind position %q failed, and a source can't repeat it in the same run: %w", at, failed)
		case !full:
			return nil
		}
		select {
		case <-t.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// add notes that n items have come and returns the token of the first; the others follow.
func (t *tracker) add(n int, position func(i int) string) (first uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	first = t.next
	t.next += uint64(n)
	if t.end != math.MaxUint64 {
		return first // they are behind the end, and of no interest
	}
	t.grow()
	for i := range n {
		t.at(first + uint64(i)).position = position(i)
	}
	return first
}

func (t *tracker) at(token uint64) *place { return &t.ring[token&uint64(len(t.ring)-1)] }

// grow makes the ring large enough for what has been given out.
func (t *tracker) grow() {
	size := uint64(len(t.ring))
	for size < t.next-t.oldest {
		size *= 2
	}
	if size == uint64(len(t.ring)) {
		return
	}
	old := t.ring
	t.ring = make([]place, size)
	for token := t.oldest; token < t.oldest+uint64(len(old)); token++ {
		*t.at(token) = old[token&uint64(len(old)-1)]
	}
}

// Settle implements [stage.Settler].
func (t *tracker) Settle(token uint64, o stage.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case token >= t.end:
	case o.Kind == stage.Failed:
		t.stopAt(token, o.Err)
	default:
		t.at(token).settled = true
		t.ahead++
		t.advance()
	}
}

// stopAt makes a failed item the end. What has settled behind it does not count any more.
func (t *tracker) stopAt(token uint64, err error) {
	t.end = token
	t.ahead = 0
	for i := t.oldest; i < t.end; i++ {
		if t.at(i).settled {
			t.ahead++
		}
	}
	if !errors.Is(err, engine.ErrLeft) { // nobody wants more: the source is not asked again
		t.failed = err
		if err == nil {
			t.failed = errors.New("no reason was given")
		}
	}
	wake(t.room)
}

// advance moves the oldest past what has settled.
func (t *tracker) advance() {
	wasFull := t.ahead >= t.limit
	moved := false
	for t.oldest < min(t.next, t.end) && t.at(t.oldest).settled {
		p := t.at(t.oldest)
		if p.position != "" {
			t.position, moved = p.position, true
		}
		*p = place{}
		t.oldest++
		t.ahead--
	}
	if moved {
		wake(t.moved)
	}
	if wasFull && t.ahead < t.limit {
		wake(t.room)
	}
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// reached returns the position before which everything has settled, "" if there is none yet.
func (t *tracker) reached() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.position
}
