package admission

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weir-go/weir/internal/clock"
)

// Limiter lets at most n run at a time, at most m wait in order, and refuses the rest at once. It needs no flow: put it in front of a
// dependency that takes n calls. Whoever waits for it is slowed down to what the dependency does.
//
// The bounds are kept under one lock, never looked at first and taken later. Exactly one of those that wait starts whenever one that
// runs has ended. It starts no goroutine, and its methods are safe for concurrent use.
type Limiter struct {
	waiters int

	mu       sync.Mutex
	line     line
	service  estimator
	refusals refusals
	counts   LimiterStats
}

// LimiterStats is what a Limiter has counted. Each call of Acquire and Do is one of Started, Refused and GaveUp in the end, or still waits.
type LimiterStats struct {
	Running, Waiting     int
	MaxRunning, MaxDepth int           // the most there ever were
	Started              int64         // that have got a place
	Queued               int64         // that had to wait for it, also in vain
	Refused              int64         // at once, because n ran and m waited
	GaveUp               int64         // because their context ended while they waited, or before
	EstimatedWait        time.Duration // of one more
}

// NewLimiter returns a limiter for n that run and m that wait. n must be 1 or more and m 0 or more.
func NewLimiter(n, m int) (*Limiter, error) {
	err := errors.Join(check(n >= 1, "Limiter", "n", ">= 1", n), check(m >= 0, "Limiter", "m", ">= 0", m))
	if err != nil {
		return nil, err
	}
	return &Limiter{waiters: m, line: line{width: n}}, nil
}

// Acquire returns a permit for one to run; it must be released. It waits in order while n run, and is refused with a *[Refusal] if m
// wait already. The error is ctx's cause if ctx has ended.
//
//	Cost: no allocation for a permit that is there and for a refusal.
func (l *Limiter) Acquire(ctx context.Context) (Permit, error) {
	over := ctx.Err() != nil
	now := clock.Now()
	l.mu.Lock()
	switch {
	case over:
		l.counts.GaveUp++
		l.mu.Unlock()
		return Permit{}, context.Cause(ctx)
	case l.line.running >= l.line.width && l.line.waiting >= l.waiters:
		r := l.refuse(now)
		l.mu.Unlock()
		return Permit{}, r
	}
	wait := l.wait()
	p := l.line.enter(now)
	permit := Permit{owner: l, place: p, generation: p.generation, wait: wait}
	runs := p.phase == runs
	if runs {
		l.counts.Started++
	} else {
		l.counts.Queued++
		if p.wake == nil {
			p.wake = make(chan struct{}, 1)
		}
	}
	l.counts.MaxRunning = max(l.counts.MaxRunning, l.line.running)
	l.counts.MaxDepth = max(l.counts.MaxDepth, l.line.inside())
	l.mu.Unlock()
	if runs {
		return permit, nil
	}
	return l.await(ctx, permit)
}

// await waits until the permit's place has started, or ctx ends.
func (l *Limiter) await(ctx context.Context, permit Permit) (Permit, error) {
	p := permit.place
	select {
	case <-p.wake:
		return permit, nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.phase == runs { // at the same moment: whoever is next gets it
		<-p.wake
		l.counts.Started--
	}
	l.counts.GaveUp++
	l.leave(p, clock.Now())
	return Permit{}, context.Cause(ctx)
}

// Do runs fn while it has a place, and gives that back however fn ends: with or without an error, by a panic, or with its goroutine.
// The error is fn's, or Acquire's, and then fn was not called.
func (l *Limiter) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	p, err := l.Acquire(ctx)
	if err != nil {
		return err
	}
	defer p.Release()
	return fn(ctx)
}

// Depth returns how many are inside: those that run and those that wait.
func (l *Limiter) Depth() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.line.inside()
}

// Limit returns how many can be inside: n + m.
func (l *Limiter) Limit() int { return l.line.width + l.waiters }

// EstimatedWait returns how long one more would wait; 0 while nothing is known, and where it would start at once.
func (l *Limiter) EstimatedWait() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wait()
}

// Stats returns the figures as of now.
func (l *Limiter) Stats() LimiterStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.counts
	s.Running, s.Waiting, s.EstimatedWait = l.line.running, l.line.waiting, l.wait()
	return s
}

func (l *Limiter) wait() time.Duration { return time.Duration(l.line.wait(l.service.mean())) }

func (l *Limiter) refuse(now int64) *Refusal {
	l.counts.Refused++
	wait := l.wait()
	return l.refusals.refusal(ReasonFull, true, wait, wait, now)
}

// leave gives p's place to the next one. The lock is held.
func (l *Limiter) leave(p *place, now int64) {
	if next := l.line.leave(p, now); next != nil {
		l.counts.Started++
		l.counts.MaxRunning = max(l.counts.MaxRunning, l.line.running)
		next.wake <- struct{}{} // there is room: it is empty whenever nobody is told
	}
}

func (l *Limiter) release(p *place, generation uint64) {
	now := clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.generation == generation {
		l.service.see(now - p.started)
		l.leave(p, now)
	}
}

func (l *Limiter) begin(*place, uint64) error { return nil } // it runs

func (l *Limiter) charge(*place, uint64, int64) {} // nothing costs anything here
