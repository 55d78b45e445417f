package jetstream

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
)

// Ready returns nil where the Fetcher is open and connected, its consumer exists, and nothing keeps messages from coming. It is for
// readiness checks: it asks the server once, and waits no longer than 2 s for the answer. One that says no may be followed by one that
// says yes; a consumer that is not there is broker.ErrDeleted.
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
	ctx, cancel := context.WithTimeout(ctx, infoWait)
	defer cancel()
	_, err = js.Consumer(ctx, f.cfg.Stream, f.cfg.Durable)
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound):
		return deletedError(&f.cfg, jetstream.JSErrCodeConsumerNotFound)
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return deletedError(&f.cfg, jetstream.JSErrCodeStreamNotFound)
	case err != nil:
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
