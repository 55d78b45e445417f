package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/weir-go/weir/flow/admission"
)

// dialer makes connections; nil is the usual one.
type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// answer is what became of a request.
type answer struct {
	at, took time.Duration // since the load began, and since the request was due
	code     int           // 0: none before the load ended
	after    int           // Retry-After
	err      error         // other than that there was no answer
}

// result is what became of all of them.
type result struct {
	answers []answer
	length  time.Duration
	slices  []float64 // goodput of each half second, by capacity
}

// measure offers requests at an even rate, whatever becomes of those before, and counts each from the moment when it was due.
func measure(ctx context.Context, l net.Listener, dial dialer, o options, controls bool) (result, error) {
	var h http.Handler = make(pool, workers)
	if controls {
		h = guarded()
	}
	stop := start(l, h)
	client := &http.Client{Transport: &http.Transport{DialContext: dial, MaxIdleConnsPerHost: 1 << 16}}
	ctx, cancel := context.WithTimeout(ctx, o.length)
	defer cancel()
	var (
		all     sync.WaitGroup
		answers = make([]answer, int(o.load*perSecond*o.length.Seconds()))
		began   = time.Now()
	)
	for i := range answers {
		due := time.Duration(float64(i) / (o.load * perSecond) * float64(time.Second))
		time.Sleep(time.Until(began.Add(due)))
		all.Go(func() { answers[i] = ask(ctx, client, "http://"+l.Addr().String(), began, due) })
	}
	all.Wait()
	err := context.Cause(ctx)
	client.CloseIdleConnections()
	if errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return newResult(answers, o.length), errors.Join(err, stop())
}

// ask sends one request. A client with controls tells the server how long it will wait; one that does not know them ignores the header.
func ask(ctx context.Context, client *http.Client, url string, began time.Time, due time.Duration) (a answer) {
	defer func() { a.at, a.took = time.Since(began), time.Since(began)-due }()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return answer{err: err}
	}
	left := budget - (time.Since(began) - due)
	req.Header.Set(admission.HeaderTimeout, strconv.FormatInt(max(left.Milliseconds(), 0), 10))
	resp, err := client.Do(req)
	if ctx.Err() != nil {
		return answer{}
	}
	if err != nil {
		return answer{err: err}
	}
	after, _ := strconv.Atoi(resp.Header.Get(admission.HeaderRetryAfter)) // 0 where there is none
	return answer{code: resp.StatusCode, after: after, err: resp.Body.Close()}
}

func (a answer) good() bool { return a.code == http.StatusOK && a.took <= budget }

const slice = 500 * time.Millisecond

func newResult(answers []answer, length time.Duration) result {
	r := result{answers: answers, length: length, slices: make([]float64, int(length/slice))}
	for _, a := range answers {
		if i := int(a.at / slice); a.good() && i < len(r.slices) {
			r.slices[i] += 1 / (perSecond * slice.Seconds())
		}
	}
	return r
}

func (r result) count(is func(answer) bool) (n int) {
	for _, a := range r.answers {
		if is(a) {
			n++
		}
	}
	return n
}

// goodput is what was answered in time, by what could be.
func (r result) goodput() float64 {
	return float64(r.count(answer.good)) / (perSecond * r.length.Seconds())
}

// percentile is of those that were let in. Who got no answer has waited for as long as the load went on.
func (r result) percentile(p float64) time.Duration {
	var took []time.Duration
	for _, a := range r.answers {
		if a.code == http.StatusOK || a.code == 0 && a.err == nil && a.took > budget {
			took = append(took, a.took)
		}
	}
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[min(int(p*float64(len(took))), len(took)-1)].Round(time.Millisecond)
}

const header = "                    goodput      p50      p99   in time      late   refused"

func (r result) line(name string) string {
	refused := r.count(func(a answer) bool { return a.code == http.StatusServiceUnavailable })
	late := r.count(func(a answer) bool {
		return a.code == http.StatusOK && a.took > budget || a.code == 0 && a.err == nil && a.took > budget
	})
	return fmt.Sprintf("%-18s %6.0f %% %8v %8v %9d %9d %9d",
		name, 100*r.goodput(), r.percentile(0.5), r.percentile(0.99), r.count(answer.good), late, refused)
}

// strange says what should never happen: other answers, and a refusal that does not say when to come again.
func (r result) strange() error {
	for _, a := range r.answers {
		switch {
		case a.err != nil:
			return fmt.Errorf("a request failed: %w", a.err)
		case a.code == http.StatusServiceUnavailable && a.after < 1:
			return fmt.Errorf("a refusal has Retry-After %d, want 1 at least", a.after)
		case a.code != 0 && a.code != http.StatusOK && a.code != http.StatusServiceUnavailable:
			return fmt.Errorf("an answer has status %d, want 200 or 503", a.code)
		}
	}
	return nil
}
