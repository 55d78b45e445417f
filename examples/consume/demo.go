package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker/jetstream/embedded"
)

// demo starts a server, and workers in processes of their own. While orders still wait, the first one is told to stop: the others
// go on with what it leaves.
func demo(ctx context.Context, o options, w io.Writer) (err error) {
	srv, err := embedded.Start(embedded.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Close()) }()
	nc, err := srv.Conn()
	if err != nil {
		return err
	}
	defer nc.Close()
	if err := makeStreams(ctx, nc); err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx) // a worker that fails ends the demo
	defer fail(nil)
	out := &shared{w: w}
	team, err := hire(ctx, fail, o.workers, srv.URL(), out)
	if err == nil {
		err = play(ctx, nc, o, team, out)
	}
	if e := stop(team); e != nil {
		return e // says why a worker has failed, err at most that one has
	}
	return err
}

// play is the demo from the first order to the last.
func play(ctx context.Context, nc *nats.Conn, o options, team []*colleague, w io.Writer) error {
	if err := publish(ctx, nc, o.orders, w); err != nil {
		return err
	}
	if len(team) > 1 {
		_, _ = fmt.Fprintf(w, "%s is told to stop, the others go on\n", team[0].name)
		if err := stop(team[:1]); err != nil {
			return err
		}
	}
	if err := untilEmpty(ctx, nc); err != nil {
		return err
	}
	if err := stop(team); err != nil {
		return err
	}
	dead, err := waiting(ctx, nc, lettersName)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "all %d orders are done, %d of them as dead letters\n", o.orders, dead)
	return err
}

// untilEmpty waits until every order has been acknowledged.
func untilEmpty(ctx context.Context, nc *nats.Conn) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		n, err := waiting(ctx, nc, ordersStream)
		if err != nil || n == 0 {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// waiting returns how many messages are in a stream.
func waiting(ctx context.Context, nc *nats.Conn, stream string) (uint64, error) {
	js, err := natsjs.New(nc)
	if err != nil {
		return 0, err
	}
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", stream, err)
	}
	return s.CachedInfo().State.Msgs, nil
}
