package grpcadmission

import (
	"context"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/stage"
)

// Config says what a server knows of its calls. Both functions may be nil, are called by several goroutines at a time, and find what
// earlier interceptors have put into ctx.
type Config struct {
	Meta    func(ctx context.Context, method string) stage.Meta // from the authenticated identity and the method; nil: nothing
	Trusted func(ctx context.Context, method string) bool       // the call's own metadata counts, and more than Meta; nil: never
}

// UnaryServer returns an interceptor that puts unary calls behind g. Handlers find the metadata (stage.MetaFrom) and the permit
// (admission.FromContext) in their context; the permit is released however they end. A refusal that a handler returns, for example that
// of an Inlet, becomes a status as well. The estimated wait is a header of the answer. gRPC has read the message by then: see [Tap].
func UnaryServer(g *admission.Gate, c Config) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		ctx, p, err := c.enter(ctx, g, info.FullMethod)
		if err != nil {
			return nil, refuse(err, trailerOf(ctx))
		}
		defer p.Release()
		_ = grpc.SetHeader(ctx, waits(p)) // nothing is lost but the number
		resp, err := handler(ctx, req)
		return resp, refuse(err, trailerOf(ctx))
	}
}

// StreamServer is [UnaryServer] for streams. A stream is admitted before its first message is read, and is inside until its handler
// returns. How long that takes counts as a service time: give streams that stay for long a gate of their own.
func StreamServer(g *admission.Gate, c Config) grpc.StreamServerInterceptor {
	return func(srv any, s grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		ctx, p, err := c.enter(s.Context(), g, info.FullMethod)
		if err != nil {
			return refuse(err, s.SetTrailer)
		}
		defer p.Release()
		_ = s.SetHeader(waits(p)) // nothing is lost but the number
		return refuse(handler(srv, &serverStream{s, ctx}), s.SetTrailer)
	}
}

// serverStream is a stream with another context.
type serverStream struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // that is what grpc.ServerStream is
}

func (s *serverStream) Context() context.Context { return s.ctx }

// enter returns the permit that the tap has got, or asks for one, and the context of the handler.
func (c *Config) enter(ctx context.Context, g *admission.Gate, method string) (context.Context, admission.Permit, error) {
	if d := doorOf(ctx, g); d != nil {
		p, err := d.take()
		return ctx, p, err
	}
	return c.admit(ctx, g, method)
}

// admit asks for a permit, and returns the context of the handler.
func (c *Config) admit(ctx context.Context, g *admission.Gate, method string) (context.Context, admission.Permit, error) {
	var m stage.Meta
	if c.Meta != nil {
		m = c.Meta(ctx, method)
	}
	if c.Trusted != nil && c.Trusted(ctx, method) {
		md, _ := metadata.FromIncomingContext(ctx)
		m = admission.ParseMeta(func(name string) string {
			if v := md.Get(name); len(v) == 1 && name != admission.HeaderTimeout {
				return v[0]
			}
			return ""
		}, m)
	}
	if d, ok := ctx.Deadline(); ok && (m.Deadline.IsZero() || d.Before(m.Deadline)) {
		m.Deadline = d
	}
	ctx = stage.WithMeta(ctx, m)
	p, err := g.Admit(ctx)
	if err != nil {
		return ctx, p, err
	}
	return admission.WithPermit(ctx, p), p, nil
}

// waits are the headers of a call that was let in.
func waits(p admission.Permit) metadata.MD {
	ms := (p.EstimatedWait() + time.Millisecond - 1) / time.Millisecond
	md := metadata.Pairs(strings.ToLower(admission.HeaderWait), strconv.FormatInt(int64(ms), 10))
	if p.Rung() > 0 {
		md.Set(admission.HeaderRung, strconv.Itoa(p.Rung()))
	}
	return md
}
