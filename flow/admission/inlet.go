package admission

import (
	"context"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// Inlet is a flow.Inlet behind a gate: what is offered needs a permit, and has it until everything made of it has left the pipeline,
// whatever became of it. Its methods are safe for concurrent use.
//
// For whom it is: callers that are no handlers behind [Gate.Handler], which has given them a permit already.
type Inlet[T any] struct {
	gate *Gate
	in   *flow.Inlet[T]
}

// Behind puts in behind g. Give Config.Concurrency of the gate the number of workers of the pipeline, and its Limit room for those that
// wait in the inlet's edge as well.
func Behind[T any](g *Gate, in *flow.Inlet[T]) *Inlet[T] {
	return &Inlet[T]{gate: g, in: in}
}

// Offer is that of a flow.Inlet, for what the gate lets in; a *[Refusal] says that it does not. It never waits.
func (in *Inlet[T]) Offer(ctx context.Context, v T) (flow.Receipt, error) {
	it, err := in.admit(ctx, v)
	if err != nil {
		return flow.Receipt{}, err
	}
	return in.in.OfferItem(it)
}

// Put is that of a flow.Inlet, for what the gate lets in; a *[Refusal] says that it does not. It waits for room in the edge only.
func (in *Inlet[T]) Put(ctx context.Context, v T) (flow.Receipt, error) {
	it, err := in.admit(ctx, v)
	if err != nil {
		return flow.Receipt{}, err
	}
	return in.in.PutItem(ctx, it)
}

// Do is that of a flow.Inlet, for what the gate lets in; a *[Refusal] says that it does not. Where ctx ends first, v is still on its way,
// and inside.
func (in *Inlet[T]) Do(ctx context.Context, v T) error {
	it, err := in.admit(ctx, v)
	if err != nil {
		return err
	}
	return in.in.DoItem(ctx, it)
}

// admit returns v as an item whose claim is its permit.
func (in *Inlet[T]) admit(ctx context.Context, v T) (stage.Item[T], error) {
	p, err := in.gate.Admit(ctx)
	if err != nil {
		return stage.Item[T]{}, err
	}
	m, _ := stage.MetaFrom(ctx)
	return stage.Claimed(v, m, admitted{p}, 0), nil
}

// admitted releases a permit when its item has settled.
type admitted struct{ permit Permit }

// Settle implements stage.Settler.
func (a admitted) Settle(uint64, stage.Outcome) { a.permit.Release() }
