package engine

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/weir-go/weir/internal/claim"
	"github.com/weir-go/weir/internal/clock"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/internal/waitgraph"
	"github.com/weir-go/weir/stage"
)

// A loop is three workers and an edge more than its body.
//
//	upstream -> admission ═╗
//	                       ╠═ in ═> body ═┬═> exit -> downstream
//	         ┌─ feedback  ═╝              │
//	         └════════ again <═ return <══┘
//
// Every item inside has a tag that covers what it came with, and a [Gate] that is told when the tag has settled: then nothing is left of
// the item inside. So whatever the body does with items, and however they end, the gate knows how many are there, lets in
// new ones accordingly, and finds out when upstream has ended and nothing more can come round. That is the end of the
// feedback, and with it, by way of ordinary ends of streams, of the loop.
//
// The edge behind the gate has two producers that pull first and wait for room then. All others wait first. So it takes
// one item more than there is room on a way round to make a loop stand still.

// Gate counts the items inside a loop. Its methods are safe for concurrent use.
type Gate struct {
	k      int64
	branch bool // the loop is in a branch of a fan-out
	inside atomic.Int64
	ended  atomic.Bool // nothing more comes from upstream
	over   atomic.Bool // and nothing is inside
	left   atomic.Bool // nobody wants what comes out
	free   chan struct{}

	once    sync.Once
	again   feedback
	in      Edge
	workers []*Worker // that nothing but the gate can tell to end

	w     *Worker // the one that lets items in
	waits stand
	exit  *Worker // the one behind the loop
}

// feedback is the edge on which items go round. Who puts items into it never ends before it does, so the gate ends it in its place.
type feedback interface {
	Edge
	AddProducer()
	CloseProducer()
}

// NewGate returns a gate that lets items in while fewer than k are inside; k is math.MaxInt for any number.
func NewGate(k int) *Gate {
	return &Gate{k: int64(k), free: make(chan struct{}, 1)}
}

// Inside returns how many items are inside. One that was made of several, or several made of one, count as one until they come
// round.
func (g *Gate) Inside() int { return int(g.inside.Load()) }

// Ended implements [claim.Gate]: an item inside has ended. What was let go because nobody wants what comes out is given back,
// unless it is in other branches as well.
func (g *Gate) Ended(o stage.Outcome) stage.Outcome {
	switch n := g.inside.Add(-1); {
	case n == 0 && g.ended.Load():
		g.close()
	case n == g.k-1:
		select {
		case g.free <- struct{}{}:
		default:
		}
	}
	if g.left.Load() && o.Kind == stage.Done && !g.branch {
		return claim.GivenBack(ErrLeft)
	}
	return o
}

// noMore says that nothing more comes from upstream.
func (g *Gate) noMore() {
	g.again.AddProducer() // from now on whoever holds the last item ends the feedback, and a look for deadlocks must know that somebody may
	g.ended.Store(true)
	if g.inside.Load() == 0 {
		g.close()
	}
}

// close ends the feedback.
func (g *Gate) close() {
	g.over.Store(true)
	g.once.Do(func() {
		g.again.CloseProducer()
		g.again.CloseProducer()
	})
}

// Leave says that nobody wants what comes out of the loop: what is inside is given back.
func (g *Gate) Leave() {
	if g.over.Load() || g.left.Swap(true) {
		return
	}
	if g.in != nil {
		g.in.Abort(ErrLeft)
	}
	g.again.Abort(ErrLeft)
	for _, w := range g.workers {
		w.quit(ErrLeft)
	}
}

// room waits until w may let items in, and returns how many.
func (g *Gate) room(w *Worker) (int, error) {
	for {
		if n := g.k - g.inside.Load(); n > 0 {
			return int(min(n, maxChunk)), nil
		}
		if err := g.wait(w); err != nil {
			return 0, err
		}
	}
}

// admit lets up to n items in, and waits until it may do so with one.
func (g *Gate) admit(w *Worker, n int) (int, error) {
	for {
		inside := g.inside.Load()
		k := min(g.k-inside, int64(n))
		if k > 0 && g.inside.CompareAndSwap(inside, inside+k) {
			return int(k), nil
		}
		if k > 0 {
			continue
		}
		if err := g.wait(w); err != nil {
			return 0, err
		}
	}
}

// wait waits until there may be room, or w is to end. Only one worker waits, and only behind a look at a full loop: whoever
// makes room then leaves a signal.
func (g *Gate) wait(w *Worker) error {
	now := clock.Now()
	w.Out.Parked.Start(now)
	g.waits.begin(now)
	defer func() {
		g.waits.end()
		w.Out.Parked.Stop(clock.Now())
	}()
	w.Parks()
	select {
	case <-g.free:
		return nil
	case <-w.Context().Done():
		return w.Gone()
	}
}

// survey implements [spot]. Whoever may hold an item of the loop may make room. Where there is some already, the worker has been told
// so, and has only not come to run yet.
func (g *Gate) survey(s *survey) {
	epoch := g.waits.epoch.Load()
	if epoch&1 == 0 || g.inside.Load() < g.k {
		return
	}
	if holders, known := s.holders(g.w, []Edge{g.in}, false); known {
		s.parked(g.w, waitgraph.Task{Kind: waitgraph.Tasks, On: holders, Epoch: epoch}, g.waits.since.Load(), 0)
		s.waits[g.w.id].gate = true
	}
}

// cover returns the tag of an item that comes in with t, and has been admitted.
func (g *Gate) cover(t *Tag) *Tag {
	if t == nil {
		return claim.Cover[stage.Meta](stage.Meta{}, g)
	}
	return claim.Cover(t.Meta, g, t)
}

// round returns the tag of an item that goes round with t. One of which there is no other part inside keeps it. Others get one of their
// own, so that they count, and so that what they have in common with items of this round does not grow with each.
func (g *Gate) round(t *Tag, found *[]*Tag) *Tag {
	if t.CoveredBy(g) && t.Sole() {
		return t
	}
	g.inside.Add(1)
	var meta stage.Meta
	if t != nil {
		meta = t.Meta
	}
	next := claim.Cover(meta, g, shares(g, t, found)...)
	t.Release(stage.Outcome{})
	return next
}

// uncover returns the tag of an item that leaves with t.
func (g *Gate) uncover(t *Tag, found *[]*Tag) *Tag {
	if t == nil {
		return nil
	}
	var out *Tag
	switch below := shares(g, t, found); {
	case len(below) == 1 && below[0].Meta == t.Meta:
		out = below[0]
	case len(below) > 0 || t.Meta != stage.Meta{}:
		out = claim.Derive(t.Meta, below...)
	}
	t.Release(stage.Outcome{})
	return out
}

// shares takes a share of whatever t stands for outside of the loop.
func shares(g *Gate, t *Tag, found *[]*Tag) []*Tag {
	below := t.Beneath(g, (*found)[:0])
	for _, b := range below {
		b.Share(1)
	}
	*found = below
	return below
}

// LoopFullError says that an item of a loop could not go round, because as many wait for that as may.
type LoopFullError struct {
	Loop   string
	Limit  int // the places of the feedback edge
	Inside int // items in the loop
	Err    *queue.FullError
}

// Error names the loop, its limit and how many items are inside.
func (e *LoopFullError) Error() string {
	return fmt.Sprintf("flow: loop %q is full: %d items wait to go round, which is its limit, and %d are inside", e.Loop, e.Limit, e.Inside)
}

// Unwrap returns the error of the feedback edge.
func (e *LoopFullError) Unwrap() error { return e.Err }

// Unlimited is the k of a gate that lets in whatever comes.
const Unlimited = math.MaxInt
