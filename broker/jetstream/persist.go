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
// Where ctx ends first, the error says why ctx ended, and what the last answer was, if there was one.
func persist(ctx context.Context, what string, try func(context.Context) error) error {
	var said *jetstream.APIError
	once := func() error {
		ctx, cancel := context.WithTimeout(ctx, infoWait)
		defer cancel()
		err := try(ctx)
		if api, ok := errors.AsType[*jetstream.APIError](err); ok {
			said = api
		}
		if err != nil && !transient(err) {
			return backoff.Permanent(err)
		}
		return err
	}
	pace := backoff.NewExponentialBackOff(backoff.WithInitialInterval(persistFirst),
		backoff.WithMaxInterval(persistMost), backoff.WithMaxElapsedTime(0))
	err := backoff.Retry(once, backoff.WithContext(pace, ctx))
	if cause := context.Cause(ctx); cause != nil && transient(err) {
		if said != nil {
			return fmt.Errorf("%s: %w, the last answer was: %w", what, cause, said)
		}
		return fmt.Errorf("%s: no answer: %w", what, cause)
	}
	return err
}

// mends are codes of errors that pass by themselves, beside those of class 503: of a stream or consumer all of whose servers are down,
// and of a server that has just ceased to lead.
var mends = map[jetstream.ErrorCode]bool{10009: true, 10118: true, 10119: true}

func mendsItself(api *jetstream.APIError) bool { return api.Code == 503 || mends[api.ErrorCode] }

// transient tells whether waiting may mend an error of the API.
func transient(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return mendsItself(api) && !errors.Is(err, jetstream.ErrJetStreamNotEnabled)
	}
	var known jetstream.JetStreamError
	if errors.As(err, &known) && known.APIError() != nil {
		return mendsItself(known.APIError())
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
