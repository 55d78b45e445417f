package broker

import (
	"context"
	"errors"
	"time"

	"github.com/weir-go/weir/flow"
)

// ConsumeOptions are the options of [Consume].
type ConsumeOptions struct {
	// Workers is how many messages are handled at the same time; 1 by default, which keeps the order.
	Workers int
	// Timeout is how long one call of the handler may take; 0 is no limit.
	Timeout time.Duration
	// Grace is how long the calls under way have to finish when ctx ends; 30 s by default.
	Grace time.Duration
}

// defaultGrace is how long handlers have to finish.
const defaultGrace = 30 * time.Second

// Consume calls handle for every message that s delivers, until ctx ends. It is the pipeline for those who need no graph:
//
//	Claims: a message is acknowledged when handle has returned nil. An error or a panic has it delivered again, after the
//	        source's Delay and up to its Attempts.
//	Ends:   when ctx ends: nothing more is fetched, calls under way finish, the rest goes back at once. That is nil;
//	        if Grace is over before, flow.ErrStopped. While the broker is not there it waits, until ctx ends, which is
//	        nil as well. An error of the source ends it, too.
func Consume[T any](ctx context.Context, s *Source[T], handle func(context.Context, T) error, o ConsumeOptions) error {
	opts := []flow.SinkOption{flow.Name("handle"), flow.OnError(flow.Redeliver)}
	if o.Workers != 0 {
		opts = append(opts, flow.Workers(o.Workers))
	}
	if o.Timeout != 0 {
		opts = append(opts, flow.Timeout(o.Timeout))
	}
	grace := o.Grace
	if grace == 0 {
		grace = defaultGrace
	}
	opening, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	opened := context.AfterFunc(ctx, func() { giveUp(context.Cause(ctx)) })
	run, err := flow.FromItems(s).ForEach(handle, opts...).Start(opening)
	if !opened() && (err == nil || errors.Is(err, context.Cause(ctx))) {
		if run != nil {
			_ = run.Wait() // nothing has been handled that is not given back
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		over, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		_ = run.Drain(over) // its error is the run's, which Wait returns
	})()
	return run.Wait()
}
