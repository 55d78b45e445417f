package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/broker"
)

// Ready returns nil where the Fetcher is open and connected, its consumer exists, and nothing keeps messages from coming. It is for
// readiness checks, and asks the server once.
func (f *Fetcher) Ready(ctx context.Context) error {
	f.mu.Lock()
	opened, closing, final, stalled := f.opened, f.closing, f.final, f.watch.stalled
	f.mu.Unlock()
	switch {
	case closing:
		return broker.ErrClosed
	case !opened:
		return errNotOpen
	case final != nil:
		return final
	case stalled != "":
		return errors.New(f.where() + ": " + stalled)
	case !f.nc.IsConnected():
		return fmt.Errorf("%s: %w", f.where(), nats.ErrDisconnected)
	}
	js, err := api(f.nc, f.cfg.Domain)
	if err != nil {
		return fmt.Errorf("%s: %w", f.where(), err)
	}
	if _, err := js.Consumer(ctx, f.cfg.Stream, f.cfg.Durable); err != nil {
		return fmt.Errorf("%s: %w", f.where(), err)
	}
	return nil
}

// Warnings returns what Open has noticed about the stream, the consumer and the connection that stands in nobody's way.
func (f *Fetcher) Warnings() []string {
	f.opening.Lock()
	defer f.opening.Unlock()
	if f.bound == nil {
		return nil
	}
	return f.bound.warnings
}
