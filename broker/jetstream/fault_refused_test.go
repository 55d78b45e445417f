package jetstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// openings are all the ways in which a connection is first used.
func openings(nc *nats.Conn) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"EnsureStream": func(ctx context.Context) error {
			return EnsureStream(ctx, nc, StreamConfig{Name: "S", Subjects: []string{"s.>"}, MaxMessages: 10})
		},
		"a source": func(ctx context.Context) error {
			return flow.FromItems(NewSource(nc, broker.JSON[int](), quick())).To(stage.Discard[int]()).Run(ctx)
		},
		"a sink": func(ctx context.Context) error {
			return flow.FromSlice(numbers(1)).To(NewSink(nc, broker.JSON[int](), SinkConfig[int]{Stream: "S", To: "s.x"})).Run(ctx)
		},
		"a durable edge": func(ctx context.Context) error {
			return flow.FromSlice(numbers(1)).Apply(Durable(nc, broker.JSON[int](), edgeConfig())).To(stage.Discard[int]()).Run(ctx)
		},
		"Consume": func(ctx context.Context) error {
			return Consume(ctx, nc, broker.JSON[int](), "S", "d", func(context.Context, int) error { return nil })
		},
		"readiness": func(ctx context.Context) error {
			src, sink := NewSource(nc, broker.JSON[int](), quick()), NewSink(nc, broker.JSON[int](), SinkConfig[int]{Stream: "S", To: "s.x"})
			return errors.Join(src.Ready(ctx), sink.Ready(ctx))
		},
	}
}

// A server that refuses who comes with a name and a password: neither is in any error, however that is printed.
func TestErrorsShowNoSecrets(t *testing.T) {
	t.Parallel()
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: -1, Username: "bob", Password: "another", JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	go srv.Start()
	defer srv.WaitForShutdown()
	defer srv.Shutdown()
	if !srv.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server is not ready")
	}
	const user, password = "alice-1f3a", "s3cret-7b2c"
	url := strings.Replace(srv.ClientURL(), "nats://", "nats://"+user+":"+password+"@", 1)
	look := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s: no error", what)
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			for _, verb := range []string{"%v", "%+v", "%#v", "%q"} {
				if text := fmt.Sprintf(verb, e); strings.Contains(text, user) || strings.Contains(text, password) {
					t.Errorf("%s: %s", what, text)
				}
			}
		}
	}

	_, err = Connect(url, nats.RetryOnFailedConnect(false))
	look("Connect", err)
	_, err = Connect(strings.Replace(url, "nats://", "tls://", 1), nats.RetryOnFailedConnect(false))
	look("Connect with TLS", err)
	nc, err := Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for name, open := range openings(nc) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		err := open(ctx)
		cancel()
		if name == "Consume" && err == nil { // its ctx has ended, and that is all it was told
			continue
		}
		look(name, err)
	}
	nc.Close()
	for name, open := range openings(nc) {
		look(name+", closed", open(t.Context()))
	}
}

// oldServer speaks as much as a client needs to take it for a server of that version, and returns its URL.
func oldServer(t *testing.T, version string) string {
	t.Helper()
	in, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := in.Accept()
			if err != nil {
				return
			}
			_, _ = fmt.Fprintf(c, "INFO {\"server_id\":\"OLD\",\"version\":%q,\"headers\":true,\"jetstream\":true,\"max_payload\":1048576}\r\n", version)
			for lines := bufio.NewScanner(c); lines.Scan(); {
				if lines.Text() == "PING" {
					_, _ = fmt.Fprint(c, "PONG\r\n")
				}
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = in.Close(); <-done })
	return "nats://" + in.Addr().String()
}

// A server that is too old is refused at once, by everything, with its version and the one that is needed.
func TestAnOldServerIsRefused(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2.9.10", "2.10.3"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			nc, err := Connect(oldServer(t, version))
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			for name, open := range openings(nc) {
				if name == "readiness" {
					continue // of what is not open
				}
				if err := open(t.Context()); err == nil || !strings.Contains(err.Error(), version) || !strings.Contains(err.Error(), "2.10.4") {
					t.Errorf("%s: %v, want the versions named", name, err)
				}
			}
		})
	}
}
