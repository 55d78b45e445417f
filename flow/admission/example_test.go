package admission_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/flow/admission"
	"github.com/weir-go/weir/stage"
)

func ExampleNewGate() {
	gate := admission.NewGate(admission.Config{Limit: 100, Classes: true, Reserved: 0.05})
	for _, rule := range gate.Order() {
		fmt.Println(rule)
	}

	// Output:
	// from 1: what can't meet its deadline (deadline)
	// from 80: Sheddable (sheddable)
	// from 85: retries below CriticalPlus (retry)
	// from 90: SheddablePlus (deferrable)
	// from 95: Critical (saturated)
	// from 100: CriticalPlus (saturated)
}

func ExampleGate_Admit() {
	gate := admission.NewGate(admission.Config{Limit: 10}) // and a target of 0.9
	for i := range 11 {
		permit, err := gate.Admit(context.Background())
		if err != nil {
			fmt.Println(i, err)
			continue
		}
		defer permit.Release() // the work is done
	}
	fmt.Println(gate.Stats().Inside)

	// Output:
	// 9 admission: refused: saturated, retry after 1s
	// 10 admission: refused: saturated, retry after 1s
	// 9
}

func ExampleGate_Handler() {
	orders := flow.NewInlet(flow.Edge[string]{Name: "orders", Capacity: 256, OnFull: flow.Reject})
	run, err := orders.Flow().
		Parallel(20, func(_ context.Context, order string) (string, error) { return strings.ToUpper(order), nil }).
		ForEach(func(_ context.Context, order string) error { fmt.Println("stored", order); return nil }).
		Start(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}

	gate := admission.NewGate(admission.Config{Limit: 200, Concurrency: 20})
	handler := gate.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := orders.Do(r.Context(), r.URL.Query().Get("id")); err != nil { // until it is stored
			admission.WriteRefusal(w, err)
			return
		}
		w.WriteHeader(http.StatusCreated)
	}))

	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/orders?id=a17", http.NoBody))
	fmt.Println(w.Code, w.Header().Get(admission.HeaderWait), "ms")
	orders.Close()
	fmt.Println(run.Wait())

	// Output:
	// stored A17
	// 201 0 ms
	// <nil>
}

func ExampleWriteRefusal() {
	w := httptest.NewRecorder()
	admission.WriteRefusal(w, &admission.Refusal{Reason: admission.ReasonQuota, RetryAfter: 20 * time.Second, Retryable: true})
	fmt.Println(w.Code, w.Header().Get(admission.HeaderOverload), w.Header().Get(admission.HeaderNoRetry) == "")

	w = httptest.NewRecorder()
	admission.WriteRefusal(w, &admission.Refusal{Reason: admission.ReasonDeadline})
	fmt.Println(w.Code, w.Header().Get(admission.HeaderOverload), w.Header().Get(admission.HeaderNoRetry))

	// Output:
	// 429 quota true
	// 503 deadline 1
}

func ExampleConfig() {
	gate := admission.NewGate(admission.Config{
		Limit:   100,
		Classes: true,
		Quota: func(tenant string) int {
			if tenant == "trial" {
				return 1
			}
			return 50
		},
		Meta: func(r *http.Request) stage.Meta { // behind authentication
			name, _, _ := r.BasicAuth()
			return stage.Meta{Key: name}
		},
		Trusted: func(r *http.Request) bool { return r.TLS != nil && len(r.TLS.VerifiedChains) > 0 },
	})
	handler := gate.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m, _ := stage.MetaFrom(r.Context())
		fmt.Println(m.Key, m.Criticality)
	}))

	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.SetBasicAuth("trial", "secret")
	r.Header.Set(admission.HeaderCriticality, "CriticalPlus") // says who?
	handler.ServeHTTP(httptest.NewRecorder(), r)

	// Output:
	// trial Critical
}

func ExampleNewLimiter() {
	limiter, err := admission.NewLimiter(20, 20) // a pool of 20 connections, and as many that wait
	if err != nil {
		fmt.Println(err)
		return
	}
	err = limiter.Do(context.Background(), func(context.Context) error {
		fmt.Println(limiter.Depth(), "of", limiter.Limit())
		return nil
	})
	fmt.Println(limiter.Depth(), err)

	// Output:
	// 1 of 40
	// 0 <nil>
}

func ExampleNewSpendLimiter() {
	spend, err := admission.NewSpendLimiter(admission.SpendConfig{
		Ceiling: 1000, // in a minute
		Rungs:   2,    // a large model, and a small one
		Cost: func(_ stage.Meta, rung int) int64 {
			return []int64{200, 10}[rung]
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	gate := admission.NewGate(admission.Config{Limit: 100, Classes: true, Spend: spend})
	ask := func(class stage.Criticality) {
		permit, err := gate.Admit(stage.WithMeta(context.Background(), stage.Meta{Criticality: class}))
		if err != nil {
			fmt.Println(class, err)
			return
		}
		defer permit.Release()
		fmt.Println(class, "on rung", permit.Rung(), "and", spend.Stats().Spent, "spent")
	}
	for range 6 {
		ask(stage.Critical)
	}
	ask(stage.Sheddable)

	// Output:
	// Critical on rung 0 and 200 spent
	// Critical on rung 0 and 400 spent
	// Critical on rung 0 and 600 spent
	// Critical on rung 0 and 800 spent
	// Critical on rung 1 and 810 spent
	// Critical on rung 1 and 820 spent
	// Sheddable admission: refused: spend, not to be retried
}

func ExampleNewTransport() {
	gate := admission.NewGate(admission.Config{
		Limit:   100,
		Trusted: func(*http.Request) bool { return true }, // this server is for colleagues
	})
	server := httptest.NewServer(gate.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m, _ := stage.MetaFrom(r.Context())
		_, _ = io.WriteString(w, m.Key+" "+m.Criticality.String())
	})))
	defer server.Close()

	client := &http.Client{Transport: admission.NewTransport(nil, admission.CallerConfig{})}
	defer client.CloseIdleConnections()
	ctx := stage.WithMeta(context.Background(), stage.Meta{Key: "tenant a", Criticality: stage.SheddablePlus})
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, http.NoBody)
	resp, err := client.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	fmt.Println(string(text), err)

	// Output:
	// tenant a SheddablePlus <nil>
}

func ExampleCaller() {
	caller := admission.NewCaller(admission.CallerConfig{})
	err := caller.Do(context.Background(), func(ctx context.Context) admission.Answer {
		err := io.ErrUnexpectedEOF // the call itself: a breaker around it, and the deadline of this attempt
		return admission.Answer{Err: err, Again: true}
	})
	s := caller.Stats()
	fmt.Println(err, s.Sent, s.NoBudget) // one call earns a tenth of a retry

	// Output:
	// unexpected EOF 1 1
}

func ExampleBehind() {
	orders := flow.NewInlet(flow.Edge[int]{Name: "orders", Capacity: 64})
	run, err := orders.Flow().ForEach(func(context.Context, int) error { return nil }).Start(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	gate := admission.NewGate(admission.Config{Limit: 50})
	gated := admission.Behind(gate, orders)
	fmt.Println(gated.Do(context.Background(), 17), gate.Stats().Admitted.Sum())
	orders.Close()
	fmt.Println(run.Wait())

	// Output:
	// <nil> 1
	// <nil>
}

func ExampleListen() {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	listener, err := admission.Listen(inner, admission.ListenerConfig{Limit: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "welcome")
	})}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()

	for range 2 { // clients that keep their connection
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		resp, err := client.Get("http://" + listener.Addr().String())
		if err != nil {
			fmt.Println(err)
			return
		}
		_, err = io.Copy(io.Discard, resp.Body)
		fmt.Println(resp.StatusCode, resp.Header.Get(admission.HeaderRetryAfter), errors.Join(err, resp.Body.Close()))
	}

	// Output:
	// 200  <nil>
	// 503 1 <nil>
}
