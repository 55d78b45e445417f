package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/internal/clock"
)

const (
	tailTime     = 100 * time.Millisecond // for what the server is sending when Close comes
	tailInterval = 5 * time.Millisecond
	repeatWithin = 500 * time.Millisecond // for a confirmation, while closing
)

// Close stops asking, takes in what the server has sent, gives back everything that has not settled, and waits until all answers
// have gone out, and are confirmed where the mode says so. It takes no longer than CloseTimeout.
func (f *Fetcher) Close() error {
	f.opening.Lock()
	defer f.opening.Unlock()
	f.mu.Lock()
	first := !f.closing
	f.closing = true
	f.mu.Unlock()
	if !first {
		return f.closeErr
	}
	close(f.closed)
	if f.bound == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), f.cfg.CloseTimeout)
	defer cancel()
	f.stopAsking(ctx)
	f.giveBack()
	f.signal(f.kick)
	f.closeErr = f.report(f.settleUp(ctx))
	f.postman.end(f.nc)
	_ = f.watch.sub.Unsubscribe() // it fails where the connection is closed, and with it the subscription
	if f.gaps.advice != nil {
		_ = f.gaps.advice.Unsubscribe()
	}
	f.timer.Stop()
	return f.closeErr
}

// stopAsking ends the requests, and receives what they have brought.
func (f *Fetcher) stopAsking(ctx context.Context) {
	sub := f.pulls.sub
	if sub == nil {
		return
	}
	if !f.nc.IsConnected() {
		_ = sub.Unsubscribe() // the server has forgotten it anyway
		return
	}
	f.awaitTail()
	if sub.Drain() == nil {
		_ = f.nc.FlushWithContext(ctx) // behind it nothing more can come; without it, what does comes again after AckWait
	}
	f.mu.Lock()
	f.receiveAll(f.emptied)
	f.mu.Unlock()
}

// awaitTail gives messages a moment that are being sent: once the inbox is gone the server has nowhere to send them, and they would
// come again after AckWait only.
func (f *Fetcher) awaitTail() {
	for until := clock.Now() + int64(tailTime); clock.Now() < until; time.Sleep(tailInterval) {
		f.mu.Lock()
		f.receiveAll(f.emptied)
		more := f.pulls.credit > 0 && f.watch.pending > 0 && f.final == nil
		f.mu.Unlock()
		if !more {
			return
		}
	}
}

// giveBack has everything that has not settled delivered again, at once and in the order of the stream.
func (f *Fetcher) giveBack() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := clock.Now()
	var rest []int32
	for i := range f.slots.all {
		s := &f.slots.all[i]
		switch {
		case s.state != waiting && s.state != held && s.state != done:
		case f.expired(s, now):
			f.gaps.returned(s, f.limit)
			f.slots.release(int32(i))
		default:
			rest = append(rest, int32(i))
		}
	}
	slices.SortFunc(rest, func(a, b int32) int {
		return cmp.Compare(f.slots.all[a].facts.sequence, f.slots.all[b].facts.sequence)
	})
	for _, i := range rest {
		f.gaps.returned(&f.slots.all[i], f.limit)
		f.queue(i, nak, 0)
	}
	f.counts.givenBack += uint64(len(rest))
}

// settleUp waits until nothing is owed to the server any more.
func (f *Fetcher) settleUp(ctx context.Context) error {
	repeat := time.NewTicker(repeatWithin)
	defer repeat.Stop()
	for f.owed() > 0 || !f.flushed(ctx) {
		if f.deaf() {
			return errDeaf
		}
		select {
		case <-f.wake:
		case <-repeat.C:
			f.mu.Lock()
			f.askAgain(clock.Now() - int64(repeatWithin))
			f.mu.Unlock()
			f.signal(f.kick)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// flushed has the server read everything that has been sent, and tells whether it has: a connection may break meanwhile, and what was
// sent on the old one is sent again by the postman.
func (f *Fetcher) flushed(ctx context.Context) bool {
	f.mu.Lock()
	epoch, unproven := f.epoch, len(f.unproven)
	f.mu.Unlock()
	if unproven == 0 && !f.nc.IsConnected() {
		return true // there is nothing to be read
	}
	same := func() bool { return f.nc.IsConnected() && f.nc.Stats().Reconnects == epoch }
	if !same() || f.nc.FlushWithContext(ctx) != nil || !same() {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.epoch != epoch {
		return false
	}
	f.dropProven(unproven)
	return len(f.unproven) == 0
}

var errDeaf = errors.New("nobody is there to take them")

// deaf tells whether waiting is pointless.
func (f *Fetcher) deaf() bool {
	closed := f.nc.IsClosed()
	f.mu.Lock()
	defer f.mu.Unlock()
	return closed || errors.Is(f.final, broker.ErrDeleted)
}

// owed is how many answers have not gone out, or are not confirmed.
func (f *Fetcher) owed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := int(f.line.owed.covers)
	for i := range f.slots.all {
		if s := f.slots.all[i].state; s == asked || s == leaving {
			n++
		}
	}
	if n == 0 {
		n = len(f.out) // Cumulative queues answers to what keeps its place
	}
	return n
}

// report makes an error of what is owed when Close ends.
func (f *Fetcher) report(cause error) error {
	n := f.owed()
	f.mu.Lock()
	n += len(f.unproven)
	f.mu.Unlock()
	if cause == nil || n == 0 {
		return nil
	}
	return fmt.Errorf("%s: close: of %d messages the server may not know how they ended: %w", f.where(), n, cause)
}
