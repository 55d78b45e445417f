package jetstream

import (
	"context"
	"sync"
	"time"
)

// window has a place for each message that is sent and not confirmed. There are no more messages than places.
type window struct {
	free   chan uint64  // places, each with the ticket for its next message
	silent func() error // why there may be no answers

	mu     sync.Mutex
	places []place
}

// place belongs to the message of a batch that its ticket was given to. A ticket is the number of a place plus a multiple of the
// number of places, and used once, so that an answer that comes late is not taken for that of the next message.
type place struct {
	ticket uint64
	batch  *batch // nil while it is free
	index  int    // of the message in the batch
}

func newWindow(size int, silent func() error) *window {
	w := &window{free: make(chan uint64, size), silent: silent, places: make([]place, size)}
	for i := range size {
		w.free <- uint64(i)
	}
	return w
}

// inUse is how many messages are on their way.
func (w *window) inUse() int { return cap(w.free) - len(w.free) }

// enter takes a place for message i of b. It waits until one is free or ctx is done.
func (w *window) enter(ctx context.Context, b *batch, i int) (ticket uint64, ok bool) {
	select {
	case ticket = <-w.free:
	default:
		if ticket, ok = wait(ctx, w, b, w.free); !ok {
			return 0, false
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.places[ticket%uint64(len(w.places))] = place{ticket: ticket, batch: b, index: i}
	b.left++
	return ticket, true
}

// settle ends the message that has a ticket. It does nothing for one that has ended.
func (w *window) settle(ticket uint64, a receipt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &w.places[ticket%uint64(len(w.places))]
	if p.batch != nil && p.ticket == ticket {
		w.leave(p, a)
	}
}

// leave gives a place back. The lock must be held.
func (w *window) leave(p *place, a receipt) {
	b := p.batch
	p.batch = nil
	w.free <- p.ticket + uint64(len(w.places)) // has room for every place
	b.settle(p.index, a)
}

// giveUp ends the messages of b, those of every batch if it is nil: whether they are stored is unknown.
func (w *window) giveUp(b *batch, why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.places {
		if p := &w.places[i]; p.batch != nil && (b == nil || p.batch == b) {
			w.leave(p, receipt{fate: fateUnknown, err: why})
		}
	}
}

// wait receives from c, until ctx is done. Whenever b has had no answer for as long as its patience lasts its messages are given up.
func wait[T any](ctx context.Context, w *window, b *batch, c <-chan T) (v T, ok bool) {
	t := time.NewTimer(b.patience)
	defer t.Stop()
	seen := w.answers(b)
	for {
		select {
		case v = <-c:
			return v, true
		case <-ctx.Done():
			return v, false
		case <-t.C:
			now := w.answers(b)
			if now == seen {
				w.giveUp(b, w.silent())
			}
			seen = now
			t.Reset(b.patience)
		}
	}
}

func (w *window) answers(b *batch) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return b.answers
}

// endRound says that no more messages of b are going to enter.
func (w *window) endRound(b *batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b.finish()
}

// halted says whether there is no point in sending more of b.
func (w *window) halted(b *batch) bool {
	if b.chain == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return b.halt
}
