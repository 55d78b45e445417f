package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
)

const (
	firstRetry   = 5 * time.Millisecond
	mostRetry    = 250 * time.Millisecond
	mostPatience = 8                     // times AckTimeout, while there are no answers at all
	lastCall     = 50 * time.Millisecond // for answers that are on their way when ctx ends
	longGone     = time.Second           // so long a stream must be missing before it counts as deleted: a server may just be reading it
)

// Send implements [broker.Sender].
func (s *Sender) Send(ctx context.Context, msgs []broker.Message) error {
	if len(msgs) == 0 {
		return nil
	}
	if !s.opened.Load() {
		return fmt.Errorf("jetstream: %s: %w", s.where, broker.ErrClosed)
	}
	b := s.batches.Get().(*batch) //nolint:forcetypeassert // nothing else is put into the pool
	defer s.batches.Put(b)
	defer b.clear()
	b.reset(msgs, s.cfg.AckTimeout)
	s.prepare(b)
	if s.cfg.Ordered {
		s.sendChained(ctx, b)
	} else {
		s.sendAll(ctx, b)
	}
	s.counts.add(b)
	return b.outcome(ctx, s.where)
}

// prepare gives each message its ID, and refuses what the stream will never take.
func (s *Sender) prepare(b *batch) {
	s.makeIDs(b)
	limits := s.bounds()
	var subject string // of the message before: most batches have one
	var wrong error    // with it
	for i := range b.msgs {
		m, l := &b.msgs[i], &b.letters[i]
		if i == 0 || m.Subject != subject {
			subject, wrong = m.Subject, s.checkSubject(m.Subject)
		}
		err := wrong
		if err == nil {
			err = limits.check(m, l.id, s.cfg.Ordered)
		}
		if err != nil {
			l.receipt = receipt{fate: fateRefused, err: err}
			continue
		}
		b.todo = append(b.todo, i)
	}
}

// makeIDs gives an ID to each message that has none. It is the same however often this Send sends the message.
func (s *Sender) makeIDs(b *batch) {
	var own []byte // all of them one after the other, so that they are one allocation
	var lengths []int
	for i := range b.msgs {
		if b.letters[i].id = b.msgs[i].ID; b.msgs[i].ID != "" {
			continue
		}
		before := len(own)
		own = append(own, s.idPrefix...)
		own = strconv.AppendUint(own, s.lastID.Add(1), 36)
		lengths = append(lengths, len(own)-before)
	}
	rest := string(own)
	for i := range b.letters {
		if l := &b.letters[i]; l.id == "" {
			l.id, rest, lengths = rest[:lengths[0]], rest[lengths[0]:], lengths[1:]
		}
	}
}

func (s *Sender) checkSubject(subject string) error {
	if !validSubject(subject) {
		return errors.New("the subject is malformed")
	}
	if !anyCovers(s.settings.Subjects, subject) {
		return errNotTaken
	}
	return nil
}

// sendAll sends letters, in any number at once, until each has ended or there is no point in going on.
func (s *Sender) sendAll(ctx context.Context, b *batch) {
	r := newRetries(s, b)
	for len(b.todo) > 0 {
		s.round(ctx, b)
		b.keep()
		if !r.again(ctx, b) {
			return
		}
	}
}

// sendChained does the same, each letter behind the one in front of it.
func (s *Sender) sendChained(ctx context.Context, b *batch) {
	select {
	case s.chained <- struct{}{}:
		defer func() { <-s.chained }()
	case <-ctx.Done():
		return
	}
	b.chain = &s.chain
	r := newRetries(s, b)
	for len(b.todo) > 0 {
		s.round(ctx, b)
		if ask := s.chain.review(b); ask {
			s.findEnd(ctx, b)
		}
		if !r.again(ctx, b) {
			return
		}
	}
}

// findEnd asks how far the stream has come. Without an answer the next round will tell.
func (s *Sender) findEnd(ctx context.Context, b *batch) {
	if info, err := s.info(ctx); err == nil {
		s.chain.at(info, b)
	}
}

// round publishes the letters of b.todo and waits for their answers.
func (s *Sender) round(ctx context.Context, b *batch) {
	b.mark(0, receipt{fate: fateUnsent})
	b.halt, b.left = false, 1
	s.publish(ctx, b)
	s.window.endRound(b)
	if _, ok := wait(ctx, s.window, b, b.done); ok {
		return
	}
	t := time.NewTimer(lastCall)
	defer t.Stop()
	select {
	case <-b.done:
	case <-t.C:
		s.window.giveUp(b, s.silence())
		<-b.done
	}
}

// publish sends letters until one can't be sent, or the chain is broken.
func (s *Sender) publish(ctx context.Context, b *batch) {
	e := newEnvelope(s.inbox)
	for k, i := range b.todo {
		if s.window.halted(b) || b.chain != nil && b.chain.most > 0 && k >= b.chain.most {
			return
		}
		ticket, ok := s.window.enter(ctx, b, i)
		if !ok {
			return
		}
		e.fill(&b.msgs[i], b.letters[i].id)
		if b.chain != nil {
			e.follow(b.chain.expect(k))
		}
		e.address(ticket)
		if err := s.nc.PublishMsg(&e.msg); err != nil {
			a := receipt{fate: fateOf(err), err: err}
			s.window.settle(ticket, a)
			if a.fate == fateRefused {
				continue // it is the message's own fault
			}
			if a.fate == fateUnknown {
				a.fate = fateUnsent
			}
			b.mark(k+1, a)
			return
		}
	}
}

// retries decides whether there is another round for a batch, and when.
type retries struct {
	s      *Sender
	before int // letters that were left before the round
	pause  *backoff.ExponentialBackOff
	gone   time.Time // since when the stream is not found
	began  time.Time
}

func newRetries(s *Sender, b *batch) *retries {
	return &retries{s: s, before: len(b.todo)}
}

// again waits for the next round. It returns false where there is none.
func (r *retries) again(ctx context.Context, b *batch) bool {
	if len(b.todo) == 0 || ctx.Err() != nil {
		return false
	}
	progress := len(b.todo) < r.before
	r.before = len(b.todo)
	if first := &b.letters[b.todo[0]]; progress && (first.fate == fateBehind || first.fate == fateUnsent && first.err == nil) {
		return true // nothing is wrong, the chain had to be set up anew
	}
	for _, i := range b.todo {
		f := b.letters[i].fate
		if f == fateClosed || f == fateNobody && !r.streamThere(ctx, b) {
			return false
		}
		if f == fateNobody {
			break // once is enough
		}
	}
	r.adapt(b, progress)
	if sleep(ctx, r.pause.NextBackOff()) != nil {
		return false
	}
	r.count(b)
	return true
}

// adapt lengthens what there is to wait where nothing helps, and shortens it where something does.
func (r *retries) adapt(b *batch, progress bool) {
	switch {
	case r.pause == nil:
		r.pause = retryPauses()
		r.began = time.Now()
	case progress:
		r.pause.Reset()
	}
	if progress {
		b.patience = r.s.cfg.AckTimeout
	} else if b.letters[b.todo[0]].fate == fateUnknown {
		b.patience = min(2*b.patience, mostPatience*r.s.cfg.AckTimeout)
	}
}

func retryPauses() *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(firstRetry),
		backoff.WithMaxInterval(mostRetry),
		backoff.WithMultiplier(2),
		backoff.WithMaxElapsedTime(0),
	)
}

// streamThere finds out why nobody listens: while a leader is chosen that is so for a moment, without the stream it is for good.
func (r *retries) streamThere(ctx context.Context, b *batch) bool {
	info, err := r.s.info(ctx)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if r.gone.IsZero() {
			r.gone = time.Now()
		}
		if time.Since(r.gone) < longGone {
			return true
		}
		b.mark(0, receipt{fate: fateDeleted, err: broker.ErrDeleted})
		return false
	}
	r.gone = time.Time{}
	if err != nil {
		return true
	}
	for _, i := range b.todo {
		if l := &b.letters[i]; l.fate == fateNobody && !anyCovers(info.Config.Subjects, b.msgs[i].Subject) {
			l.receipt = receipt{fate: fateRefused, err: errNotTaken}
		}
	}
	b.keep()
	return len(b.todo) > 0
}

// count counts what is going to be sent once more.
func (r *retries) count(b *batch) {
	var retried, late int64
	forgotten := r.s.settings.Duplicates > 0 && time.Since(r.began) > r.s.settings.Duplicates
	for _, i := range b.todo {
		l := &b.letters[i]
		if l.fate != fateUnsent {
			retried++
		}
		if l.doubt && forgotten {
			late++
		}
	}
	r.s.counts.retried.Add(retried)
	r.s.counts.late.Add(late)
}
