package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	persistFirst = 50 * time.Millisecond
	persistMost  = time.Second
)

// persist calls try until its error is none that waiting mends, and returns that. Each call has infoWait: while a cluster chooses a
// leader, and when a connection breaks, a request or its answer is lost without a word. So try must be fit to be repeated.
// Where ctx ends first, the error names what had no answer, and why ctx ended.
func persist(ctx context.Context, what string, try func(context.Context) error) error {
	once := func() error {
		ctx, cancel := context.WithTimeout(ctx, infoWait)
		defer cancel()
		err := try(ctx)
		if err != nil && !transient(err) {
			return backoff.Permanent(err)
		}
		return err
	}
	pace := backoff.NewExponentialBackOff(backoff.WithInitialInterval(persistFirst),
		backoff.WithMaxInterval(persistMost), backoff.WithMaxElapsedTime(0))
	err := backoff.Retry(once, backoff.WithContext(pace, ctx))
	if cause := context.Cause(ctx); cause != nil && transient(err) {
		return fmt.Errorf("%s: no answer: %w", what, cause)
	}
	return err
}

// transient tells whether waiting may mend an error of the API.
func transient(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.Code == 503 && !errors.Is(err, jetstream.ErrJetStreamNotEnabled)
	}
	var known jetstream.JetStreamError
	if errors.As(err, &known) && known.APIError() != nil {
		return known.APIError().Code == 503
	}
	for _, t := range []error{
		context.DeadlineExceeded, context.Canceled, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected,
		nats.ErrConnectionReconnecting, nats.ErrReconnectBufExceeded, nats.ErrNoServers, jetstream.ErrNoStreamResponse,
	} {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}
