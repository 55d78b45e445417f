package admission

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/weir-go/weir/stage"
)

// Transport is the client's side of [Gate.Handler]: an http.RoundTripper that hands on the metadata of the request's context in
// headers, and behaves as a [Caller].
//
// A request is sent again if it was refused as an instruction ([HeaderOverload]: nothing was started), whatever its method; if it was
// answered 503 or 429, or failed, only if its method or an Idempotency-Key says that this is safe. Its body must be one that can be read
// again (Request.GetBody). The error is a *[Refusal] with ReasonThrottled if it was never sent. A refusal that is not, or no longer, to
// be retried is an ordinary answer.
//
// The metadata goes to every server that this transport calls, the tenant's key included: use it for your own. Key, class, attempt and
// time left are those of the metadata alone: headers of these names in the request are left out. So a reverse proxy behind a gate hands
// on what is known there, and not what a stranger says.
type Transport struct {
	base   http.RoundTripper
	caller *Caller
}

// NewTransport returns a transport over base; nil means http.DefaultTransport. It panics if the configuration makes no sense. Use one
// for each server, or pool of equal ones: what one refuses is held against all.
func NewTransport(base http.RoundTripper, c CallerConfig) *Transport {
	if base == nil {
		base = http.DefaultTransport
	}
	return &Transport{base: base, caller: NewCaller(c)}
}

// Transport returns [NewTransport] with the defaults, for what is called by those inside the gate.
func (g *Gate) Transport(base http.RoundTripper) http.RoundTripper {
	return NewTransport(base, CallerConfig{MaxAttempts: g.cfg.MaxAttempts})
}

// Stats returns the figures as of now.
func (t *Transport) Stats() CallerStats { return t.caller.Stats() }

// Throttled returns the probability with which a request of a class is refused here, as of now.
func (t *Transport) Throttled(class stage.Criticality) float64 { return t.caller.Throttled(class) }

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	trip := &trip{base: t.base, req: req}
	err := t.caller.Do(req.Context(), trip.attempt)
	if !trip.sent && req.Body != nil {
		_ = req.Body.Close() // a RoundTripper must, and there is nobody to tell
	}
	if err != nil && trip.resp != nil {
		_ = trip.resp.Body.Close() // it is not handed out
		trip.resp = nil
	}
	return trip.resp, err
}

// trip is one request with all its attempts.
type trip struct {
	base http.RoundTripper
	req  *http.Request
	sent bool
	resp *http.Response // of the last attempt
}

// attempt sends the request once.
func (t *trip) attempt(ctx context.Context) Answer {
	out, err := t.next(ctx)
	if err != nil {
		return Answer{Err: err}
	}
	t.sent = true
	resp, err := t.base.RoundTrip(out)
	if t.resp != nil {
		_ = t.resp.Body.Close() // what the attempt before has answered
	}
	t.resp = resp
	if err != nil {
		gone := errors.Is(ctx.Err(), context.Canceled) // the server is not to blame
		return Answer{Err: err, Accepted: gone, Again: t.safe() && t.rewinds() && ctx.Err() == nil}
	}
	if resp.StatusCode != http.StatusServiceUnavailable && resp.StatusCode != http.StatusTooManyRequests {
		return Answer{Accepted: true}
	}
	marked := resp.Header.Get(HeaderOverload) != ""
	again := resp.Header.Get(HeaderNoRetry) == "" && (marked || t.safe()) && t.rewinds()
	if again {
		setAside(resp)
	}
	return Answer{Refused: true, Again: again, RetryAfter: parseRetryAfter(resp.Header)}
}

// next returns the request of an attempt: a copy, because a RoundTripper must not change what it is given.
func (t *trip) next(ctx context.Context) (*http.Request, error) {
	out := t.req.Clone(ctx)
	if t.sent && t.req.GetBody != nil {
		body, err := t.req.GetBody()
		if err != nil {
			return nil, err
		}
		out.Body = body
	}
	m, _ := stage.MetaFrom(ctx)
	if d, ok := ctx.Deadline(); ok && (m.Deadline.IsZero() || d.Before(m.Deadline)) {
		m.Deadline = d
	}
	for _, name := range foreign {
		out.Header.Del(name)
	}
	FormatMeta(m, out.Header.Set)
	return out, nil
}

// foreign are the headers that only the metadata may set: in a request that is passed on they may be those of a stranger.
var foreign = []string{HeaderKey, HeaderCriticality, HeaderAttempt, HeaderTimeout}

// safe reports whether the request may be sent twice although the first one may have been worked on.
func (t *trip) safe() bool {
	switch t.req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	m, _ := stage.MetaFrom(t.req.Context())
	return m.ID != "" || slices.ContainsFunc(t.req.Header.Values(HeaderID), func(v string) bool { return v != "" })
}

// rewinds reports whether the body can be sent again.
func (t *trip) rewinds() bool {
	return t.req.Body == nil || t.req.Body == http.NoBody || t.req.GetBody != nil
}

// mostAside is how much of a refusal's body is kept while the client waits.
const mostAside = 16 << 10

// setAside reads the body of a refusal that may be handed out later, so that its connection is free in the meantime. One that is longer,
// or breaks off, stays where it is.
func setAside(resp *http.Response) {
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostAside))
	if err == nil && len(text) < mostAside {
		_ = resp.Body.Close()
		resp.Body = io.NopCloser(bytes.NewReader(text))
		return
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), resp.Body), resp.Body}
}
