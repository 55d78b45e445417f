// Package claim counts what is left of an item.
//
// A [Tag] travels beside a value: its metadata, and a number of shares. Whoever holds a value holds one share of its tag;
// a step that makes several values out of one takes more shares, one that makes one value out of several derives a tag
// that takes over theirs. When the last share is released the tag settles: it tells its [Settler], where it has one, and
// releases what it took over, each with the worst outcome that any share reported. That one rule is what makes a broker
// message settle exactly once, whatever the graph does with it.
//
// Tags are pooled: nothing may touch a tag after releasing its last share. A nil *Tag is the tag of a plain value, and every
// method accepts it. Tags are safe for concurrent use; Meta is not: it changes only while the tag has a single holder.
package claim

import (
	"sync"
	"sync/atomic"
	"time"
)

// Kind says how an item ended. The worst of an item's shares decides: the largest Kind.
type Kind uint8

// The kinds of [Outcome], best first.
const (
	Done       Kind = iota // processed
	Terminated             // never to be delivered again
	Failed                 // not processed: to be delivered again
)

// Outcome is the end of an item. Err says why it is not Done; Delay, for Failed, how long to wait before it comes again.
type Outcome struct {
	Kind  Kind
	Err   error
	Delay time.Duration
}

// Settler is told the outcome of a claim, once per token. Settle must not block.
type Settler interface {
	Settle(token uint64, o Outcome)
}

// Tag is an item's metadata and its claim.
type Tag[M any] struct {
	Meta M

	shares  atomic.Int32
	settler Settler
	token   uint64
	parents []*Tag[M]
	claimed bool

	mu    sync.Mutex
	worst Outcome
	parts []Outcome // how single parents end at best; empty: as the tag does
}

// tags holds released tags. Programs use a single M, so one pool does; another M would only miss it.
var tags sync.Pool

func fresh[M any](meta M) *Tag[M] {
	t, ok := tags.Get().(*Tag[M])
	if !ok {
		t = new(Tag[M])
	}
	t.Meta = meta
	t.shares.Store(1)
	return t
}

// New returns a tag with metadata, one share and nobody to tell.
func New[M any](meta M) *Tag[M] { return fresh(meta) }

// Claimed returns a tag with one share whose outcome goes to by, under token.
func Claimed[M any](meta M, by Settler, token uint64) *Tag[M] {
	t := fresh(meta)
	t.settler, t.token, t.claimed = by, token, by != nil
	return t
}

// Derive returns a tag with one share that takes over one share of each parent; nil parents are passed over.
func Derive[M any](meta M, parents ...*Tag[M]) *Tag[M] {
	t := fresh(meta)
	for _, p := range parents {
		if p != nil {
			t.parents = append(t.parents, p)
			t.claimed = t.claimed || p.claimed
		}
	}
	return t
}

// Claimed reports whether somebody is told when the tag ends.
func (t *Tag[M]) Claimed() bool { return t != nil && t.claimed }

// Sole reports whether the caller's share is the only one, which allows it to change Meta in place.
func (t *Tag[M]) Sole() bool { return t != nil && t.shares.Load() == 1 }

// Share adds n shares to the one that the caller holds.
func (t *Tag[M]) Share(n int) {
	if t != nil && n > 0 {
		t.shares.Add(int32(n))
	}
}

// Release gives up one share. The last one settles the tag with the worst outcome reported.
func (t *Tag[M]) Release(o Outcome) {
	if t == nil {
		return
	}
	if o.Kind != Done {
		t.mu.Lock()
		if o.Kind > t.worst.Kind {
			t.worst = o
		}
		t.mu.Unlock()
	}
	switch left := t.shares.Add(-1); {
	case left == 0:
		t.settle()
	case left < 0:
		panic("claim: released more often than shared")
	}
}

// Members returns the tags that t was derived from. They are held by t, and valid while the caller holds a share of it.
func (t *Tag[M]) Members() []*Tag[M] {
	if t == nil {
		return nil
	}
	return t.parents
}

// Blame makes member i settle with o, or with what t itself does, whichever is worse. The caller holds a share of t.
func (t *Tag[M]) Blame(i int, o Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.parts) == 0 {
		t.parts = append(t.parts, make([]Outcome, len(t.parents))...)
	}
	if o.Kind > t.parts[i].Kind {
		t.parts[i] = o
	}
}

// settle runs when nobody else holds the tag, so it needs no lock.
func (t *Tag[M]) settle() {
	o := t.worst
	if t.settler != nil {
		t.settler.Settle(t.token, o)
	}
	for i, p := range t.parents {
		t.parents[i] = nil
		if i < len(t.parts) && t.parts[i].Kind > o.Kind {
			p.Release(t.parts[i])
		} else {
			p.Release(o)
		}
	}
	clear(t.parts)
	var zero M
	t.Meta, t.settler, t.token, t.claimed = zero, nil, 0, false
	t.parents, t.parts, t.worst = t.parents[:0], t.parts[:0], Outcome{}
	tags.Put(t)
}
