package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-go/weir/flow/admission"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pipes is a network inside a bubble: connections are pipes, which know virtual time.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

// here makes a pipe look like a connection of this machine.
type here struct{ net.Conn }

func (here) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return here{c}, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	a, b := net.Pipe()
	select {
	case p.conns <- b:
		return a, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Twice the load in virtual time, so the figures are exact: with controls nearly all that can be done is done in time.
func TestGoodputWithAndWithoutControls(t *testing.T) {
	file := filepath.Join(t.TempDir(), "picture.svg")
	synctest.Test(t, func(t *testing.T) {
		var p *pipes
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) { return p.dial(ctx, network, addr) }
		listen := func() (net.Listener, error) { p = newPipes(); return p, nil }
		o := options{length: 2 * time.Second, load: 2, picture: file}
		var out bytes.Buffer
		if err := compare(t.Context(), &out, o, listen, dial); err != nil {
			t.Errorf("compare() = %v, want nil\n%s", err, out.String())
		}
		o.length = 6 * time.Second
		for _, controls := range []bool{false, true} {
			l, _ := listen()
			r, err := measure(t.Context(), l, dial, o, controls)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.goodput(); controls && got < 0.9 || !controls && got > 0.1 {
				t.Errorf("goodput with controls %t is %.2f, want >= 0.9 with them and <= 0.1 without", controls, got)
			}
		}
	})
	drawn, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(bytes.NewReader(drawn))
	for err == nil {
		_, err = d.Token()
	}
	if !errors.Is(err, io.EOF) || bytes.Count(drawn, []byte("<polyline")) != 2 {
		t.Errorf("the picture is no SVG with two curves (%v):\n%s", err, drawn)
	}
}

// A tenant over its quota is told so, and others get their answers, which say how long one waits.
func TestOneTenantOverItsQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		stop := start(p, guarded())
		client := &http.Client{Transport: &http.Transport{DialContext: p.dial}}
		ask := func(tenant string) (code int, h http.Header) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://here/", http.NoBody)
			if err != nil {
				t.Error(err)
				return 0, nil
			}
			req.Header.Set(admission.HeaderKey, tenant)
			resp, err := client.Do(req)
			if err != nil {
				t.Error(err)
				return 0, nil
			}
			_ = resp.Body.Close()
			return resp.StatusCode, resp.Header
		}
		var (
			all    sync.WaitGroup
			mu     sync.Mutex
			counts = map[int]int{}
		)
		for range 10 {
			all.Go(func() {
				code, h := ask("greedy")
				mu.Lock()
				defer mu.Unlock()
				counts[code]++
				if code == http.StatusTooManyRequests && (h.Get(admission.HeaderRetryAfter) == "" || h.Get(admission.HeaderRetryAfter) == "0") {
					t.Errorf("Retry-After = %q, want 1 at least", h.Get(admission.HeaderRetryAfter))
				}
			})
		}
		synctest.Wait()
		code, h := ask("other")
		if code != http.StatusOK || h.Get(admission.HeaderWait) == "" {
			t.Errorf("the other tenant got %d and %s %q, want 200 and a wait", code, admission.HeaderWait, h.Get(admission.HeaderWait))
		}
		all.Wait()
		if counts[http.StatusOK] != 6 || counts[http.StatusTooManyRequests] != 4 {
			t.Errorf("the greedy tenant got %v, want 200 for six and 429 for four", counts)
		}
		client.CloseIdleConnections()
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestServeEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- command(ctx, []string{"-serve", "127.0.0.1:0"}, w) }()
	line := make([]byte, 200)
	n, err := r.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(line[:n]), "http://")
	addr, _, _ := strings.Cut(rest, ": ")
	resp, err := http.Get("http://" + addr) //nolint:noctx // the server ends with the test
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("the service answered %d (%v), want 200", resp.StatusCode, err)
	}
	http.DefaultClient.CloseIdleConnections()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("serve ended with %v, want nil", err)
	}
}

func TestCommandLine(t *testing.T) {
	for _, args := range [][]string{{"-load", "0"}, {"-load", "NaN"}, {"-load", "Inf"}, {"-load", "1e300"}, {"-length", "1ms"}, {"-length", "9999h"}, {"more"}, {"-serve", "nowhere"}} {
		if err := command(t.Context(), args, io.Discard); err == nil {
			t.Errorf("command(%q) = nil, want an error", args)
		}
	}
}

func TestJudge(t *testing.T) {
	o := options{load: 2, length: time.Second}
	late := newResult([]answer{{took: time.Second, code: 200}}, time.Second)
	refused := newResult([]answer{{code: 503}}, time.Second)
	odd := newResult([]answer{{code: 500, after: 1}}, time.Second)
	for r, want := range map[*result]string{&late: "99th percentile", &refused: "Retry-After 0", &odd: "status 500"} {
		if err := r.judge(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("judge() = %v, want %q in it", err, want)
		}
	}
	good := newResult([]answer{{code: 200}}, 5*time.Millisecond)
	if err := good.wonder(options{load: 2, length: 10 * time.Second}); err == nil {
		t.Error("wonder() = nil for a service that is not overloaded at twice its load")
	}
	for _, o := range []options{{load: 1, length: time.Minute}, {load: 2, length: time.Second}} {
		if err := good.wonder(o); err != nil {
			t.Errorf("wonder() at %v for %v = %v, want nil", o.load, o.length, err)
		}
	}
}
