package grpcadmission

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/weir-go/weir/flow/admission"
)

// Tap returns a handle for grpc.InTapHandle that decides about calls by their headers alone: who is refused gets its status before
// anything of a message is read, and no goroutine is started for it. It goes with the interceptors of the same gate and configuration,
// which take over the permit, and decide where the tap did not:
//
//	server := grpc.NewServer(
//		grpc.InTapHandle(grpcadmission.Tap(gate, cfg)),
//		grpc.UnaryInterceptor(grpcadmission.UnaryServer(gate, cfg)),
//		grpc.StreamInterceptor(grpcadmission.StreamServer(gate, cfg)),
//	)
//
// The permit is held from the headers on, so also while the message arrives, and is released when the handler returns, or when the call
// ends before it is reached: reset, cut off, too large, for a method that there is not.
//
//   - Config.Meta and Config.Trusted, and the Quota, Cost and Alert of the gate, are called by the connection's own goroutine: they must not
//     wait. Interceptors have not run yet, so an identity has to come from the connection (package peer) or the headers. If one of the
//     functions panics, the interceptor asks again, where a panic can be dealt with.
//   - A refusal has its details, but no trailer: there is no grpc-retry-pushback-ms.
//   - Calls whose deadline is more than half a minute away are left to the interceptor, because gRPC keeps a timer and some 500 bytes for
//     each call that is refused here until its deadline, and clients choose that.
//   - A server has one such handle. Package tap is experimental in gRPC. Servers behind ServeHTTP do not ask it.
func Tap(g *admission.Gate, c Config) tap.ServerInHandle {
	return func(ctx context.Context, info *tap.Info) (context.Context, error) {
		if d, ok := ctx.Deadline(); ok && time.Until(d) > longestTimer {
			return ctx, nil
		}
		return c.tap(ctx, g, info.FullMethodName)
	}
}

// longestTimer bounds how long something may be left of a call that was refused.
const longestTimer = 30 * time.Second

// tap lets a call in, with a door in its context, or returns the status of a refusal.
func (c *Config) tap(ctx context.Context, g *admission.Gate, method string) (inner context.Context, err error) {
	defer func() {
		if recover() != nil { // the interceptor will see
			inner, err = ctx, nil
		}
	}()
	inner, p, err := c.admit(ctx, g, method)
	if err != nil {
		if s, ok := Status(err); ok {
			return ctx, s.Err()
		}
		return ctx, status.FromContextError(ctx.Err()).Err() // it was canceled: no other error is none of a refusal
	}
	d := &door{gate: g, permit: p, keep: context.AfterFunc(ctx, p.Release)} // its context ends with the call in any case
	return context.WithValue(inner, doorKey{}, d), nil
}

type doorKey struct{}

// door is a permit on its way from the tap to the interceptor.
type door struct {
	gate   *admission.Gate
	permit admission.Permit
	keep   func() bool // keeps the permit beyond the end of the call; false: that was before
	taken  atomic.Bool
}

// doorOf returns the door through which a call has come to g, nil if there is none, or it has been used.
func doorOf(ctx context.Context, g *admission.Gate) *door {
	if d, ok := ctx.Value(doorKey{}).(*door); ok && d.gate == g && !d.taken.Swap(true) {
		return d
	}
	return nil
}

// take returns the permit, which is the caller's to release from now on, or that the call is over.
func (d *door) take() (admission.Permit, error) {
	if !d.keep() {
		return admission.Permit{}, status.FromContextError(context.Canceled).Err() // nobody will read it
	}
	return d.permit, nil
}
