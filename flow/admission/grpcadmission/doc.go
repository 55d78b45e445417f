// Package grpcadmission puts package admission on both sides of gRPC.
//
//	gate := admission.NewGate(admission.Config{Limit: 200})
//	server := grpc.NewServer(
//		grpc.UnaryInterceptor(grpcadmission.UnaryServer(gate, grpcadmission.Config{})),
//		grpc.StreamInterceptor(grpcadmission.StreamServer(gate, grpcadmission.Config{})),
//	)
//
//	caller := admission.NewCaller(admission.CallerConfig{})
//	conn, err := grpc.NewClient(target,
//		grpc.WithUnaryInterceptor(grpcadmission.UnaryClient(caller)),
//		grpc.WithStreamInterceptor(grpcadmission.StreamClient(caller)),
//	)
//
// # Rules that hold everywhere
//
//   - What is refused because of the load is UNAVAILABLE, what is refused because of the caller RESOURCE_EXHAUSTED. Both have an
//     ErrorInfo with the domain [Domain] and the reason, and, if it is of use to come again, a RetryInfo that says when. The trailer
//     grpc-retry-pushback-ms says the same to the retries of gRPC itself.
//   - Metadata has the names of the headers of package admission, in lower case. It counts at the server only where Config.Trusted says
//     so. The deadline is gRPC's own.
//   - A stream is one piece of work: its permit is held until its handler returns.
//   - Put these interceptors first: a client's breaker and the deadline of one attempt belong behind them, a server's authentication,
//     which Config.Meta may need, in front.
//
// # Before the message is read
//
// gRPC reads and decodes the message of a unary call before any interceptor is asked. What that costs is bounded by
// grpc.MaxRecvMsgSize and grpc.MaxConcurrentStreams. A stream is decided about before its first message. [Tap] decides about both by
// their headers, for the price of a package that gRPC calls experimental.
package grpcadmission
