package grpcadmission

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/admission"
)

// Domain is that of the ErrorInfo of a refusal.
const Domain = "weir-go/admission"

const (
	pushback   = "grpc-retry-pushback-ms" // gRFC A6
	waitDetail = "wait_ms"
)

// Status returns the status of a refusal, and whether err is one: a *admission.Refusal, a *flow.FullError or flow.ErrDropped. For
// flow.ErrClosed and flow.ErrGivenBack it is UNAVAILABLE without the details that mark an instruction: this instance ends, and another may take the call. The
// interceptors do this with what handlers return.
func Status(err error) (*status.Status, bool) {
	if r, ok := refusalOf(err); ok {
		s, _ := statusOf(r)
		return s, true
	}
	if errors.Is(err, flow.ErrClosed) || errors.Is(err, flow.ErrGivenBack) {
		return status.New(codes.Unavailable, "closing"), true
	}
	return nil, false
}

func refusalOf(err error) (*admission.Refusal, bool) {
	if r, ok := errors.AsType[*admission.Refusal](err); ok {
		return r, true
	}
	if full, ok := errors.AsType[*flow.FullError](err); ok {
		wait := full.EstimatedWait
		return &admission.Refusal{Reason: admission.ReasonFull, EstimatedWait: wait, RetryAfter: wait, Retryable: true}, true
	}
	if errors.Is(err, flow.ErrDropped) {
		return &admission.Refusal{Reason: admission.ReasonFull, Retryable: true}, true
	}
	return nil, false
}

// statusOf returns the status of r, and how long to stay away, below 0 for ever.
func statusOf(r *admission.Refusal) (*status.Status, time.Duration) {
	code := codes.Unavailable
	if r.Reason.Personal() {
		code = codes.ResourceExhausted
	}
	s := status.New(code, r.Error())
	info := &errdetails.ErrorInfo{
		Domain: Domain, Reason: strings.ToUpper(r.Reason.String()),
		Metadata: map[string]string{waitDetail: strconv.FormatInt(r.EstimatedWait.Milliseconds(), 10)},
	}
	if !r.Retryable {
		return withDetails(s, info, nil), -1
	}
	after := r.RetryAfter
	if after <= 0 {
		after = time.Second
	}
	after = admission.Jittered(after)
	return withDetails(s, info, &errdetails.RetryInfo{RetryDelay: durationpb.New(after)}), after
}

// withDetails adds what there is. It fails only for a status that is OK, which these are not.
func withDetails(s *status.Status, info *errdetails.ErrorInfo, retry *errdetails.RetryInfo) *status.Status {
	with, err := s.WithDetails(info)
	if err == nil && retry != nil {
		with, err = with.WithDetails(retry)
	}
	if err != nil {
		return s
	}
	return with
}

// refuse returns what a client gets for err, and sets the trailer of a refusal. Other errors stay as they are.
func refuse(err error, trailer func(metadata.MD)) error {
	r, ok := refusalOf(err)
	if !ok {
		if s, ok := Status(err); ok {
			return s.Err()
		}
		return err
	}
	s, after := statusOf(r)
	ms := int64(-1)
	if after >= 0 {
		ms = int64((after + time.Millisecond - 1) / time.Millisecond)
	}
	trailer(metadata.Pairs(pushback, strconv.FormatInt(ms, 10)))
	return s.Err()
}

// trailerOf sets the trailer of a unary call.
func trailerOf(ctx context.Context) func(metadata.MD) {
	return func(md metadata.MD) { _ = grpc.SetTrailer(ctx, md) } // it fails only outside of a call
}

// answerOf says what err, the end of a call, means. safe says that the call may be made twice.
func answerOf(err error, safe bool) admission.Answer {
	a := admission.Answer{Err: err}
	s := status.Convert(err)
	var mine, again bool
	for _, d := range s.Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			mine = d.GetDomain() == Domain
		case *errdetails.RetryInfo:
			again, a.RetryAfter = true, max(d.GetRetryDelay().AsDuration(), 0)
		}
	}
	switch s.Code() { //nolint:exhaustive // all others are answers
	case codes.Unavailable, codes.ResourceExhausted:
		a.Refused = mine || again
		a.Again = again && mine || !mine && safe
	case codes.DeadlineExceeded:
	default:
		a.Accepted = true
	}
	return a
}
