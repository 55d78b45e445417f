package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/stage"
)

// receipt is what is known about one message.
type receipt struct {
	fate fate
	seq  uint64 // where it is stored; with fateBehind the last message of the stream, 0 if that is not known
	err  error
}

// letter is one message of a batch.
type letter struct {
	receipt
	id    string
	doubt bool // it was sent, and nobody knows what became of that
}

// confirmed says whether a letter is known to be stored.
func (l *letter) confirmed() bool { return l.fate == fateStored || l.fate == fateDuplicate }

// ended says whether there is nothing more to be done about a letter.
func (l *letter) ended() bool { return ends[l.fate] }

var ends = [fateDeleted + 1]bool{fateStored: true, fateDuplicate: true, fateFull: true, fateScarce: true, fateRefused: true}

// batch is one call of Send. While messages are on their way its letters belong to the window's lock.
type batch struct {
	msgs    []broker.Message
	letters []letter
	todo    []int // letters that have not ended, in order

	left     int           // letters on their way, plus 1 while there may be more
	answers  int           // so far
	done     chan struct{} // of capacity 1: nothing is left
	patience time.Duration // how long there may be no answer
	chain    *chain        // nil where letters don't depend on those in front
	halt     bool          // a letter of the chain has failed: those behind it will as well
}

func newBatch() *batch { return &batch{done: make(chan struct{}, 1)} }

// reset prepares a batch for a Send.
func (b *batch) reset(msgs []broker.Message, patience time.Duration) {
	if cap(b.letters) < len(msgs) {
		b.letters = make([]letter, len(msgs))
		b.todo = make([]int, 0, len(msgs))
	}
	b.msgs, b.letters, b.todo = msgs, b.letters[:len(msgs)], b.todo[:0]
	b.left, b.answers, b.patience, b.chain, b.halt = 0, 0, patience, nil, false
}

// clear lets go of what belongs to others.
func (b *batch) clear() {
	clear(b.letters)
	b.msgs = nil
}

func (b *batch) settle(i int, a receipt) {
	l := &b.letters[i]
	l.receipt = a
	l.doubt = a.fate == fateUnknown || l.doubt && !l.ended()
	if b.chain != nil && b.chain.breaks(a.fate) {
		b.halt = true
	}
	b.answers++
	b.finish()
}

// finish takes one off left.
func (b *batch) finish() {
	if b.left--; b.left == 0 {
		b.done <- struct{}{}
	}
}

// keep drops from todo what has ended.
func (b *batch) keep() {
	k := 0
	for _, i := range b.todo {
		if !b.letters[i].ended() {
			b.todo[k] = i
			k++
		}
	}
	b.todo = b.todo[:k]
}

// mark gives the letters of todo, from the k-th on, the same fate.
func (b *batch) mark(k int, a receipt) {
	for _, i := range b.todo[k:] {
		b.letters[i].receipt = a
	}
}

// outcome is the error of a Send, which ended because of ctx if letters are left over.
func (b *batch) outcome(ctx context.Context, where string) error {
	var bad stage.BatchError
	var last *letter // failures are often all the same, as on a full stream: they share an error
	var err error
	for i := range b.letters {
		l := &b.letters[i]
		if l.confirmed() {
			continue
		}
		if last == nil || l.receipt != last.receipt || l.doubt != last.doubt {
			last, err = l, fmt.Errorf("jetstream: %s: %w", where, l.failure(context.Cause(ctx)))
		}
		bad.Add(i, err)
	}
	return bad.OrNil()
}

// failure is why a letter is not known to be stored. stopped is why nobody tries any more, if that is not its own fate.
func (l *letter) failure(stopped error) error {
	if l.fate == fateFull || l.fate == fateScarce {
		return fmt.Errorf("%w: %w", broker.ErrFull, l.err)
	}
	if l.fate == fateRefused {
		return fmt.Errorf("%w: %w", broker.ErrRefused, l.err)
	}
	reason := l.err
	if l.fate != fateClosed && l.fate != fateDeleted {
		reason = because(stopped, reason)
	}
	if l.doubt {
		return fmt.Errorf("%w: %w", broker.ErrUnknown, reason)
	}
	return fmt.Errorf("not stored: %w", reason)
}

// because joins why somebody stopped with what was wrong until then; either may be nil.
func because(stopped, reason error) error {
	switch {
	case stopped == nil:
		return reason
	case reason == nil || errors.Is(reason, stopped):
		return stopped
	default:
		return fmt.Errorf("%w: %w", stopped, reason)
	}
}
