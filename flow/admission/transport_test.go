package admission_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/stage"
)

// server answers without a network.
type server func(*http.Request) (*http.Response, error)

func (s server) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

func respond(status int, headers ...string) *http.Response {
	r := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("text"))}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// transport returns one with some retries in its budget.
func transport(t *testing.T, c admission.CallerConfig, s server) *admission.Transport {
	t.Helper()
	on := false
	tr := admission.NewTransport(server(func(r *http.Request) (*http.Response, error) {
		if !on {
			return respond(200), nil
		}
		return s(r)
	}), c)
	tr.Caller().Random(func() float64 { return 1 })
	for range 100 {
		resp, err := tr.RoundTrip(outgoing(t.Context(), t, http.MethodGet, ""))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	on = true
	return tr
}

func outgoing(ctx context.Context, t *testing.T, method, body string) *http.Request {
	t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://orders.example/", r)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestTransportHandsMetadataOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got http.Header
		tr := transport(t, admission.CallerConfig{}, func(r *http.Request) (*http.Response, error) { got = r.Header; return respond(200), nil })
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		send := func(m stage.Meta) {
			req := outgoing(stage.WithMeta(ctx, m), t, http.MethodPost, "body")
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
			equal(t, "headers of the request itself", len(req.Header), 0)
		}
		send(stage.Meta{Key: "a", ID: "17", Criticality: stage.SheddablePlus, Attempt: 4, Trace: "00-x"})
		wantHeaders(t, got, admission.HeaderKey, "a", admission.HeaderID, "17", admission.HeaderCriticality, "SheddablePlus",
			admission.HeaderAttempt, "4", admission.HeaderTrace, "00-x", admission.HeaderTimeout, "2000")
		send(stage.Meta{Deadline: time.Now().Add(time.Second)})
		wantHeaders(t, got, admission.HeaderKey, "", admission.HeaderID, "", admission.HeaderCriticality, "", admission.HeaderAttempt, "", admission.HeaderTimeout, "1000")
	})
}

// A proxy that copies the headers of a stranger hands on what it knows itself, and the server trusts it.
func TestTransportLeavesOutWhatAStrangerSays(t *testing.T) {
	var got http.Header
	tr := transport(t, admission.CallerConfig{}, func(r *http.Request) (*http.Response, error) { got = r.Header; return respond(200), nil })
	req := outgoing(t.Context(), t, http.MethodGet, "")
	for _, name := range []string{admission.HeaderKey, admission.HeaderCriticality, admission.HeaderAttempt, admission.HeaderTimeout} {
		req.Header.Set(name, "1")
	}
	req.Header.Set(admission.HeaderCriticality, "CriticalPlus")
	req.Header.Set(admission.HeaderID, "17")
	req.Header.Set("Accept", "text/plain")
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	wantHeaders(t, got, admission.HeaderKey, "", admission.HeaderCriticality, "", admission.HeaderAttempt, "", admission.HeaderTimeout, "",
		admission.HeaderID, "17", "Accept", "text/plain")
	equal(t, "the request's own", req.Header.Get(admission.HeaderCriticality), "CriticalPlus")
}

// The deadline of the metadata counts as that of the context does: nobody waits to send what would be too late.
func TestTransportDoesNotWaitBeyondADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		tr := transport(t, admission.CallerConfig{}, func(*http.Request) (*http.Response, error) {
			sent++
			return respond(503, "Retry-After", "1", admission.HeaderOverload, "full"), nil
		})
		for name, c := range map[string]struct {
			within time.Duration // of the metadata
			until  time.Duration // of the context
			sent   int
		}{
			"the metadata": {time.Second, time.Minute, 1},
			"the context":  {time.Minute, time.Second, 1},
			"neither":      {time.Minute, time.Minute, 3},
		} {
			sent = 0
			ctx, cancel := context.WithTimeout(t.Context(), c.until)
			begin := time.Now()
			ctx = stage.WithMeta(ctx, stage.Meta{Deadline: begin.Add(c.within)})
			resp, err := tr.RoundTrip(outgoing(ctx, t, http.MethodGet, ""))
			if err != nil || resp.StatusCode != 503 || sent != c.sent || c.sent == 1 && time.Since(begin) != 0 {
				t.Errorf("%s: %v after %v and %d attempts, want %d", name, err, time.Since(begin), sent, c.sent)
			}
			cancel()
		}
	})
}

// When a request is sent again, and when it would be wrong.
func TestWhenARequestIsSentAgain(t *testing.T) {
	mark, no := admission.HeaderOverload, admission.HeaderNoRetry
	for _, c := range []struct {
		name   string
		method string
		meta   stage.Meta
		resp   func() (*http.Response, error)
		sent   int
	}{
		{"an answer", "GET", stage.Meta{}, func() (*http.Response, error) { return respond(200), nil }, 1},
		{"a fault", "GET", stage.Meta{}, func() (*http.Response, error) { return respond(500), nil }, 1},
		{"a refusal, and nothing was started", "POST", stage.Meta{}, func() (*http.Response, error) { return respond(503, mark, "saturated"), nil }, 3},
		{"a quota", "POST", stage.Meta{}, func() (*http.Response, error) { return respond(429, mark, "quota"), nil }, 3},
		{"a refusal for good", "GET", stage.Meta{}, func() (*http.Response, error) { return respond(503, mark, "deadline", no, "1"), nil }, 1},
		{"somebody else's 503", "GET", stage.Meta{}, func() (*http.Response, error) { return respond(503), nil }, 3},
		{"somebody else's 503, twice is wrong", "POST", stage.Meta{}, func() (*http.Response, error) { return respond(503), nil }, 1},
		{"somebody else's 503, twice is once", "POST", stage.Meta{ID: "17"}, func() (*http.Response, error) { return respond(503), nil }, 3},
		{"no connection", "PUT", stage.Meta{}, func() (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, 3},
		{"no connection, twice is wrong", "PATCH", stage.Meta{}, func() (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent := 0
				tr := transport(t, admission.CallerConfig{}, func(r *http.Request) (*http.Response, error) {
					sent++
					body, err := io.ReadAll(r.Body)
					if string(body) != "body" || err != nil {
						t.Errorf("attempt %d: the body is %q, %v", sent, body, err)
					}
					if attempt := r.Header.Get(admission.HeaderAttempt); sent > 1 && attempt != string(rune('0'+sent)) {
						t.Errorf("attempt %d says %q", sent, attempt)
					}
					return c.resp()
				})
				resp, err := tr.RoundTrip(outgoing(stage.WithMeta(t.Context(), c.meta), t, c.method, "body"))
				want, wantErr := c.resp()
				if !errors.Is(err, wantErr) || sent != c.sent {
					t.Errorf("sent %d times, %v; want %d, %v", sent, err, c.sent, wantErr)
				}
				if want == nil {
					return
				}
				body, err := io.ReadAll(resp.Body)
				if resp.StatusCode != want.StatusCode || string(body) != "text" || err != nil {
					t.Errorf("the answer is %d %q, %v", resp.StatusCode, body, err)
				}
			})
		})
	}
}

// Retry-After counts, in both shapes, and more than the backoff.
func TestTransportHonoursRetryAfter(t *testing.T) {
	for _, c := range []struct {
		headers   []string
		low, high time.Duration
	}{
		{[]string{"Retry-After", "3"}, 3 * time.Second, 3 * time.Second},
		{[]string{"Retry-After", "3", admission.HeaderRetryAfterMs, "1234"}, 1234 * time.Millisecond, 1234 * time.Millisecond},
		{[]string{"Retry-After", "Sat, 01 Jan 2000 00:00:05 GMT"}, 5 * time.Second, 5 * time.Second},
		{[]string{"Retry-After", "soon"}, 0, 50 * time.Millisecond},
		{nil, 0, 50 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) { // it begins with the year 2000
			sent := 0
			tr := transport(t, admission.CallerConfig{}, func(*http.Request) (*http.Response, error) {
				if sent++; sent == 1 {
					return respond(503, append(c.headers, admission.HeaderOverload, "full")...), nil
				}
				return respond(200), nil
			})
			begin := time.Now()
			resp, err := tr.RoundTrip(outgoing(t.Context(), t, http.MethodPost, ""))
			if took := time.Since(begin); err != nil || resp.StatusCode != 200 || took < c.low || took > c.high {
				t.Errorf("%v: %v after %v, want %v to %v", c.headers, err, took, c.low, c.high)
			}
		})
	}
}

// A body that can't be read again is not sent again, and a request that is not sent has its body closed.
func TestTransportAndBodies(t *testing.T) {
	sent := 0
	tr := transport(t, admission.CallerConfig{}, func(*http.Request) (*http.Response, error) {
		sent++
		return respond(503, admission.HeaderOverload, "full"), nil
	})
	req := outgoing(t.Context(), t, http.MethodPost, "")
	body := &closed{Reader: strings.NewReader("once")}
	req.Body = body
	resp, err := tr.RoundTrip(req)
	if err != nil || resp.StatusCode != 503 || sent != 1 {
		t.Errorf("sent %d times: %v", sent, err)
	}
	tr.Caller().Random(func() float64 { return 0 })
	for range 200 {
		_, err = tr.RoundTrip(req)
	}
	wantReason(t, err, admission.ReasonThrottled)
	equal(t, "the body is closed", body.is, true)
	if tr.Throttled(stage.Critical) <= 0 {
		t.Error("nothing is throttled")
	}

	broken := errors.New("no body any more")
	req = outgoing(t.Context(), t, http.MethodPost, "body")
	req.GetBody = func() (io.ReadCloser, error) { return nil, broken }
	tr = transport(t, admission.CallerConfig{}, func(*http.Request) (*http.Response, error) {
		return respond(503, admission.HeaderOverload, "full"), nil
	})
	if _, err := tr.RoundTrip(req); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

type closed struct {
	io.Reader
	is bool
}

func (c *closed) Close() error { c.is = true; return nil }

// The body of a refusal is handed out whole, however long it is, and with the error that it has.
func TestTheBodyOfARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 16<<10 - 1, 16 << 10, 100 << 10} {
			for _, end := range []error{io.EOF, io.ErrUnexpectedEOF} {
				tr := transport(t, admission.CallerConfig{}, func(*http.Request) (*http.Response, error) {
					resp := respond(503, admission.HeaderOverload, "full")
					resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(strings.Repeat("x", n)), iotest.ErrReader(end)))
					return resp, nil
				})
				resp, err := tr.RoundTrip(outgoing(t.Context(), t, http.MethodGet, ""))
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(resp.Body)
				if err == nil {
					err = io.EOF
				}
				if len(text) != n || !errors.Is(err, end) {
					t.Errorf("%d bytes, %v; want %d, %v", len(text), err, n, end)
				}
				if err := resp.Body.Close(); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

// A client that gives up while it waits gets its own error, and nothing stays open.
func TestTransportIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := transport(t, admission.CallerConfig{}, func(*http.Request) (*http.Response, error) {
			return respond(503, admission.HeaderOverload, "full", "Retry-After", "5"), nil
		})
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(gone) })
		resp, err := tr.RoundTrip(outgoing(ctx, t, http.MethodGet, ""))
		if resp != nil || !errors.Is(err, gone) {
			t.Errorf("got %v, %v", resp, err)
		}
	})
}

// Against a server that always refuses, what arrives there is counted.
func TestRetryAmplification(t *testing.T) {
	var arrived atomic.Int64
	gate := admission.NewGate(admission.Config{Limit: 1})
	admit(context.Background(), t, gate, 1)
	h := gate.Handler(http.NotFoundHandler())
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		h.ServeHTTP(shorter{w}, r)
	}))
	defer srv.Close()
	tr := admission.NewTransport(srv.Client().Transport, admission.CallerConfig{MaxAttempts: 5, Backoff: atOnce})
	tr.Caller().Random(func() float64 { return 1 })
	client := &http.Client{Transport: tr}
	const calls = 500
	for range calls {
		resp, err := client.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "the status", resp.StatusCode, http.StatusServiceUnavailable)
		_ = resp.Body.Close()
	}
	srv.Client().CloseIdleConnections()
	if n := arrived.Load(); n > calls*11/10 || n < calls*109/100 {
		t.Errorf("%d requests arrived for %d calls", n, calls)
	}
	// As it is, most are not even sent.
	tr = admission.NewTransport(srv.Client().Transport, admission.CallerConfig{Backoff: atOnce})
	client.Transport = tr
	arrived.Store(0)
	here := 0
	for range calls {
		resp, err := client.Get(srv.URL)
		if err != nil {
			wantReason(t, err, admission.ReasonThrottled)
			here++
			continue
		}
		_ = resp.Body.Close()
	}
	srv.Client().CloseIdleConnections()
	if n := arrived.Load(); n > calls/4 || int(tr.Stats().RefusedHere) < here {
		t.Errorf("%d requests arrived for %d calls, %d were refused here", n, calls, here)
	}
}

// atOnce is no backoff.
func atOnce() backoff.BackOff { return &backoff.ZeroBackOff{} }

// shorter tells clients to come again after a millisecond: a second would make the test take minutes.
type shorter struct{ http.ResponseWriter }

func (s shorter) WriteHeader(status int) {
	s.Header().Set(admission.HeaderRetryAfterMs, "1")
	s.ResponseWriter.WriteHeader(status)
}

// A gate's own transport is one with the defaults.
func TestGateTransport(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 1})
	seen := ""
	tr := g.Transport(server(func(r *http.Request) (*http.Response, error) {
		seen = r.Header.Get(admission.HeaderCriticality)
		return respond(200), nil
	}))
	resp, err := tr.RoundTrip(outgoing(of(stage.Sheddable), t, http.MethodGet, ""))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	equal(t, "the class", seen, "Sheddable")
}
