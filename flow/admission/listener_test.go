package admission_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir/flow/admission"
)

func listen(t *testing.T, c admission.ListenerConfig) *admission.Listener {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l, err := admission.Listen(inner, c)
	if err != nil {
		_ = inner.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// serveOn serves HTTP until the test ends.
func serveOn(t *testing.T, l net.Listener, h http.Handler) {
	t.Helper()
	srv := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		_ = srv.Close()
		wg.Wait()
	})
}

func dial(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// hold opens a connection that is handed out, and stays.
func hold(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	conn := dial(t, l)
	exchange(t, conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 200)
	return conn
}

// exchange sends a request and reads the answer.
func exchange(t *testing.T, conn net.Conn, req string, want int) http.Header {
	t.Helper()
	if _, err := io.WriteString(conn, req); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	equal(t, "the status", resp.StatusCode, want)
	return resp.Header
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }

func TestListenerConfigSaysAllThatIsWrong(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inner.Close() }()
	_, err = admission.Listen(inner, admission.ListenerConfig{RetryAfter: -1, Linger: -1, Refusals: -1, Backlog: -1})
	for _, name := range []string{"Limit", "RetryAfter", "Linger", "Refusals", "Backlog"} {
		if err == nil || !strings.Contains(err.Error(), "ListenerConfig."+name+" must be") {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}

// The next connection is answered 503, completely, and closed in order.
func TestListenerAnswersWhoFindsNoRoom(t *testing.T) {
	l := listen(t, admission.ListenerConfig{Limit: 2, RetryAfter: 1500 * time.Millisecond})
	serveOn(t, l, http.HandlerFunc(ok))
	first := hold(t, l)
	hold(t, l)
	conn := dial(t, l)
	h := exchange(t, conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 503)
	wantHeaders(t, h, "Retry-After", "2", admission.HeaderOverload, "full", admission.HeaderEnvoy, "true")
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err != io.EOF { //nolint:errorlint // the very end
		t.Errorf("behind the answer: %d bytes, %v, want a clean end", n, err)
	}
	_ = conn.Close()
	equal(t, "the stats", l.Stats(), admission.ListenerStats{Open: 2, Accepted: 2, Refused: 1})
	_ = first.Close()
	for l.Stats().Open == 2 {
		time.Sleep(time.Millisecond) // until the server has noticed
	}
	hold(t, l)
}

// A client that sends a lot before it reads gets its answer all the same: no reset throws it away.
func TestListenerDoesNotReset(t *testing.T) {
	l := listen(t, admission.ListenerConfig{Limit: 1})
	serveOn(t, l, http.HandlerFunc(ok))
	hold(t, l)
	body := bytes.Repeat([]byte("x"), 8<<20)
	for range 3 {
		conn := dial(t, l)
		if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8388608\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(body); err != nil {
			t.Fatalf("sending: %v", err)
		}
		if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 503 ") || !strings.HasSuffix(string(answer), "\r\nConnection: close\r\n\r\nfull\n") {
			t.Fatalf("got %q, %v", answer, err)
		}
		_ = conn.Close()
	}
}

// A client of package net/http sees an answer, and no broken connection.
func TestListenerAndHTTPClients(t *testing.T) {
	l := listen(t, admission.ListenerConfig{Limit: 1})
	serveOn(t, l, http.HandlerFunc(ok))
	hold(t, l)
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	client := &http.Client{Transport: tr}
	for i := range 50 {
		resp, err := client.Post("http://"+l.Addr().String(), "text/plain", strings.NewReader(strings.Repeat("x", i*1000)))
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if resp.StatusCode != 503 || err != nil {
			t.Fatalf("got %d, %v", resp.StatusCode, err)
		}
	}
}

// Behind the last refusal that is told, connections wait in the kernel: the bound is kept, and they get their turn.
func TestListenerBoundsRefusals(t *testing.T) {
	l := listen(t, admission.ListenerConfig{Limit: 1, Refusals: 1, Linger: time.Minute})
	serveOn(t, l, http.HandlerFunc(ok))
	hold(t, l)
	silent := dial(t, l) // takes the only place
	next := dial(t, l)
	if _, err := io.WriteString(next, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	for l.Stats().Refused != 1 {
		time.Sleep(time.Millisecond)
	}
	_ = silent.Close()
	exchange(t, next, "", 503)
	equal(t, "refused", l.Stats().Refused, 2)
}

// A place that becomes free is given out, also while as many refusals are being told as may be: clients that say nothing don't keep
// it empty.
func TestAFreePlaceIsGivenOutWhileOthersAreRefused(t *testing.T) {
	l := listen(t, admission.ListenerConfig{Limit: 1, Refusals: 1, Linger: time.Hour})
	serveOn(t, l, http.HandlerFunc(ok))
	first := hold(t, l)
	dial(t, l) // says nothing, and takes the only place of a refusal
	for l.Stats().Refused != 1 {
		time.Sleep(time.Millisecond)
	}
	next := dial(t, l)
	_ = first.Close()
	_ = next.SetDeadline(time.Now().Add(time.Minute))
	exchange(t, next, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", 200)
	equal(t, "the stats", l.Stats(), admission.ListenerStats{Open: 1, Accepted: 2, Refused: 1})
}

// Close ends those who are being refused, and leaves the others.
func TestListenerClose(t *testing.T) {
	l := listen(t, admission.ListenerConfig{Limit: 1, Refusals: 1, Linger: time.Hour})
	accepted := make(chan net.Conn, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		conn, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- conn
		if _, err = l.Accept(); err == nil {
			t.Error("another one was handed out")
		}
	})
	dial(t, l)
	kept := <-accepted
	defer func() { _ = kept.Close() }()
	silent := dial(t, l)
	dial(t, l) // waits for its turn to be refused
	for l.Stats().Refused != 1 {
		time.Sleep(time.Millisecond)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if _, err := silent.Read(make([]byte, 1)); err == nil {
		t.Error("who was being refused is still connected")
	}
	if _, ok := kept.(interface{ CloseWrite() error }); !ok {
		t.Errorf("a %T can't be closed by halves", kept)
	}
	if err := l.Close(); err == nil {
		t.Error("closing twice is no error of the listener inside")
	}
}

// With TLS a refusal is one of TLS.
func TestListenerWithTLS(t *testing.T) {
	cert := httptest.NewUnstartedServer(nil)
	cert.StartTLS()
	defer cert.Close()
	l := listen(t, admission.ListenerConfig{Limit: 1, TLS: &tls.Config{Certificates: cert.TLS.Certificates}})
	serveOn(t, l, http.HandlerFunc(ok))
	client := cert.Client()
	get := func() (int, error) {
		resp, err := client.Get("https://" + l.Addr().String())
		if err != nil {
			return 0, err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode, errors.Join(err, resp.Body.Close())
	}
	status, err := get()
	if status != 200 || err != nil {
		t.Fatalf("got %d, %v", status, err)
	}
	other := client.Transport.(*http.Transport).Clone()
	defer other.CloseIdleConnections()
	client.CloseIdleConnections()
	for l.Stats().Open > 0 {
		time.Sleep(time.Millisecond)
	}
	if status, err = get(); status != 200 || err != nil { // and keeps the connection
		t.Fatalf("got %d, %v", status, err)
	}
	client = &http.Client{Transport: other}
	if status, err = get(); status != 503 || err != nil {
		t.Fatalf("got %d, %v", status, err)
	}
}

// A listener that is no TCP is bounded all the same.
func TestListenerOfAnotherKind(t *testing.T) {
	inner := &pipes{conns: make(chan net.Conn, 3)}
	l, err := admission.Listen(inner, admission.ListenerConfig{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	var clients [3]net.Conn
	for i := range clients {
		var s net.Conn
		clients[i], s = net.Pipe()
		inner.conns <- s
	}
	first, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		exchange(t, clients[1], "GET / HTTP/1.1\r\n\r\n", 503)
		_ = clients[1].Close()
		_ = first.Close()
		_ = first.Close()
		inner.conns <- nil
	})
	wg.Go(func() { exchange(t, clients[2], "GET / HTTP/1.1\r\n\r\n", 503); _ = clients[2].Close() })
	if _, err = l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
	wg.Wait()
	_ = clients[0].Close()
	equal(t, "open", l.Stats().Open, 0)
	_ = l.Close()
}

type pipes struct{ conns chan net.Conn }

func (p *pipes) Accept() (net.Conn, error) {
	if c := <-p.conns; c != nil {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p *pipes) Close() error   { return nil }
func (p *pipes) Addr() net.Addr { return &net.IPAddr{} }

func TestBacklog(t *testing.T) {
	for _, c := range []struct {
		b         admission.Backlog
		effective int
		warns     bool
	}{
		{admission.Backlog{}, 0, false},
		{admission.Backlog{Asked: 100}, 100, false},
		{admission.Backlog{SOMaxConn: 4096}, 4096, false},
		{admission.Backlog{Asked: 100, SOMaxConn: 4096}, 100, false},
		{admission.Backlog{Asked: 5000, SOMaxConn: 128}, 128, true},
	} {
		if got := c.b.Effective(); got != c.effective || (c.b.Warning() != "") != c.warns {
			t.Errorf("%+v: %d, %q", c.b, got, c.b.Warning())
		}
	}
	equal(t, "the warning", admission.Backlog{Asked: 5000, SOMaxConn: 128}.Warning(),
		"a backlog of 5000 was asked for, and the system allows 128 (net.core.somaxconn): that is what counts")
}
