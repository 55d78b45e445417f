package grpcadmission_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/flow/admission/grpcadmission"
	"github.com/weir-go/weir/stage"
)

// The deadline of the metadata is one of a stream, as of a unary call, and nothing is left of it behind the stream's end.
func TestAStreamEndsAtItsDeadline(t *testing.T) {
	caller := admission.NewCaller(admission.CallerConfig{})
	begun := make(chan context.Context, 1)
	s := &service{watch: func(ctx context.Context, send func() error) error {
		begun <- ctx
		return send()
	}}
	inner := make(chan context.Context, 1) // of the call
	spy := func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		inner <- ctx
		return streamer(ctx, desc, cc, method, opts...)
	}
	client := start(t, admission.NewGate(admission.Config{Limit: 10}), grpcadmission.Config{}, s,
		grpc.WithChainStreamInterceptor(grpcadmission.StreamClient(caller), spy))
	ctx := stage.WithMeta(t.Context(), stage.Meta{Deadline: time.Now().Add(time.Hour)})
	stream, err := client.Watch(ctx, nothing)
	if err != nil {
		t.Fatal(err)
	}
	if d, ok := (<-begun).Deadline(); !ok || time.Until(d) > time.Hour {
		t.Errorf("the server knows of no deadline: %v, %v", d, ok)
	}
	of := <-inner
	_, err = stream.Recv()
	if err != nil || of.Err() != nil {
		t.Errorf("the first message: %v, %v", err, of.Err())
	}
	if _, err = stream.Recv(); !errors.Is(err, io.EOF) || of.Err() == nil {
		t.Errorf("the end: %v, and the context has %v", err, of.Err())
	}
}
