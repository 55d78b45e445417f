package stage

import (
	"slices"
	"sync"

	"github.com/weir-go/weir/internal/claim"
)

// Item is a value together with what travels beside it: metadata, and the claim that settles the message it came from.
// Items are seen by item sources and sinks and by custom stages; everybody else works with plain values.
type Item[T any] struct {
	Value T

	tag  *claim.Tag[Meta] // nil for a plain value
	hold *hold            // set by In.Next and In.Keep
	turn uint64           // of the In that it comes from, see keeper
}

// Outcome is how an item ended: Kind, Err (why it is not Done), Delay (for Failed: how long to wait before it comes
// again; zero leaves that to the settler) and GivenBack (for Failed: nobody has processed it, the item is not to blame).
type Outcome = claim.Outcome

// OutcomeKind is the kind of an [Outcome]. The worst share of an item decides: Failed before Terminated before Done.
type OutcomeKind = claim.Kind

// The kinds of [Outcome].
const (
	Done       = claim.Done       // processed
	Terminated = claim.Terminated // never to be delivered again
	Failed     = claim.Failed     // not processed: to be delivered again
)

// Settler is told how the items end that an adapter made with [Claimed]: Settle(token, outcome), once per token, from any
// goroutine. It must not block.
type Settler = claim.Settler

// NewItem returns an item with metadata and no claim.
func NewItem[T any](v T, m Meta) Item[T] {
	i := Item[T]{Value: v, tag: claim.Blank[Meta](nil, 0)}
	i.tag.Meta = m
	return i
}

// Claimed returns an item whose outcome is reported to by, under token, when everything derived from it has left the
// pipeline. It is for adapters; the pair of settler and token stands in for a closure per message.
func Claimed[T any](v T, m Meta, by Settler, token uint64) Item[T] {
	i := Item[T]{Value: v, tag: claim.Blank[Meta](by, token)}
	i.tag.Meta = m
	return i
}

// Meta returns a copy of the item's metadata, the zero Meta for a plain item.
func (i Item[T]) Meta() Meta {
	if i.tag == nil {
		return Meta{}
	}
	return i.tag.Meta
}

// With returns an item with another value and the same metadata and claim.
func (i Item[T]) With[U any](v U) Item[U] {
	return Item[U]{Value: v, tag: i.tag, hold: i.hold, turn: i.turn}
}

// Done ends an item that was kept with [In.Keep]: it has been processed. Further calls do nothing.
func (i Item[T]) Done() { i.end(Outcome{}) }

// Fail ends an item that was kept with [In.Keep]: it has not been processed, because of err. Further calls do nothing.
func (i Item[T]) Fail(err error) { i.end(Outcome{Kind: Failed, Err: err}) }

func (i Item[T]) end(o Outcome) {
	if t := i.hold.take(); t != nil {
		t.Release(o)
		i.hold.forget()
	}
}

// Combine returns an item made of kept ones: it takes over their claims, and its metadata is that of a group (the strictest
// class, the latest deadline, the key they share). The kept items must not be ended any more. It is handed on by [Out.Emit], which
// refuses what was made of an item that is not kept, or that has been ended before.
func Combine[T, U any](v U, kept ...Item[T]) Item[U] {
	var meta Meta
	var parents []*claim.Tag[Meta]
	var taken []*hold
	lacks := false
	for n, k := range kept {
		if n == 0 {
			meta = k.Meta()
		} else {
			meta = MergeGroup(meta, k.Meta())
		}
		if t := k.hold.take(); t != nil {
			parents = append(parents, t)
			taken = append(taken, k.hold)
		} else if k.hold != nil {
			lacks = true
		}
	}
	switch {
	case len(parents) == 0 && lacks:
		return Item[U]{Value: v, hold: &hold{combined: true}}
	case len(parents) == 0:
		return Item[U]{Value: v}
	}
	tag := claim.Derive(meta, parents...)
	combined := taken[0].kept.add(tag, true)
	combined.lacks = lacks
	for _, h := range taken {
		h.forget()
	}
	return Item[U]{Value: v, tag: tag, hold: combined}
}

// hold is one kept share of a claim. It ends once: by Done, Fail or Combine, by the Emit of a combined item, or by the
// engine when the stage returns.
type hold struct {
	kept     *keeper
	combined bool // made by Combine: Emit takes the share along
	lacks    bool // by a Combine that got an item which it could not take over

	mu  sync.Mutex
	tag *claim.Tag[Meta]
}

// take returns the tag whose share the caller must now release, and then forget the hold; nil if somebody else has done so.
func (h *hold) take() *claim.Tag[Meta] {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tag
	h.tag = nil
	return t
}

// forget says that the share is not kept any more. It comes last, so that whoever asks what is kept does not miss a share that is
// just about to be released.
func (h *hold) forget() {
	h.kept.mu.Lock()
	defer h.kept.mu.Unlock()
	delete(h.kept.held, h)
}

// live reports whether the item still is the stage's, so that it has a share of the claim.
func (i Item[T]) live() bool {
	h := i.hold
	switch {
	case h == nil:
		return true
	case h.kept == nil: // Combine had nothing to make it of
		return false
	case i.turn == h.kept.turn:
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tag != nil
}

// covers reports whether the share is one of t, or of what t was combined with, or is over.
func (h *hold) covers(t *claim.Tag[Meta]) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tag == nil || h.tag == t || h.combined && slices.Contains(h.tag.Members(), t)
}

// keeper remembers what a custom stage keeps, and what it has combined and not emitted.
//
// turn counts the calls of Next. It belongs to the stage's goroutine, and says of an item that is not kept whether it is the current one:
// tags are used again, so that one that is over may be another message's.
type keeper struct {
	turn uint64
	now  hold // that of the current item: it keeps nothing

	mu   sync.Mutex
	held map[*hold]struct{}
}

func (k *keeper) keep(t *claim.Tag[Meta]) *hold {
	if t == nil {
		return nil
	}
	t.Share(1)
	return k.add(t, false)
}

// add remembers a share that the stage already has.
func (k *keeper) add(t *claim.Tag[Meta], combined bool) *hold {
	h := &hold{kept: k, combined: combined, tag: t}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held == nil {
		k.held = make(map[*hold]struct{})
	}
	k.held[h] = struct{}{}
	return h
}

// releaseAll ends everything still held and returns how much that was.
func (k *keeper) releaseAll(o Outcome) int {
	k.mu.Lock()
	held := k.held
	k.held = nil
	k.mu.Unlock()
	n := 0
	for h := range held {
		if t := h.take(); t != nil {
			t.Release(o)
			n++
		}
	}
	return n
}
