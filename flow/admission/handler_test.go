package admission_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/stage"
)

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, errors.New("must not be read")
}

func (u unread) Close() error { return nil }

func request(body io.Reader, headers ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/orders", body)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func serve(h http.Handler, r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// wantHeaders checks headers, given as names and values; "" is none.
func wantHeaders(t checker, h http.Header, want ...string) {
	t.Helper()
	for i := 0; i < len(want); i += 2 {
		equal(t, want[i], h.Get(want[i]), want[i+1])
	}
}

func number(t checker, h http.Header, name string) int {
	t.Helper()
	n, err := strconv.Atoi(h.Get(name))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

func TestHandlerRefusesBeforeTheBodyIsRead(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 1})
	admit(context.Background(), t, g, 1)
	h := g.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was called") }))
	resp := serve(h, request(unread{t}))
	equal(t, "the status", resp.StatusCode, http.StatusServiceUnavailable)
	wantHeaders(t, resp.Header, admission.HeaderOverload, "saturated", admission.HeaderEnvoy, "true", admission.HeaderNoRetry, "", admission.HeaderWait, "0")
	if s, ms := number(t, resp.Header, admission.HeaderRetryAfter), number(t, resp.Header, admission.HeaderRetryAfterMs); s < 1 || s > 2 || ms < 1000 || ms > 1500 {
		t.Errorf("retry after %d s, %d ms", s, ms)
	}
	body, err := io.ReadAll(resp.Body)
	if string(body) != "saturated\n" || err != nil {
		t.Errorf("the body is %q, %v", body, err)
	}
}

func TestHandlerSays429ToWhoIsOverItsQuota(t *testing.T) {
	g := admission.NewGate(admission.Config{
		Limit: 10, Quota: func(string) int { return 0 },
		Meta: func(r *http.Request) stage.Meta { return stage.Meta{Key: r.RemoteAddr, Attempt: 3} },
	})
	resp := serve(g.Handler(http.NotFoundHandler()), request(unread{t}))
	equal(t, "the status", resp.StatusCode, http.StatusTooManyRequests)
	wantHeaders(t, resp.Header, admission.HeaderOverload, "quota", admission.HeaderNoRetry, "1")
	if number(t, resp.Header, admission.HeaderRetryAfter) < 1 {
		t.Error("no Retry-After")
	}
	equal(t, "refused", g.Stats().RefusedFor(admission.ReasonQuota), 1)
}

func TestHandlerTellsTheWaitOnSuccessToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := admission.NewGate(admission.Config{
			Limit: 10, Concurrency: 1,
			Spend: spending(t, admission.SpendConfig{Ceiling: 100, Rungs: 2, Cost: cost(95, 2)}),
		})
		work(t, g, 3, 20*time.Millisecond)
		h := g.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p := admission.FromContext(r.Context())
			p.Charge(1)
			_, _ = fmt.Fprint(w, "rung ", p.Rung(), " behind ", p.EstimatedWait())
		}))
		defer release(admit(context.Background(), t, g, 2)...)
		resp := serve(h, request(http.NoBody))
		body, _ := io.ReadAll(resp.Body)
		equal(t, "the body", string(body), "rung 1 behind 40ms")
		wantHeaders(t, resp.Header, admission.HeaderWait, "40", admission.HeaderRung, "1", admission.HeaderOverload, "")
	})
}

// However the handler ends, the permit is back.
func TestHandlerReleasesOnEveryExit(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 4})
	for name, end := range map[string]func(){
		"return": func() {}, "panic": func() { panic(http.ErrAbortHandler) }, "goexit": runtime.Goexit,
	} {
		var wg sync.WaitGroup
		wg.Go(func() {
			defer func() { _ = recover() }()
			serve(g.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				equal(t, "inside", g.Stats().Inside, 1)
				end()
			})), request(http.NoBody))
		})
		wg.Wait()
		if n := g.Stats().Inside; n != 0 {
			t.Errorf("after %s %d are inside", name, n)
		}
	}
	equal(t, "admitted", g.Stats().Admitted.Sum(), 3)
	equal(t, "the permit of no request", admission.FromContext(context.Background()), admission.Permit{})
}

// What headers say counts only where the peer is trusted.
func TestForgedHeadersGetTheDefaultClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen stage.Meta
		var due time.Time
		g := admission.NewGate(admission.Config{
			Limit: 10, Classes: true,
			Meta:    func(*http.Request) stage.Meta { return stage.Meta{Key: "from the certificate"} },
			Trusted: func(r *http.Request) bool { return r.Header.Get("Peer") == "a colleague" },
		})
		h := g.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			seen, _ = stage.MetaFrom(r.Context())
			due, _ = r.Context().Deadline()
		}))
		forged := []string{
			admission.HeaderCriticality, "CriticalPlus", admission.HeaderKey, "somebody else", admission.HeaderTimeout, "1500",
			admission.HeaderAttempt, "2", admission.HeaderID, "order 17", admission.HeaderTrace, "00-trace",
		}
		serve(h, request(http.NoBody, forged...))
		equal(t, "from a stranger", seen, stage.Meta{Key: "from the certificate"})
		equal(t, "its deadline", due, time.Time{})
		serve(h, request(http.NoBody, append(forged, "Peer", "a colleague")...))
		want := stage.Meta{
			ID: "order 17", Key: "somebody else", Criticality: stage.CriticalPlus, Attempt: 2, Trace: "00-trace", Deadline: time.Now().Add(1500 * time.Millisecond),
		}
		equal(t, "from a colleague", seen, want)
		equal(t, "its deadline", due, want.Deadline)
		equal(t, "offered as Critical", g.Stats().Offered.Of(stage.Critical), 1)

		// A proxy that adds its own headers instead of replacing those of a stranger: which one is whose?
		r := request(http.NoBody, append(forged, "Peer", "a colleague")...)
		for i := 0; i < len(forged); i += 2 {
			r.Header.Add(forged[i], forged[i+1])
		}
		serve(h, r)
		equal(t, "what is there twice", seen, stage.Meta{Key: "from the certificate"})
	})
}

// Refusals leave the connection as it is, and a large body does not break the answer.
func TestKeepAlive(t *testing.T) {
	g := admission.NewGate(admission.Config{Limit: 1})
	admit(context.Background(), t, g, 1)
	srv := httptest.NewServer(g.Handler(http.NotFoundHandler()))
	defer srv.Close()
	client := srv.Client()
	defer client.CloseIdleConnections()
	post := func(body string) (reused bool) {
		trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }}
		req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodPost, srv.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusServiceUnavailable || err != nil {
			t.Fatalf("status %d, %v", resp.StatusCode, err)
		}
		return reused
	}
	equal(t, "the first connection is a new one", post("small"), false)
	for range 3 {
		equal(t, "it is used again", post("small"), true)
	}
}

func TestWriteRefusalKnowsItsErrors(t *testing.T) {
	full := fullError(t)
	for _, c := range []struct {
		name   string
		err    error
		status int
		mark   string
	}{
		{"a refusal, wrapped", fmt.Errorf("orders: %w", &admission.Refusal{Reason: admission.ReasonSpend, Retryable: true}), 503, "spend"},
		{"a budget", &admission.Refusal{Reason: admission.ReasonBudget, Retryable: true}, 429, "budget"},
		{"a full edge", full, 503, "full"},
		{"a full edge, wrapped", fmt.Errorf("orders: %w", full), 503, "full"},
		{"an item that an edge dropped", flow.ErrDropped, 503, "full"},
		{"an inlet that is closed", flow.ErrClosed, 503, ""},
		{"an item that nobody wanted any more", fmt.Errorf("orders: %w", flow.ErrGivenBack), 503, ""},
		{"a caller that has gone", context.Canceled, 503, ""},
		{"an answer that is not there in time", fmt.Errorf("secret: %w", context.DeadlineExceeded), 504, ""},
		{"anything else", errors.New("secret"), 500, ""},
	} {
		w := httptest.NewRecorder()
		admission.WriteRefusal(w, c.err)
		if w.Code != c.status || w.Header().Get(admission.HeaderOverload) != c.mark {
			t.Errorf("%s: status %d, mark %q", c.name, w.Code, w.Header().Get(admission.HeaderOverload))
		}
		if after := w.Header().Get(admission.HeaderRetryAfter); (after == "" || after == "0") == (c.status == 503 || c.status == 429) {
			t.Errorf("%s: Retry-After is %q", c.name, after)
		}
		if strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: the error is told", c.name)
		}
	}
}

func fullError(t *testing.T) error {
	t.Helper()
	in := flow.NewInlet(flow.Edge[int]{Name: "orders", Capacity: 1, OnFull: flow.Reject})
	defer in.Close()
	if _, err := in.Offer(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	_, err := in.Offer(t.Context(), 2)
	if _, ok := errors.AsType[*flow.FullError](err); !ok {
		t.Fatalf("got %v, want a FullError", err)
	}
	return err
}

// Rounded up, at least a second, and not the same for all.
func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		after             time.Duration
		low, high         int
		lowMs, highMs     int
		distinct, exactly int
	}{
		{0, 1, 2, 1000, 1500, 2, 100},
		{-time.Hour, 1, 2, 1000, 1500, 2, 100},
		{time.Nanosecond, 1, 2, 1, 2, 2, 1},
		{300 * time.Millisecond, 1, 2, 300, 450, 2, 50},
		{time.Second, 1, 2, 1000, 1500, 2, 100},
		{1001 * time.Millisecond, 2, 3, 1001, 1502, 2, 100},
		{10 * time.Second, 10, 15, 10000, 15000, 6, 100},
		{1 << 62, 86400, 129600, 86400000, 129600000, 100, 100},
	} {
		seconds, exact := map[int]bool{}, map[int]bool{}
		for range 400 {
			w := httptest.NewRecorder()
			admission.WriteRefusal(w, &admission.Refusal{RetryAfter: c.after})
			s, ms := number(t, w.Header(), admission.HeaderRetryAfter), number(t, w.Header(), admission.HeaderRetryAfterMs)
			seconds[s], exact[ms] = true, true
			if s < c.low || s > c.high || ms < c.lowMs || ms > c.highMs {
				t.Fatalf("%v: %d s, %d ms", c.after, s, ms)
			}
		}
		if len(seconds) < c.distinct || len(exact) < c.exactly {
			t.Errorf("%v: %d different seconds, %d milliseconds", c.after, len(seconds), len(exact))
		}
	}
}
