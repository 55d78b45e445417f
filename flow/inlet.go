package flow

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/internal/claim"
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// Inlet is the push side of a pipeline, for handlers and callbacks: an edge that any goroutine may offer items to. Its Flow
// serves one run. Items may be offered before the run starts, as far as the edge has room; after the run has ended, or
// begun to drain, the answer is [ErrClosed]. Metadata is taken from the caller's context (stage.WithMeta). Its methods are
// safe for concurrent use.
type Inlet[T any] struct {
	edge    Edge[T]
	node    *node
	queue   *queue.Queue[T]
	waiters sync.Pool // of *putting[T]
	closed  atomic.Bool
	end     func()                      // at the first Close
	failed  atomic.Pointer[func(error)] // the run's, for a panic in the Dropped hook
	link    atomic.Pointer[engine.Link[T]]
	hub     *Inlet[T] // of a producer of a MergeHub: the hub's inlet
}

// Receipt says what it means that an item was accepted.
type Receipt struct {
	EstimatedWait time.Duration // how long the item will wait in the edge; 0 while nothing is known
}

// NewInlet returns an inlet with the edge e. What is wrong with e is a build error of the pipeline, and until then the inlet
// answers with ErrClosed.
func NewInlet[T any](e Edge[T]) *Inlet[T] {
	s := settings{name: e.Name, named: e.Name != ""}
	in := &Inlet[T]{edge: e, node: newNode("inlet", &s)}
	in.node.edge = true
	in.node.places, in.node.within = e.Capacity, e.MaxWait
	in.node.serveOnce()
	in.waiters.New = func() any { return &putting[T]{waiter: queue.NewWaiter()} }
	e.validate(in.node)
	if len(in.node.errs) > 0 {
		in.closed.Store(true)
		return in
	}
	name := e.Name
	if name == "" {
		name = "inlet"
	}
	in.queue = queue.New(e.config(name, engine.Stream{Tagged: true}, in.fail))
	in.queue.AddProducer()
	in.end = in.queue.CloseProducer
	return in
}

// fail stops the run.
func (in *Inlet[T]) fail(err error) {
	if stop := in.failed.Load(); stop != nil {
		(*stop)(err)
	}
}

// Flow returns what is offered as a flow. Its edge is the inlet's.
//
//	Ends:   when the inlet is closed, by Close or a drain, and what it has accepted is processed.
//	Errors: none of its own. A second run is a build error, and so is what is wrong with the edge.
func (in *Inlet[T]) Flow() Flow[T] {
	return Flow[T]{&edged[T]{node: in.node, spec: in.edge, up: inletQueue[T]{in}}}
}

// inletQueue is what stands upstream of an inlet's edge: the program.
type inletQueue[T any] struct{ in *Inlet[T] }

func (q inletQueue[T]) about() *node { return q.in.node }

// reader is never called: the edge asks for the link.
func (q inletQueue[T]) reader(b *build, w *engine.Worker) engine.Input[T] {
	return engine.ReadEdge(w, q.link(b, edgeSpec[T]{}))
}

func (q inletQueue[T]) link(b *build, _ edgeSpec[T]) *engine.Link[T] {
	if !b.live { // Check and Graph only look: they must not leave a consumer behind
		cfg := q.in.edge.config(q.in.queue.Config().Name, engine.Stream{Tagged: true}, q.in.fail)
		return engine.NewLink(b.run, queue.New(cfg), q.in.node, engine.Stream{Tagged: true})
	}
	stop := b.run.Stop
	q.in.failed.Store(&stop)
	b.run.OnDrain(q.in.Close)
	l := engine.NewLink(b.run, q.in.queue, q.in.node, engine.Stream{Tagged: true})
	l.Sheds = q.in.edge.sheds()
	q.in.link.Store(l)
	return l
}

// Offer hands v over without waiting; ctx only carries metadata. Where there is no room, a Block or Reject edge answers with a
// *FullError, DropNewest with [ErrDropped]. [ErrClosed] says that nothing is taken any more.
func (in *Inlet[T]) Offer(ctx context.Context, v T) (Receipt, error) {
	if in.closed.Load() {
		return Receipt{}, ErrClosed
	}
	if in.edge.Dropped == nil { // saying no needs no metadata
		if err := in.queue.Refuse(); err != nil {
			return Receipt{}, err
		}
	}
	return in.offer(v, metaTag(ctx))
}

// OfferItem is Offer for an item that brings its own metadata and claim. The claim settles when everything made of the item has left
// the pipeline, or now, as given back or as the edge says of what it drops, if the item is not taken.
func (in *Inlet[T]) OfferItem(it stage.Item[T]) (Receipt, error) {
	t := stage.TagOf(it)
	if in.closed.Load() {
		t.Release(claim.GivenBack(ErrClosed))
		return Receipt{}, ErrClosed
	}
	return in.offer(it.Value, t)
}

func (in *Inlet[T]) offer(v T, t *queue.Tag) (Receipt, error) {
	wait, err := in.queue.OfferWait(v, t)
	if err != nil {
		if err != ErrDropped {
			t.Release(claim.GivenBack(err))
		}
		return Receipt{}, in.answer(err)
	}
	return Receipt{EstimatedWait: wait}, nil
}

// metaTag returns a tag with the metadata of ctx, nil if there is none.
func metaTag(ctx context.Context) *queue.Tag {
	if m, ok := stage.MetaFrom(ctx); ok {
		return claim.New(m)
	}
	return nil
}

// Put hands v over and waits for room where the edge blocks, until ctx ends; then the error is ctx's cause. Where it would have to
// wait, and ctx is that of a stage which gets what comes out of the inlet, in the run that it feeds, the error is
// [ErrWouldDeadlock] at once: the stage may have to make the room itself.
func (in *Inlet[T]) Put(ctx context.Context, v T) (Receipt, error) {
	return in.put(ctx, v, metaTag(ctx))
}

// PutItem is Put for an item that brings its own metadata and claim, which settles as that of [Inlet.OfferItem].
func (in *Inlet[T]) PutItem(ctx context.Context, it stage.Item[T]) (Receipt, error) {
	return in.put(ctx, it.Value, stage.TagOf(it))
}

func (in *Inlet[T]) put(ctx context.Context, v T, t *queue.Tag) (Receipt, error) {
	err := ErrClosed
	if !in.closed.Load() {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		} else {
			err = in.putOne(ctx, v, t)
		}
	}
	if err == nil {
		return Receipt{EstimatedWait: in.queue.EstimatedWait()}, nil
	}
	if err != ErrDropped {
		t.Release(claim.GivenBack(err))
	}
	return Receipt{}, err
}

func (in *Inlet[T]) putOne(ctx context.Context, v T, t *queue.Tag) error {
	if in.edge.OnFull != Block {
		return in.answer(in.queue.Offer(v, t))
	}
	if in.reenters(ctx) {
		err := in.answer(in.queue.Offer(v, t))
		if _, full := err.(*FullError); full { //nolint:errorlint // it comes from the queue itself
			return fmt.Errorf("%w: edge %q is full, and the stage that puts into it gets what comes out of it", ErrWouldDeadlock, in.queue.Config().Name)
		}
		return err
	}
	p := in.waiters.Get().(*putting[T])
	p.value[0], p.tag[0] = v, t
	_, err := in.queue.Put(p.waiter, p.value[:], p.tag[:], ctx.Done())
	*p = putting[T]{waiter: p.waiter}
	in.waiters.Put(p)
	if err == queue.ErrGaveUp {
		return context.Cause(ctx)
	}
	return in.answer(err)
}

// reenters reports whether ctx is that of user code behind the inlet, in the same run.
func (in *Inlet[T]) reenters(ctx context.Context) bool {
	if in.hub != nil {
		in = in.hub
	}
	l := in.link.Load()
	return l != nil && l.Reenters(ctx)
}

// putting is what a Put needs, for one after the other: a chunk of one, which would be allocated for each call, and a place to wait.
type putting[T any] struct {
	waiter *queue.Waiter
	value  [1]T
	tag    [1]*queue.Tag
}

// answer makes the queue's ends the caller's: closed, with the cause where the run has failed.
func (in *Inlet[T]) answer(err error) error {
	switch _, full := err.(*FullError); { //nolint:errorlint // it comes from the queue itself
	case err == nil, full, err == ErrDropped, err == ErrClosed:
		return err
	case err == queue.ErrLeft:
		return ErrClosed
	case queue.WrongItem(err):
		return err
	default:
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
}

// Do is Put, and then waits until everything made of v has left the pipeline. nil means that it is done. The error is ctx's
// cause if ctx ends first (v is then still on its way), [ErrDropped], [ErrGivenBack] where nobody wanted it, or what v failed
// with. To a stage that gets what comes out of the inlet it is always [ErrWouldDeadlock], and nothing is handed over.
func (in *Inlet[T]) Do(ctx context.Context, v T) error {
	m, _ := stage.MetaFrom(ctx)
	return in.do(ctx, v, m, nil)
}

// DoItem is Do for an item that brings its own metadata and claim, which settles as that of [Inlet.OfferItem].
func (in *Inlet[T]) DoItem(ctx context.Context, it stage.Item[T]) error {
	return in.do(ctx, it.Value, it.Meta(), stage.TagOf(it))
}

func (in *Inlet[T]) do(ctx context.Context, v T, m stage.Meta, t *queue.Tag) error {
	if in.reenters(ctx) {
		err := fmt.Errorf("%w: an item would have to come through the stage that waits for it", ErrWouldDeadlock)
		t.Release(claim.GivenBack(err))
		return err
	}
	w := &awaited{tag: t, done: make(chan stage.Outcome, 1)}
	if _, err := in.put(ctx, v, claim.Claimed(m, w, 0)); err != nil {
		return err
	}
	select {
	case o := <-w.done:
		return outcomeError(o)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// awaited settles a claim by telling Do, and the item's own claim, where it has one.
type awaited struct {
	tag  *queue.Tag
	done chan stage.Outcome
}

// Settle implements stage.Settler.
func (w *awaited) Settle(_ uint64, o stage.Outcome) {
	w.tag.Release(o)
	w.done <- o
}

func outcomeError(o stage.Outcome) error {
	switch {
	case o.Kind == stage.Done:
		return nil
	case o.Err != nil:
		return o.Err
	default:
		return ErrDropped
	}
}

// EstimatedWait returns how long an item would wait that is offered now; 0 while nothing is known.
func (in *Inlet[T]) EstimatedWait() time.Duration {
	if in.queue == nil {
		return 0
	}
	return in.queue.EstimatedWait()
}

// Close ends the inlet's stream: what it has accepted is processed, and nothing more is taken. Further calls do nothing.
func (in *Inlet[T]) Close() {
	if in.closed.CompareAndSwap(false, true) {
		in.end()
	}
}
