package grpcadmission_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/flow/admission/grpcadmission"
	"github.com/weir-go/weir/stage"
)

const check = "/grpc.health.v1.Health/Check"

// tapped serves s behind g with a tap.
func tapped(t *testing.T, g *admission.Gate, c grpcadmission.Config, s *service, also ...grpc.ServerOption) (*grpc.ClientConn, *grpc.Server) {
	t.Helper()
	return serve(t, g, c, s, append(also, grpc.InTapHandle(grpcadmission.Tap(g, c))), nil)
}

// headersOnly begins a unary call, and sends no message.
func headersOnly(ctx context.Context, t *testing.T, conn *grpc.ClientConn, method string) grpc.ClientStream {
	t.Helper()
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, method)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// until waits for so many inside.
func until(t *testing.T, g *admission.Gate, inside int) {
	t.Helper()
	for range 20_000 {
		if g.Stats().Inside == inside {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%d are inside, want %d", g.Stats().Inside, inside)
}

// Who is refused is told so before it has sent a message, with all that a refusal says but the trailer.
func TestTheTapRefusesBeforeTheMessage(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 2})
	conn, _ := tapped(t, g, grpcadmission.Config{}, &service{check: func(context.Context) error {
		t.Error("it was called")
		return nil
	}})
	fill(t, g)
	for _, method := range []string{check, "/grpc.health.v1.Health/Watch"} {
		s := headersOnly(t.Context(), t, conn, method)
		err := s.RecvMsg(new(health.HealthCheckResponse))
		code, info, retry := details(err)
		if code != codes.Unavailable || info.GetDomain() != grpcadmission.Domain || info.GetReason() != "SATURATED" || retry.GetRetryDelay().AsDuration() < time.Second {
			t.Errorf("%s: %v, %v, %v", method, err, info, retry)
		}
	}
	equal(t, "refused", g.Stats().RefusedFor(admission.ReasonSaturated), 3) // one of them by fill
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s := headersOnly(ctx, t, conn, check) // gRPC would keep a timer for a minute
	if err := errors.Join(s.SendMsg(nothing), s.CloseSend()); err != nil {
		t.Fatal(err)
	}
	err := s.RecvMsg(new(health.HealthCheckResponse))
	equal(t, "with a deadline that is far away", status.Code(err), codes.Unavailable)
	equal(t, "its trailer, which only an interceptor can set", len(s.Trailer().Get("grpc-retry-pushback-ms")), 1)
	equal(t, "refused once more", g.Stats().RefusedFor(admission.ReasonSaturated), 4)
}

// There is one permit for a call, from its headers to its handler's end.
func TestTheTapsPermitIsTheHandlers(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 10, Classes: true})
	cfg := grpcadmission.Config{Trusted: func(context.Context, string) bool { return true }}
	var end func() error
	s := &service{check: func(ctx context.Context) error {
		m, _ := stage.MetaFrom(ctx)
		equal(t, "inside", g.Stats().Inside, 1)
		equal(t, "the tenant", m.Key, "a")
		equal(t, "a class that was said twice", m.Criticality, stage.Critical)
		if admission.FromContext(ctx) == (admission.Permit{}) {
			t.Error("the handler finds no permit")
		}
		return end()
	}}
	conn, _ := tapped(t, g, cfg, s)
	ctx := metadata.AppendToOutgoingContext(t.Context(), admission.HeaderKey, "a",
		admission.HeaderCriticality, "CriticalPlus", admission.HeaderCriticality, "CriticalPlus")
	for name, c := range map[string]struct {
		end  func() error
		code codes.Code
	}{
		"return": {func() error { return nil }, codes.OK},
		"error":  {func() error { return status.Error(codes.NotFound, "") }, codes.NotFound},
		"panic":  {func() error { panic("on purpose") }, codes.Internal},
	} {
		end = c.end
		var header metadata.MD
		_, err := health.NewHealthClient(conn).Check(ctx, nothing, grpc.Header(&header))
		if status.Code(err) != c.code || c.code == codes.OK && len(header.Get(admission.HeaderWait)) != 1 {
			t.Errorf("%s: %v, %v", name, err, header)
		}
		until(t, g, 0)
	}
	equal(t, "admitted", g.Stats().Admitted.Sum(), 3)
	equal(t, "offered", g.Stats().Offered.Sum(), 3)
}

// A handler that goes on behind the end of its call is still inside.
func TestTheTapsPermitLastsAsLongAsTheHandler(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 10})
	begun, gone, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s := &service{check: func(ctx context.Context) error {
		close(begun)
		<-ctx.Done()
		close(gone)
		<-done
		return nil
	}}
	conn, _ := tapped(t, g, grpcadmission.Config{}, s)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	_, err := health.NewHealthClient(conn).Check(ctx, nothing)
	equal(t, "the call", status.Code(err), codes.Canceled)
	<-gone
	equal(t, "inside", g.Stats().Inside, 1)
	close(done)
	until(t, g, 0)
}

// However a call ends before its handler is reached, its permit comes back.
func TestTheTapsPermitComesBackWithoutAHandler(t *testing.T) {
	called := func(context.Context) error { return errors.New("it was called") }
	large := &health.HealthCheckRequest{Service: strings.Repeat("x", 1000)}
	for name, end := range map[string]func(t *testing.T, g *admission.Gate, conn *grpc.ClientConn, srv *grpc.Server){
		"canceled": func(t *testing.T, g *admission.Gate, conn *grpc.ClientConn, _ *grpc.Server) {
			ctx, cancel := context.WithCancel(t.Context())
			headersOnly(ctx, t, conn, check)
			until(t, g, 1)
			cancel()
		},
		"too slow": func(t *testing.T, g *admission.Gate, conn *grpc.ClientConn, _ *grpc.Server) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			err := headersOnly(ctx, t, conn, check).RecvMsg(new(health.HealthCheckResponse))
			equal(t, "the call", status.Code(err), codes.DeadlineExceeded)
		},
		"a connection that breaks": func(t *testing.T, g *admission.Gate, conn *grpc.ClientConn, _ *grpc.Server) {
			headersOnly(t.Context(), t, conn, check)
			until(t, g, 1)
			_ = conn.Close()
		},
		"a server that stops": func(t *testing.T, g *admission.Gate, conn *grpc.ClientConn, srv *grpc.Server) {
			headersOnly(t.Context(), t, conn, check)
			until(t, g, 1)
			srv.Stop()
		},
		"no such method": func(t *testing.T, _ *admission.Gate, conn *grpc.ClientConn, _ *grpc.Server) {
			err := conn.Invoke(t.Context(), "/grpc.health.v1.Health/Guess", nothing, nothing)
			equal(t, "the call", status.Code(err), codes.Unimplemented)
		},
		"no name": func(t *testing.T, _ *admission.Gate, conn *grpc.ClientConn, _ *grpc.Server) {
			err := conn.Invoke(t.Context(), "/x", nothing, nothing)
			equal(t, "the call", status.Code(err), codes.Unimplemented)
		},
		"too large": func(t *testing.T, _ *admission.Gate, conn *grpc.ClientConn, _ *grpc.Server) {
			_, err := health.NewHealthClient(conn).Check(t.Context(), large)
			equal(t, "the call", status.Code(err), codes.ResourceExhausted)
		},
		"no message": func(t *testing.T, _ *admission.Gate, conn *grpc.ClientConn, _ *grpc.Server) {
			s := headersOnly(t.Context(), t, conn, check)
			if err := s.CloseSend(); err != nil {
				t.Fatal(err)
			}
			equal(t, "the call", status.Code(s.RecvMsg(new(health.HealthCheckResponse))), codes.Internal)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := admission.NewGate(admission.Config{Limit: 10})
			conn, srv := tapped(t, g, grpcadmission.Config{}, &service{check: called}, grpc.MaxRecvMsgSize(100))
			end(t, g, conn, srv)
			until(t, g, 0)
			equal(t, "admitted", g.Stats().Admitted.Sum(), 1)
		})
	}
}

// A function that panics where nobody could deal with it is called again where somebody can.
func TestAPanicInTheTapIsTheInterceptors(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 10})
	var asked atomic.Int64
	cfg := grpcadmission.Config{Meta: func(context.Context, string) stage.Meta {
		if n := asked.Add(1); n <= 3 {
			panic("on purpose")
		}
		return stage.Meta{}
	}}
	conn, _ := tapped(t, g, cfg, &service{})
	var codesOf []codes.Code
	for range 3 {
		_, err := health.NewHealthClient(conn).Check(t.Context(), nothing)
		codesOf = append(codesOf, status.Code(err))
	}
	equal(t, "twice", codesOf[0], codes.Internal)
	equal(t, "in the tap alone", codesOf[1], codes.OK)
	equal(t, "never", codesOf[2], codes.OK)
	until(t, g, 0)
	equal(t, "admitted", g.Stats().Admitted.Sum(), 2)
}

// The tap of one gate is none of another one's, and works alone, too.
func TestTheTapOfAnotherGate(t *testing.T) {
	first, second := admission.NewGate(admission.Config{Limit: 10}), admission.NewGate(admission.Config{Limit: 10})
	conn, _ := serve(t, second, grpcadmission.Config{}, &service{}, []grpc.ServerOption{grpc.InTapHandle(grpcadmission.Tap(first, grpcadmission.Config{}))}, nil)
	if _, err := health.NewHealthClient(conn).Check(t.Context(), nothing); err != nil {
		t.Fatal(err)
	}
	for _, g := range []*admission.Gate{first, second} {
		until(t, g, 0)
		equal(t, "admitted", g.Stats().Admitted.Sum(), 1)
	}
}

// A call that is over already is no refusal, and has no permit.
func TestTheTapAndACanceledCall(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 10})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("of its own"))
	_, err := grpcadmission.Tap(g, grpcadmission.Config{})(ctx, &tap.Info{FullMethodName: check})
	equal(t, "the status", status.Code(err), codes.Canceled)
	equal(t, "inside", g.Stats().Inside, 0)

	ctx, cancel = context.WithCancelCause(t.Context()) // between the tap and the interceptor
	ctx2, err := grpcadmission.Tap(g, grpcadmission.Config{})(ctx, &tap.Info{FullMethodName: check})
	if err != nil {
		t.Fatal(err)
	}
	cancel(nil)
	until(t, g, 0)
	_, err = grpcadmission.UnaryServer(g, grpcadmission.Config{})(ctx2, nil, &grpc.UnaryServerInfo{FullMethod: check}, func(context.Context, any) (any, error) {
		t.Error("it was called")
		return nil, nil
	})
	equal(t, "the status", status.Code(err), codes.Canceled)
	equal(t, "admitted", g.Stats().Admitted.Sum(), 1)
}
