package admission

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/weir-go/weir/flow"
)

// WriteRefusal answers a request that was not taken. It knows:
//
//	*Refusal                        429 for a quota or a budget of the caller, else 503
//	*flow.FullError, flow.ErrDropped  503: an edge was full
//	flow.ErrClosed, flow.ErrGivenBack  503, without the mark of an instruction: this instance ends, and another may take the request
//	context.Canceled                503, without the mark: the caller has gone, or the server ends
//	context.DeadlineExceeded        504: it was begun, and not finished in time
//	everything else                 500: it was no refusal
//
// A refusal has Retry-After in whole seconds, at least 1, and in milliseconds; both with jitter. The text says no more than the reason.
func WriteRefusal(w http.ResponseWriter, err error) {
	if r, ok := errors.AsType[*Refusal](err); ok {
		status := http.StatusServiceUnavailable
		if r.Reason.Personal() {
			status = http.StatusTooManyRequests
		}
		writeRefusal(w, r, status)
		return
	}
	if full, ok := errors.AsType[*flow.FullError](err); ok {
		wait := full.EstimatedWait
		writeRefusal(w, &Refusal{Reason: ReasonFull, EstimatedWait: wait, RetryAfter: wait, Retryable: true}, http.StatusServiceUnavailable)
		return
	}
	switch {
	case errors.Is(err, flow.ErrDropped):
		writeRefusal(w, &Refusal{Reason: ReasonFull, Retryable: true}, http.StatusServiceUnavailable)
	case errors.Is(err, flow.ErrClosed), errors.Is(err, flow.ErrGivenBack):
		w.Header().Set(HeaderRetryAfter, "1")
		http.Error(w, "closing", http.StatusServiceUnavailable)
	case errors.Is(err, context.Canceled):
		w.Header().Set(HeaderRetryAfter, "1")
		http.Error(w, "canceled", http.StatusServiceUnavailable)
	case errors.Is(err, context.DeadlineExceeded):
		http.Error(w, "too late", http.StatusGatewayTimeout)
	default:
		http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
	}
}

func writeRefusal(w http.ResponseWriter, r *Refusal, status int) {
	h := w.Header()
	after := r.RetryAfter
	if after <= 0 {
		after = unknownWait
	}
	seconds, exact := retryAfter(after)
	h.Set(HeaderRetryAfter, strconv.FormatInt(seconds, 10))
	h.Set(HeaderRetryAfterMs, millis(exact))
	h.Set(HeaderWait, millis(r.EstimatedWait))
	h.Set(HeaderOverload, r.Reason.String())
	h.Set(HeaderEnvoy, "true")
	if !r.Retryable {
		h.Set(HeaderNoRetry, "1")
	}
	http.Error(w, r.Reason.String(), status)
}

// waitHeader says on success how long the request was going to wait.
func waitHeader(h http.Header, p Permit) {
	h.Set(HeaderWait, millis(p.wait.Round(time.Millisecond)))
	if p.rung > 0 {
		h.Set(HeaderRung, strconv.Itoa(p.rung))
	}
}
