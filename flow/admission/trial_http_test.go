package admission_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/stage"
)

// T60. Try: a full edge behind an HTTP source, that blocks and that rejects. Right: the answer is a 503 with Retry-After and the mark of
// an instruction, or a 429 for whom it is his own quota, and never a generic 500; a client that leaves is not waited for, and takes
// nothing with it.
func TestT60AFullEdgeBehindHTTP(t *testing.T) {
	for name, policy := range map[string]flow.Policy{"block": flow.Block, "reject": flow.Reject, "drop newest": flow.DropNewest} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in := flow.NewInlet(flow.Edge[int]{Name: "orders", Capacity: 2, OnFull: policy, SettleDropped: flow.Term})
				release, stored := make(chan struct{}), 0
				run, err := in.Flow().ForEach(func(context.Context, int) error {
					<-release
					stored++
					return nil
				}).Start(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				// Who waits for room does so for a second: longer is of no use to an HTTP client.
				h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					ctx, cancel := context.WithTimeoutCause(r.Context(), time.Second, &flow.FullError{Edge: "orders", Capacity: 2})
					defer cancel()
					if _, err := in.Put(ctx, 1); err != nil {
						admission.WriteRefusal(w, err)
						return
					}
					w.WriteHeader(http.StatusAccepted)
				})
				for range 3 { // one is worked on, two wait
					equal(t, "with room", serve(h, request(http.NoBody)).StatusCode, http.StatusAccepted)
					synctest.Wait()
				}
				began := time.Now()
				resp := serve(h, request(http.NoBody))
				equal(t, "full", resp.StatusCode, http.StatusServiceUnavailable)
				wantHeaders(t, resp.Header, admission.HeaderOverload, "full", admission.HeaderNoRetry, "")
				if n := number(t, resp.Header, admission.HeaderRetryAfter); n < 1 {
					t.Errorf("Retry-After is %d, want 1 at least", n)
				}
				want := time.Duration(0)
				if policy == flow.Block {
					want = time.Second
				}
				equal(t, "the wait for the refusal", time.Since(began), want)
				if policy == flow.Block {
					leaves(t, h, in)
				}
				close(release)
				in.Close()
				if err := run.Wait(); err != nil {
					t.Error(err)
				}
				equal(t, "stored, of what was accepted", stored, 3)
				resp = serve(h, request(http.NoBody))
				equal(t, "closed", resp.StatusCode, http.StatusServiceUnavailable)
				wantHeaders(t, resp.Header, admission.HeaderOverload, "", admission.HeaderRetryAfter, "1")
			})
		})
	}
}

// leaves has a client wait for room in a full edge, and go.
func leaves(t *testing.T, h http.Handler, in *flow.Inlet[int]) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		h.ServeHTTP(httptest.NewRecorder(), request(http.NoBody).WithContext(ctx))
	}()
	synctest.Wait()
	began := time.Now()
	cancel()
	<-gone
	equal(t, "the wait of a client that has left", time.Since(began), 0)
	if err := in.Do(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Do() with a context that has ended = %v, want context.Canceled", err)
	}
}

// T60, in front of it: a gate tells the two kinds of refusal apart before the edge is asked.
func TestT60AGateInFrontOfAFullEdge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := admission.NewGate(admission.Config{
			Limit: 3, Target: 1, Quota: func(string) int { return 2 },
			Meta: func(r *http.Request) stage.Meta { return stage.Meta{Key: r.Header.Get("Tenant")} },
		})
		in := flow.NewInlet(flow.Edge[int]{Name: "orders", Capacity: 2})
		run, err := in.Flow().ForEach(func(context.Context, int) error { time.Sleep(time.Second); return nil }).Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		h := gate.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := in.Do(r.Context(), 1); err != nil {
				admission.WriteRefusal(w, err)
			}
		}))
		for range 2 {
			go serve(h, request(http.NoBody, "Tenant", "a")) //nolint:bodyclose // a recorder's
			synctest.Wait()
		}
		resp := serve(h, request(http.NoBody, "Tenant", "a"))
		equal(t, "over its quota", resp.StatusCode, http.StatusTooManyRequests)
		go serve(h, request(http.NoBody, "Tenant", "b")) //nolint:bodyclose // a recorder's
		synctest.Wait()
		resp = serve(h, request(http.NoBody, "Tenant", "c"))
		equal(t, "no room", resp.StatusCode, http.StatusServiceUnavailable)
		if n := number(t, resp.Header, admission.HeaderRetryAfter); n < 1 {
			t.Errorf("Retry-After is %d, want 1 at least", n)
		}
		in.Close()
		if err := run.Wait(); err != nil {
			t.Error(err)
		}
	})
}
