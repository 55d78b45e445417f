package grpcadmission

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/stage"
)

// UnaryClient returns an interceptor that hands on the metadata of the context, and calls by way of c: it does not send what would be
// refused anyway, and comes again when it is told to, within the budget. A refusal of a [admission.Gate] is retried if it has a
// RetryInfo, because nothing was started; any other UNAVAILABLE only if the metadata has an ID, which makes the work idempotent. The
// error is an *admission.Refusal if the call was never sent.
//
// The metadata goes to every server that is called this way, the tenant's key included. Text that is not ASCII does not cross. Key, class
// and attempt are those of the metadata alone: what the outgoing context says of them is left out, as it may be a stranger's.
func UnaryClient(c *admission.Caller) grpc.UnaryClientInterceptor {
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		m, _ := stage.MetaFrom(ctx)
		ctx, cancel := within(ctx, m)
		defer cancel()
		return c.Do(ctx, func(ctx context.Context) admission.Answer {
			return answerOf(invoker(outgoing(ctx), method, req, reply, cc, opts...), m.ID != "")
		})
	}
}

// StreamClient is [UnaryClient] for streams, which are never repeated: what was sent is gone.
func StreamClient(c *admission.Caller) grpc.StreamClientInterceptor {
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		m, _ := stage.MetaFrom(ctx)
		if err := c.Begin(m.Criticality); err != nil {
			return nil, err
		}
		ctx, cancel := within(ctx, m)
		s, err := streamer(outgoing(ctx), desc, cc, method, opts...)
		if err != nil {
			cancel()
			c.End(m.Criticality, answerOf(err, false))
			return nil, err
		}
		return &clientStream{
			ClientStream: s, single: !desc.ServerStreams, cancel: cancel,
			end: func(err error) { c.End(m.Criticality, answerOf(err, false)) },
		}, nil
	}
}

// clientStream tells how a stream begins: its first message, or its end without one, is the server's answer.
type clientStream struct {
	grpc.ClientStream
	single bool // there is one message from the server, and that is the end
	cancel context.CancelFunc
	once   sync.Once
	end    func(error)
}

// RecvMsg implements grpc.ClientStream.
func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	s.once.Do(func() {
		if errors.Is(err, io.EOF) {
			s.end(nil)
			return
		}
		s.end(err)
	})
	if err != nil || s.single {
		s.cancel()
	}
	return err
}

// within returns a context that ends at the deadline of the metadata.
func within(ctx context.Context, m stage.Meta) (context.Context, context.CancelFunc) {
	if m.Deadline.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, m.Deadline)
}

// outgoing returns ctx with its metadata as that of the call. What the call has already may be that of a stranger, where it is passed
// on, so key, class and attempt are those of the metadata alone.
func outgoing(ctx context.Context) context.Context {
	m, _ := stage.MetaFrom(ctx)
	md, ok := metadata.FromOutgoingContext(ctx) // a copy
	if !ok {
		md = metadata.MD{}
	}
	for _, name := range []string{admission.HeaderKey, admission.HeaderCriticality, admission.HeaderAttempt} {
		md.Delete(name)
	}
	admission.FormatMeta(m, func(name, value string) {
		if name != admission.HeaderTimeout && ascii(value) { // gRPC has a timeout of its own
			md.Set(name, value)
		}
	})
	if !ok && len(md) == 0 {
		return ctx
	}
	return metadata.NewOutgoingContext(ctx, md)
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x7f {
			return false
		}
	}
	return true
}
