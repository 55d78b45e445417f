package grpcadmission_test

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	health "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/flow/admission/grpcadmission"
	"github.com/weir-go/weir/stage"
)

func Example() {
	gate := admission.NewGate(admission.Config{Limit: 2}) // and a target of one
	cfg := grpcadmission.Config{Trusted: func(context.Context, string) bool { return true }}
	server := grpc.NewServer(
		grpc.ChainUnaryInterceptor(grpcadmission.UnaryServer(gate, cfg)),
		grpc.ChainStreamInterceptor(grpcadmission.StreamServer(gate, cfg)),
	)
	health.RegisterHealthServer(server, health.UnimplementedHealthServer{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()

	caller := admission.NewCaller(admission.CallerConfig{})
	conn, err := grpc.NewClient(listener.Addr().String(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithChainUnaryInterceptor(grpcadmission.UnaryClient(caller)),
		grpc.WithChainStreamInterceptor(grpcadmission.StreamClient(caller)),
	)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = conn.Close() }()

	ctx := stage.WithMeta(context.Background(), stage.Meta{Criticality: stage.Sheddable})
	_, err = health.NewHealthClient(conn).Check(ctx, &health.HealthCheckRequest{})
	fmt.Println(status.Code(err)) // it was asked

	permit, _ := gate.Admit(context.Background()) // somebody else is inside
	defer permit.Release()
	_, err = health.NewHealthClient(conn).Check(ctx, &health.HealthCheckRequest{})
	fmt.Println(status.Code(err), status.Convert(err).Message())

	// Output:
	// Unimplemented
	// Unavailable admission: refused: saturated, not to be retried
}

func ExampleTap() {
	gate := admission.NewGate(admission.Config{Limit: 1})
	cfg := grpcadmission.Config{}
	server := grpc.NewServer(
		grpc.InTapHandle(grpcadmission.Tap(gate, cfg)),
		grpc.UnaryInterceptor(grpcadmission.UnaryServer(gate, cfg)),
		grpc.StreamInterceptor(grpcadmission.StreamServer(gate, cfg)),
	)
	health.RegisterHealthServer(server, health.UnimplementedHealthServer{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = conn.Close() }()

	permit, _ := gate.Admit(context.Background()) // somebody else is inside
	defer permit.Release()
	call, err := conn.NewStream(context.Background(), &grpc.StreamDesc{ClientStreams: true}, health.Health_Check_FullMethodName)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = call.RecvMsg(new(health.HealthCheckResponse)) // and no message has been sent
	fmt.Println(status.Code(err), status.Convert(err).Message())

	// Output:
	// Unavailable admission: refused: saturated, retry after 1s
}
