package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/stage"
)

// The headers of a dead letter, beside those of the message that it was.
const (
	HeaderDeadReason   = "Weir-Dead-Reason"   // one of a few fixed words: failed, undecodable, killer
	HeaderDeadStage    = "Weir-Dead-Stage"    // the name of the stage that it failed in
	HeaderDeadSubject  = "Weir-Dead-Subject"  // where the message was sent
	HeaderDeadSequence = "Weir-Dead-Sequence" // its place in its stream
	HeaderDeadAttempt  = "Weir-Dead-Attempt"  // how often it was delivered
	HeaderDeadHops     = "Weir-Dead-Hops"     // how often it has been made a dead letter
)

// The reasons of dead letters. They are fixed, so that nothing of a payload ends in a header.
const (
	reasonFailed      = "failed"
	reasonUndecodable = "undecodable"
	reasonKiller      = "killer"
)

const (
	maxHops       = 3                // how often a message is made a dead letter: beyond it has come round in a circle
	burialTime    = 30 * time.Second // how long storing a few dead letters may take
	closeTime     = 5 * time.Second  // the same when the source is closed
	burialsAtOnce = 64
)

// letters stores dead letters, and ends the messages that they were made of once they are stored. One that can't be stored fails:
// its message comes again. There are never more of them than deliveries in flight.
type letters struct {
	fetcher Fetcher
	sender  Sender
	subject string
	delay   Delay

	mu      sync.Mutex
	waiting []letter
	busy    bool // a goroutine is storing
	idle    chan struct{}
	ctx     context.Context
	cancel  context.CancelFunc

	stored, unburied, discarded atomic.Int64
}

// letter is a delivery to be stored, and why.
type letter struct {
	Delivery
	reason, stage string
}

func newLetters(f Fetcher, s Sender, subject string, delay Delay) *letters {
	l := &letters{fetcher: f, sender: s, subject: subject, delay: delay}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// open opens the sender, and sees to it that every message has room in it.
func (l *letters) open(ctx context.Context) error {
	if err := l.sender.Open(ctx); err != nil {
		return fmt.Errorf("dead letters: %w", err)
	}
	from, to := l.fetcher.Limits().Message, l.sender.Limits().Message
	if from > 0 && to > 0 && to < from {
		return errors.Join(fmt.Errorf("dead letters: the stream takes messages of up to %d bytes, those that may become dead letters have up to %d", to, from), l.sender.Close())
	}
	return nil
}

// add takes a delivery over. It does not block.
func (l *letters) add(d Delivery, reason, stage string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, letter{d, reason, stage})
	if !l.busy {
		l.busy, l.idle = true, make(chan struct{})
		go l.work()
	}
}

// work stores what waits, and ends when nothing does.
func (l *letters) work() {
	for {
		l.mu.Lock()
		n := min(len(l.waiting), burialsAtOnce)
		if n == 0 {
			l.busy, l.waiting = false, nil
			close(l.idle)
			l.mu.Unlock()
			return
		}
		some := l.waiting[:n:n]
		l.waiting = l.waiting[n:]
		l.mu.Unlock()
		l.store(some)
	}
}

// store stores some letters and settles their messages.
func (l *letters) store(some []letter) {
	msgs, sent := make([]Message, 0, len(some)), make([]letter, 0, len(some))
	for _, d := range some {
		hops := d.hops() + 1
		if hops > maxHops {
			l.discarded.Add(1)
			l.end(d)
			continue
		}
		msgs, sent = append(msgs, l.message(d, hops)), append(sent, d)
	}
	if len(msgs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(l.ctx, burialTime)
	defer cancel()
	failed := failures(l.sender.Send(ctx, msgs), len(msgs))
	for i, d := range sent {
		if err := failed[i]; err != nil {
			l.unburied.Add(1)
			l.fetcher.Settle(d.Token, stage.Outcome{Kind: stage.Failed, Err: err, Delay: l.delay(d.Attempt)})
			continue
		}
		l.stored.Add(1)
		l.end(d)
	}
}

func (l *letters) end(d letter) {
	l.fetcher.Settle(d.Token, stage.Outcome{Kind: stage.Terminated, Err: errors.New("broker: dead letter: " + d.reason)})
}

// failures returns the error of each of n messages.
func failures(err error, n int) []error {
	errs := make([]error, n)
	if err == nil {
		return errs
	}
	if bad, ok := errors.AsType[*stage.BatchError](err); ok {
		for _, it := range bad.Items {
			if it.Index >= 0 && it.Index < n {
				errs[it.Index] = it.Err
			}
		}
		return errs
	}
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// hops is how often the message has been a dead letter before.
func (d *letter) hops() int {
	n, err := strconv.Atoi(d.Header.Get(HeaderDeadHops))
	if err != nil || n < 0 {
		return 0
	}
	return min(n, maxHops)
}

// message is the dead letter: the message as it was, and why it is here. Its identity is that of the message, so that a letter that
// was stored without anybody knowing it is not stored twice.
func (l *letters) message(d letter, hops int) Message {
	h := make(Header, len(d.Header)+6)
	maps.Copy(h, d.Header)
	h.Set(HeaderDeadReason, d.reason)
	h.Set(HeaderDeadSubject, d.Subject)
	h.Set(HeaderDeadAttempt, strconv.Itoa(d.Attempt))
	h.Set(HeaderDeadHops, strconv.Itoa(hops))
	if d.stage != "" {
		h.Set(HeaderDeadStage, d.stage)
	}
	if d.Sequence != 0 {
		h.Set(HeaderDeadSequence, strconv.FormatUint(d.Sequence, 10))
	}
	return Message{Subject: l.subject, ID: d.ID + "/dead/" + strconv.Itoa(hops), Header: h, Data: d.Data}
}

// drain waits until all letters are stored, for a while; those that are not by then come again.
func (l *letters) drain() error {
	defer l.cancel()
	l.mu.Lock()
	busy, idle := l.busy, l.idle
	l.mu.Unlock()
	if !busy {
		return nil
	}
	t := time.NewTimer(closeTime)
	defer t.Stop()
	select {
	case <-idle:
		return nil
	case <-t.C:
	}
	l.cancel()
	<-idle
	return errors.New("dead letters: not all were stored in time; their messages come again")
}
