package flow_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/weir-go/weir/stage"
)

// broker is an acknowledging source: messages 0 to total-1, each with a claim.
type broker struct {
	total int
	stays bool                 // behind the last message it waits for more instead of ending
	most  int                  // messages in one answer; 0: as many as asked for
	meta  func(int) stage.Meta // of a message; nil: its number is the ID
	event func()               // called by Settle; nil: nobody is told
	limit int                  // unsettled messages; 0: any number

	mu      sync.Mutex
	next    int
	handed  int           // of them, by calls that have returned
	ended   int           // of them
	free    chan struct{} // there may be room below the limit; made when it is first waited for
	settled map[int][]stage.Outcome
	wrong   []string
}

func newBroker(total int) *broker {
	return &broker{total: total, settled: map[int][]stage.Outcome{}}
}

func (b *broker) PullItems(ctx context.Context, dst []stage.Item[int]) (int, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if err := b.room(ctx); err != nil {
		return 0, err
	}
	b.mu.Lock()
	n := min(len(dst), b.total-b.next)
	if b.limit > 0 {
		n = min(n, b.limit-b.next+b.ended)
	}
	if b.most > 0 {
		n = min(n, b.most)
	}
	for i := range n {
		m := stage.Meta{ID: strconv.Itoa(b.next + i)}
		if b.meta != nil {
			m = b.meta(b.next + i)
		}
		dst[i] = stage.Claimed(b.next+i, m, b, uint64(b.next+i))
	}
	b.next += n
	b.mu.Unlock()
	switch {
	case n > 0:
		return n, nil
	case b.stays:
		<-ctx.Done()
		return 0, context.Cause(ctx)
	default:
		return 0, stage.ErrEnd
	}
}

// room waits until there is room below the limit, or there are no more messages.
func (b *broker) room(ctx context.Context) error {
	b.mu.Lock()
	b.handed = b.next
	b.mu.Unlock()
	for b.Exhausted() {
		b.mu.Lock()
		free := b.free
		b.mu.Unlock()
		select {
		case <-free:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// InFlight implements stage.InFlighter.
func (b *broker) InFlight() int { return b.limit }

// Exhausted implements stage.Exhauster.
func (b *broker) Exhausted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.free == nil {
		b.free = make(chan struct{}, 1)
	}
	return b.limit > 0 && b.handed-b.ended >= b.limit && (b.next < b.total || b.stays)
}

// Settle implements stage.Settler.
func (b *broker) Settle(token uint64, o stage.Outcome) {
	if b.event != nil {
		b.event()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settled[int(token)] = append(b.settled[int(token)], o)
	b.ended++
	select {
	case b.free <- struct{}{}:
	default: // it is known, or nobody waits
	}
	if int(token) >= b.next {
		b.wrong = append(b.wrong, fmt.Sprintf("%d settled before it was handed out", token))
	}
}

// problem says what is wrong with how messages were settled: each that was handed out must be, once.
func (b *broker) problem() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.next {
		if n := len(b.settled[i]); n != 1 {
			b.wrong = append(b.wrong, fmt.Sprintf("message %d was settled %d times", i, n))
		}
	}
	if len(b.wrong) == 0 {
		return nil
	}
	return fmt.Errorf("%d of %d: %v", len(b.wrong), b.next, b.wrong[:min(len(b.wrong), 5)])
}

// once fails the test unless each message handed out was settled once.
func (b *broker) once(t *testing.T) {
	t.Helper()
	if err := b.problem(); err != nil {
		t.Fatalf("claims: %v", err)
	}
}

// kind returns the numbers of the messages that ended as k, in order.
func (b *broker) kind(k stage.OutcomeKind) (out []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.next {
		if os := b.settled[i]; len(os) > 0 && os[0].Kind == k {
			out = append(out, i)
		}
	}
	return out
}

// outcome returns how message i ended.
func (b *broker) outcome(t *testing.T, i int) stage.Outcome {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.settled[i]) != 1 {
		t.Fatalf("message %d was settled %d times, want once", i, len(b.settled[i]))
	}
	return b.settled[i][0]
}
