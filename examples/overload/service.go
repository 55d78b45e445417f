package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/weir-go/weir/flow/admission"
)

// The service: four workers that take 40 ms for a request, so 100 a second. Its callers wait for 300 ms.
const (
	workers = 4
	work    = 40 * time.Millisecond
	budget  = 300 * time.Millisecond
)

var perSecond = workers / work.Seconds()

// pool is the workers. Requests wait for one of them in the order in which they come, and as many as there are.
type pool chan struct{}

// overKey finds what is closed when the service ends.
type overKey struct{}

// ServeHTTP is the service without controls: it lets everybody in, and works for those who have gone, too.
func (p pool) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	over, _ := r.Context().Value(overKey{}).(<-chan struct{})
	select {
	case p <- struct{}{}:
	case <-over:
		return
	}
	defer func() { <-p }()
	permit := admission.FromContext(r.Context()) // nothing, where there is no gate
	if err := permit.Start(); err != nil {
		admission.WriteRefusal(w, err) // it has waited too long to be of use
		return
	}
	time.Sleep(work)
	_, _ = io.WriteString(w, "done\n") // whether the client still listens is its own affair
}

// guarded is the service with controls. What is inside is worked off within the budget; a tenant may have a quarter of it.
func guarded() http.Handler {
	limit := workers + int(perSecond*(budget-2*work).Seconds())
	gate := admission.NewGate(admission.Config{
		Limit: limit, Concurrency: workers, Target: 1,
		Trusted: fromHere,
		Quota: func(key string) int {
			if key == "" {
				return -1
			}
			return limit / 4
		},
	})
	return gate.Handler(make(pool, workers))
}

// fromHere trusts the headers of this machine's own clients. Behind a proxy it would be those of the proxy, which has set them.
func fromHere(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// start serves until the function that it returns is called, which waits for what is being worked on.
func start(l net.Listener, h http.Handler) (stop func() error) {
	var inside sync.WaitGroup
	over, end := context.WithCancel(context.Background())
	counted := func(w http.ResponseWriter, r *http.Request) {
		inside.Add(1)
		defer inside.Done()
		h.ServeHTTP(w, r)
	}
	s := &http.Server{
		Handler: http.HandlerFunc(counted), ReadHeaderTimeout: 5 * time.Second,
		BaseContext: func(net.Listener) context.Context { return context.WithValue(over, overKey{}, over.Done()) },
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	return func() error {
		err := s.Close()
		end()
		defer inside.Wait()
		if serr := <-ended; !errors.Is(serr, http.ErrServerClosed) {
			err = errors.Join(err, serr)
		}
		return err
	}
}

// connections is how many -serve has open at a time.
const connections = 64

// serve runs the service until ctx ends.
func serve(ctx context.Context, w io.Writer, address string) error {
	inner, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	l, err := admission.Listen(inner, admission.ListenerConfig{Limit: connections})
	if err != nil {
		return errors.Join(err, inner.Close())
	}
	stop := start(l, guarded())
	if _, err := fmt.Fprintf(w, "serving on http://%s: %d connections, %.0f requests a second; Ctrl-C ends it\n", l.Addr(), connections, perSecond); err != nil {
		return errors.Join(err, stop())
	}
	<-ctx.Done()
	return stop()
}
