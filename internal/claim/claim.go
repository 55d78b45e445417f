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
	"sync/atomic"
	"time"
)

// Kind says how an item ended. The worst of an item's shares decides: the largest Kind, and of those that have failed one that was
// not given back.
type Kind uint8

// The kinds of [Outcome], best first.
const (
	Done       Kind = iota // processed
	Terminated             // never to be delivered again
	Failed                 // not processed: to be delivered again
)

// Outcome is the end of an item. Err says why it is not Done; Delay, for Failed, how long to wait before it comes again.
// GivenBack, for Failed, says that the item is not to blame: nobody has processed it, because the run ended first or nobody
// wanted it any more.
type Outcome struct {
	Kind      Kind
	GivenBack bool
	Err       error
	Delay     time.Duration
}

// Settler is told the outcome of a claim, once per token. Settle must not block.
type Settler interface {
	Settle(token uint64, o Outcome)
}

// Tag is an item's metadata and its claim.
type Tag[M any] struct {
	Meta M

	shares  int32 // atomic while there are several holders
	claimed bool
	settler Settler
	token   uint64
	group   *group[M] // what the tag was derived from

	worst atomic.Pointer[Outcome] // nil is done
	next  *Tag[M]                 // in the pool, see there
}

// New returns a tag with metadata, one share and nobody to tell.
func New[M any](meta M) *Tag[M] {
	t := Blank[M](nil, 0)
	t.Meta = meta
	return t
}

// Claimed returns a tag with one share whose outcome goes to by, under token.
func Claimed[M any](meta M, by Settler, token uint64) *Tag[M] {
	t := Blank[M](by, token)
	t.Meta = meta
	return t
}

// Blank is [Claimed] without metadata, for a caller that puts it into Meta itself: as an argument it is copied once more, which makes
// an item cost 20 ns instead of 18 (stage.BenchmarkClaimed).
func Blank[M any](by Settler, token uint64) *Tag[M] {
	t := fresh[M]()
	t.shares, t.settler, t.token, t.claimed = 1, by, token, by != nil
	return t
}

// Derive returns a tag with one share that takes over one share of each parent; nil parents are passed over.
func Derive[M any](meta M, parents ...*Tag[M]) *Tag[M] {
	t := freshDerived[M]()
	t.shares, t.Meta = 1, meta
	for _, p := range parents {
		t.Adopt(p)
	}
	return t
}

// Claimed reports whether somebody is told when the tag ends.
func (t *Tag[M]) Claimed() bool { return t != nil && t.claimed }

// Sole reports whether the caller's share is the only one, which allows it to change Meta in place.
func (t *Tag[M]) Sole() bool { return t != nil && atomic.LoadInt32(&t.shares) == 1 }

// Share adds n shares to the one that the caller holds.
func (t *Tag[M]) Share(n int) {
	if t != nil && n > 0 {
		atomic.AddInt32(&t.shares, int32(n))
	}
}

// Release gives up one share. The last one settles the tag with the worst outcome reported.
func (t *Tag[M]) Release(o Outcome) {
	if t != nil {
		pool(t.release(1, o, nil))
	}
}

// ReleaseAll gives up a share of each tag, and clears tags. Neighbours that are the same tag, as behind a FlatMap, cost as much as
// one, and all that settle need one visit to the pool.
func ReleaseAll[M any](tags []*Tag[M], o Outcome) {
	var free *Tag[M]
	for i := 0; i < len(tags); {
		t, from := tags[i], i
		for i < len(tags) && tags[i] == t {
			i++
		}
		if t != nil {
			free = t.release(int32(i-from), o, free)
		}
	}
	clear(tags)
	pool(free)
}

// release gives up n shares. It returns the tags that settle, in front of free.
func (t *Tag[M]) release(n int32, o Outcome, free *Tag[M]) *Tag[M] {
	// A sole holder needs no atomic write, because nobody else can share or release: 20 ns instead of 23 (BenchmarkGroupToSettle).
	if atomic.LoadInt32(&t.shares) == n {
		t.shares = 0
		return t.settle(o, free)
	}
	if o.Kind != Done {
		t.report(o)
	}
	switch left := atomic.AddInt32(&t.shares, -n); {
	case left == 0:
		return t.settle(Outcome{}, free)
	case left < 0:
		panic("claim: released more often than shared")
	}
	return free
}

// report remembers an outcome that is worse than all before.
func (t *Tag[M]) report(o Outcome) {
	for {
		old := t.worst.Load()
		if old != nil && !o.worse(*old) {
			return
		}
		worst := o // only here, where it is kept, the outcome is allocated
		if t.worst.CompareAndSwap(old, &worst) {
			return
		}
	}
}

// settle runs when nobody else holds the tag. o is the outcome of the last share, where that is not among those reported.
func (t *Tag[M]) settle(o Outcome, free *Tag[M]) *Tag[M] {
	if worst := t.worst.Load(); worst != nil {
		t.worst.Store(nil)
		if !o.worse(*worst) {
			o = *worst
		}
	} else if o.Kind == Done {
		o = Outcome{}
	}
	if t.settler != nil {
		t.settler.Settle(t.token, o)
	}
	var zero M
	t.Meta, t.settler, t.token, t.claimed = zero, nil, 0, false
	if t.group != nil {
		free = t.group.settle(o, free)
		derived.Put(t)
		return free
	}
	t.next = free
	return t
}
