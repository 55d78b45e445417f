package grpcadmission_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v4"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/flow/admission/grpcadmission"
	"github.com/weir-go/weir/stage"
)

// service is a server whose answers a test decides.
type service struct {
	health.UnimplementedHealthServer
	check func(ctx context.Context) error
	watch func(ctx context.Context, send func() error) error
}

func (s *service) Check(ctx context.Context, _ *health.HealthCheckRequest) (*health.HealthCheckResponse, error) {
	if s.check != nil {
		if err := s.check(ctx); err != nil {
			return nil, err
		}
	}
	return &health.HealthCheckResponse{Status: health.HealthCheckResponse_SERVING}, nil
}

func (s *service) Watch(_ *health.HealthCheckRequest, w grpc.ServerStreamingServer[health.HealthCheckResponse]) error {
	send := func() error { return w.Send(&health.HealthCheckResponse{}) }
	if s.watch == nil {
		return send()
	}
	return s.watch(w.Context(), send)
}

// start serves s behind g, and returns a client of it.
func start(t *testing.T, g *admission.Gate, c grpcadmission.Config, s *service, opts ...grpc.DialOption) health.HealthClient {
	t.Helper()
	conn, _ := serve(t, g, c, s, nil, opts)
	return health.NewHealthClient(conn)
}

// serve is start with options of the server, which it returns, too.
func serve(t *testing.T, g *admission.Gate, c grpcadmission.Config, s *service, also []grpc.ServerOption, opts []grpc.DialOption) (*grpc.ClientConn, *grpc.Server) {
	t.Helper()
	l := bufconn.Listen(1 << 16)
	recovered := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (resp any, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = status.Errorf(codes.Internal, "%v", p)
			}
		}()
		return h(ctx, req)
	}
	srv := grpc.NewServer(append(also,
		grpc.ChainUnaryInterceptor(recovered, grpcadmission.UnaryServer(g, c)),
		grpc.StreamInterceptor(grpcadmission.StreamServer(g, c)),
	)...)
	health.RegisterHealthServer(srv, s)
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := srv.Serve(l); err != nil {
			t.Error(err)
		}
	})
	opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	conn, err := grpc.NewClient("passthrough:///buf", opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		srv.Stop()
		wg.Wait()
	})
	return conn, srv
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

// fill takes all places of g.
func fill(t *testing.T, g *admission.Gate) []admission.Permit {
	t.Helper()
	var permits []admission.Permit
	for {
		p, err := g.Admit(t.Context())
		if err != nil {
			return permits
		}
		permits = append(permits, p)
	}
}

// details takes a status apart.
func details(err error) (code codes.Code, info *errdetails.ErrorInfo, retry *errdetails.RetryInfo) {
	s := status.Convert(err)
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			info = d
		case *errdetails.RetryInfo:
			retry = d
		}
	}
	return s.Code(), info, retry
}

var nothing = &health.HealthCheckRequest{}

// Because of the load UNAVAILABLE, because of the caller RESOURCE_EXHAUSTED, and when to come again.
func TestRefusalsAreStatuses(t *testing.T) {
	for _, c := range []struct {
		name     string
		cfg      admission.Config
		meta     stage.Meta
		code     codes.Code
		reason   string
		again    bool
		pushback func(string) bool
	}{
		{
			"the load",
			admission.Config{Limit: 2},
			stage.Meta{},
			codes.Unavailable, "SATURATED", true,
			func(v string) bool { return len(v) == 4 && v >= "1000" && v <= "1500" },
		},
		{
			"the caller",
			admission.Config{Limit: 2, Quota: func(string) int { return 0 }},
			stage.Meta{},
			codes.ResourceExhausted, "QUOTA", true,
			func(v string) bool { return len(v) == 4 && v >= "1000" && v <= "1500" },
		},
		{
			"for good",
			admission.Config{Limit: 2},
			stage.Meta{Attempt: 3},
			codes.Unavailable, "SATURATED", false,
			func(v string) bool { return v == "-1" },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := admission.NewGate(c.cfg)
			fill(t, g)
			client := start(t, g, grpcadmission.Config{Meta: func(context.Context, string) stage.Meta { return c.meta }}, &service{})
			check := func(err error, trailer metadata.MD) {
				t.Helper()
				code, info, retry := details(err)
				if code != c.code || info.GetReason() != c.reason || info.GetDomain() != grpcadmission.Domain || (retry != nil) != c.again {
					t.Errorf("%v: %v, %v, %v", err, code, info, retry)
				}
				if v := trailer.Get("grpc-retry-pushback-ms"); len(v) != 1 || !c.pushback(v[0]) {
					t.Errorf("the pushback is %v", v)
				}
			}
			var trailer metadata.MD
			_, err := client.Check(t.Context(), nothing, grpc.Trailer(&trailer))
			check(err, trailer)
			stream, err := client.Watch(t.Context(), nothing)
			if err != nil {
				t.Fatal(err)
			}
			_, err = stream.Recv()
			check(err, stream.Trailer())
		})
	}
}

// Permits come back however a handler ends, and the wait is told.
func TestServerReleasesOnEveryExit(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 10})
	var end func() error
	s := &service{check: func(ctx context.Context) error {
		equal(t, "inside", g.Stats().Inside, 1)
		if admission.FromContext(ctx) == (admission.Permit{}) {
			t.Error("the handler finds no permit")
		}
		return end()
	}}
	client := start(t, g, grpcadmission.Config{}, s)
	for name, c := range map[string]struct {
		end  func() error
		code codes.Code
	}{
		"return":               {func() error { return nil }, codes.OK},
		"error":                {func() error { return status.Error(codes.NotFound, "") }, codes.NotFound},
		"panic":                {func() error { panic("on purpose") }, codes.Internal},
		"an edge that is full": {func() error { return &flow.FullError{} }, codes.Unavailable},
		"an edge that dropped": {func() error { return flow.ErrDropped }, codes.Unavailable},
		"an inlet closed":      {func() error { return flow.ErrClosed }, codes.Unavailable},
		"given back":           {func() error { return flow.ErrGivenBack }, codes.Unavailable},
		"out of time":          {func() error { return context.DeadlineExceeded }, codes.DeadlineExceeded},
	} {
		end = c.end
		var header metadata.MD
		_, err := client.Check(t.Context(), nothing, grpc.Header(&header))
		if status.Code(err) != c.code {
			t.Errorf("%s: %v, want %v", name, err, c.code)
		}
		if v := header.Get(admission.HeaderWait); c.code == codes.OK && (len(v) != 1 || v[0] != "0") {
			t.Errorf("%s: the wait is %v", name, v)
		}
		if n := g.Stats().Inside; n != 0 {
			t.Fatalf("after %s %d are inside", name, n)
		}
	}
	// Goexit takes the whole call with it, so it is tried without a server.
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = grpcadmission.UnaryServer(g, grpcadmission.Config{})(t.Context(), nil, &grpc.UnaryServerInfo{}, func(context.Context, any) (any, error) {
			runtime.Goexit()
			return nil, nil
		})
	})
	wg.Wait()
	equal(t, "after goexit", g.Stats().Inside, 0)
}

// A stream is inside until its handler returns.
func TestAStreamIsOnePieceOfWork(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 10})
	caller := admission.NewCaller(admission.CallerConfig{K: 1e6}) // sends everything
	s := &service{watch: func(ctx context.Context, send func() error) error {
		m, _ := stage.MetaFrom(ctx)
		equal(t, "the metadata", m.Key, "from the identity")
		return errors.Join(send(), send())
	}}
	cfg := grpcadmission.Config{Meta: func(_ context.Context, method string) stage.Meta {
		equal(t, "the method", method, "/grpc.health.v1.Health/Watch")
		return stage.Meta{Key: "from the identity"}
	}}
	client := start(t, g, cfg, s, grpc.WithStreamInterceptor(grpcadmission.StreamClient(caller)))
	stream, err := client.Watch(t.Context(), nothing)
	if err != nil {
		t.Fatal(err)
	}
	for want := range 3 {
		if _, err = stream.Recv(); (err == nil) != (want < 2) {
			t.Fatalf("message %d: %v", want, err)
		}
	}
	equal(t, "the end", err, io.EOF)
	equal(t, "inside", g.Stats().Inside, 0)
	equal(t, "the client's account", caller.Stats(), admission.CallerStats{Calls: 1, Sent: 1, Accepted: 1})
	permits := fill(t, g)
	for range 3 {
		if stream, err = client.Watch(t.Context(), nothing); err != nil {
			t.Fatal(err)
		}
		if _, err = stream.Recv(); status.Code(err) != codes.Unavailable {
			t.Fatalf("got %v", err)
		}
	}
	for _, p := range permits {
		p.Release()
	}
	equal(t, "refused", caller.Stats().RefusedThere, 3)
}

// Metadata crosses where the peer is trusted, and not where it is not. The deadline is gRPC's own.
func TestMetadataCrossesToTrustedServers(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 10, Classes: true})
	caller := admission.NewCaller(admission.CallerConfig{})
	var trusted atomic.Bool
	var seen atomic.Pointer[stage.Meta]
	s := &service{check: func(ctx context.Context) error {
		m, _ := stage.MetaFrom(ctx)
		seen.Store(&m)
		return nil
	}}
	client := start(t, g, grpcadmission.Config{Trusted: func(context.Context, string) bool { return trusted.Load() }}, s,
		grpc.WithUnaryInterceptor(grpcadmission.UnaryClient(caller)))
	m := stage.Meta{
		ID: "17", Key: "a", Criticality: stage.SheddablePlus, Attempt: 2, Trace: "00-x", Deadline: time.Now().Add(time.Hour),
	}
	for _, trust := range []bool{false, true} {
		trusted.Store(trust)
		if _, err := client.Check(stage.WithMeta(t.Context(), m), nothing); err != nil {
			t.Fatal(err)
		}
		got := *seen.Load()
		if d := time.Until(got.Deadline); d > time.Hour || d < 50*time.Minute {
			t.Errorf("trusted %v: the deadline is in %v", trust, d)
		}
		want := stage.Meta{Deadline: got.Deadline}
		if trust {
			want = m
			want.Deadline = got.Deadline
		}
		equal(t, "the metadata", got, want)
	}
	m = stage.Meta{Key: "Zürich"}
	if _, err := client.Check(stage.WithMeta(t.Context(), m), nothing); err != nil {
		t.Errorf("with a key that is not ASCII: %v", err)
	}
	equal(t, "that key", seen.Load().Key, "")

	// A proxy that copies the metadata of a stranger hands on what it knows itself.
	copied := metadata.AppendToOutgoingContext(t.Context(), admission.HeaderCriticality, "CriticalPlus", admission.HeaderKey, "somebody else",
		admission.HeaderAttempt, "2", admission.HeaderID, "17")
	for _, m := range []stage.Meta{{}, {Key: "a", ID: "18"}} {
		if _, err := client.Check(stage.WithMeta(copied, m), nothing); err != nil {
			t.Fatal(err)
		}
		want := stage.Meta{Key: m.Key, ID: cmp.Or(m.ID, "17")}
		equal(t, "what a proxy hands on", *seen.Load(), want)
	}
}

// The client comes again when it is told to, and not when it is told not to.
func TestClientComesAgain(t *testing.T) {
	atOnce := func() backoff.BackOff { return &backoff.ZeroBackOff{} }
	refuse := func(r admission.Refusal) error { return &r }
	soon := admission.Refusal{Reason: admission.ReasonSaturated, RetryAfter: time.Millisecond, Retryable: true}
	for _, c := range []struct {
		name string
		id   string
		err  error
		sent int
		code codes.Code
	}{
		{"refused", "", refuse(soon), 3, codes.Unavailable},
		{"refused for good", "", refuse(admission.Refusal{Reason: admission.ReasonDeadline}), 1, codes.Unavailable},
		{"a budget", "", refuse(admission.Refusal{Reason: admission.ReasonBudget, RetryAfter: 1, Retryable: true}), 3, codes.ResourceExhausted},
		{"somebody else's", "", status.Error(codes.Unavailable, ""), 1, codes.Unavailable},
		{"somebody else's, and twice is once", "17", status.Error(codes.Unavailable, ""), 3, codes.Unavailable},
		{"an answer", "17", status.Error(codes.NotFound, ""), 1, codes.NotFound},
		{"too late", "17", status.Error(codes.DeadlineExceeded, ""), 1, codes.DeadlineExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			caller := admission.NewCaller(admission.CallerConfig{Backoff: atOnce, RetryBudget: 1})
			var sent atomic.Int64
			var failing atomic.Bool
			s := &service{check: func(context.Context) error {
				if !failing.Load() {
					return nil
				}
				sent.Add(1)
				return c.err
			}}
			client := start(t, admission.NewGate(admission.Config{Limit: 10}), grpcadmission.Config{}, s,
				grpc.WithUnaryInterceptor(grpcadmission.UnaryClient(caller)))
			for range 20 {
				if _, err := client.Check(t.Context(), nothing); err != nil {
					t.Fatal(err)
				}
			}
			failing.Store(true)
			_, err := client.Check(stage.WithMeta(t.Context(), stage.Meta{ID: c.id}), nothing)
			if status.Code(err) != c.code || int(sent.Load()) != c.sent {
				t.Errorf("%v after %d attempts, want %v after %d", err, sent.Load(), c.code, c.sent)
			}
		})
	}
}

// A client whose calls are all refused hardly calls any more, and says so itself.
func TestClientThrottlesItself(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 1})
	fill(t, g)
	caller := admission.NewCaller(admission.CallerConfig{NoRetry: true})
	client := start(t, g, grpcadmission.Config{}, &service{}, grpc.WithUnaryInterceptor(grpcadmission.UnaryClient(caller)),
		grpc.WithStreamInterceptor(grpcadmission.StreamClient(caller)))
	for range 200 {
		_, _ = client.Check(t.Context(), nothing)
	}
	s := caller.Stats()
	if s.Sent > 60 || s.RefusedThere != s.Sent || s.RefusedHere != 200-s.Sent {
		t.Errorf("%+v", s)
	}
	for {
		_, err := client.Watch(t.Context(), nothing)
		if r, ok := errors.AsType[*admission.Refusal](err); ok {
			equal(t, "the reason", r.Reason, admission.ReasonThrottled)
			break
		}
	}
}

func TestStatusKnowsRefusalsOnly(t *testing.T) {
	if _, ok := grpcadmission.Status(errors.New("x")); ok {
		t.Error("any error is a refusal")
	}
	if s, ok := grpcadmission.Status(flow.ErrClosed); !ok || s.Code() != codes.Unavailable || len(s.Details()) != 0 {
		t.Errorf("an instance that ends is %v, %v: another one may take the call", s, ok)
	}
	s, ok := grpcadmission.Status(&admission.Refusal{Reason: admission.ReasonSpend, Retryable: true})
	if !ok || s.Code() != codes.Unavailable || s.Message() != "admission: refused: spend, retry after 0s" {
		t.Errorf("got %v, %v", s, ok)
	}
}
