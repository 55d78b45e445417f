package jetstream

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker/jetstream/embedded"
	"github.com/weir-go/weir/internal/natstest"
)

func TestConnectShowsNoSecrets(t *testing.T) {
	for _, url := range []string{
		"nats://alice:s3cret@127.0.0.1:port",
		"nats://alice:s3cret@[::1",
		"nats://s3cret@127.0.0.1:4222 ",
		"nats://127.0.0.1:4222,nats://alice:s3cret@%zz",
		"s3cret://alice@127.0.0.1:4222\x7f",
	} {
		nc, err := Connect(url)
		if err == nil {
			nc.Close()
			continue // the client takes it
		}
		if text := err.Error(); strings.Contains(text, "s3cret") || strings.Contains(text, "alice") {
			t.Errorf("Connect(%q): %v", url, text)
		}
	}
	for _, url := range []string{"nats://alice:s3cret@127.0.0.1", "alice:s3cret@127.0.0.1", "nats://x,nats://%61lice@127.0.0.1"} {
		if err := withoutSecrets(errors.New("user alice is unknown"), url); strings.Contains(err.Error(), "alice") {
			t.Errorf("withoutSecrets, URL %s: %v", url, err)
		}
	}
	plain := errors.New("no file x.creds")
	if got := withoutSecrets(plain, "nats://alice:s3cret@127.0.0.1"); !errors.Is(got, plain) {
		t.Errorf("an error that shows nothing became %v", got)
	}
}

func TestConnectWaitsForTheServer(t *testing.T) {
	port := natstest.Ports(t, 1)[0]
	nc, err := Connect("nats://127.0.0.1:"+strconv.Itoa(port), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if o := nc.Opts; o.MaxReconnect != -1 || o.ReconnectBufSize != -1 {
		t.Errorf("MaxReconnect %d, ReconnectBufSize %d, want -1 and -1", o.MaxReconnect, o.ReconnectBufSize)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := open(ctx, nc, ""); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "not connected") {
		t.Errorf("without a server: %v", err)
	}
	srv, err := embedded.Start(embedded.Config{Listen: "127.0.0.1:" + strconv.Itoa(port)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = srv.Close() }()
	ctx, cancel = context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := open(ctx, nc, ""); err != nil {
		t.Error(err)
	}
	nc.Close()
	if _, err := open(ctx, nc, ""); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("a closed connection: %v", err)
	}
	if _, err := open(ctx, nil, ""); err == nil {
		t.Error("no connection: no error")
	}
}

func TestOpenNeedsJetStream(t *testing.T) {
	srv, err := server.NewServer(&server.Options{DontListen: true, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	defer srv.WaitForShutdown()
	defer srv.Shutdown()
	nc, err := nats.Connect("", nats.InProcessServer(srv))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := open(ctx, nc, ""); !errors.Is(err, jetstream.ErrJetStreamNotEnabled) {
		t.Errorf("a server without JetStream: %v", err)
	}
}

func TestADomainMayComeLater(t *testing.T) {
	l := newLab(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := open(ctx, l.nc, "elsewhere")
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `domain "elsewhere"`) {
		t.Errorf("a domain that isn't there: %v", err)
	}
}

func TestCheckVersion(t *testing.T) {
	for version, ok := range map[string]bool{
		"2.10.4": true, "2.10.29": true, "2.11.0-dev": true, "2.15.2": true, "3.0.0": true, "2.12.0-RC.1": true,
		"2.10.3": false, "2.9.25": false, "1.4.1": false, "": false, "next": false,
	} {
		err := checkVersion(version)
		if (err == nil) != ok {
			t.Errorf("checkVersion(%q) = %v", version, err)
		}
		if err != nil && !strings.Contains(err.Error(), version) {
			t.Errorf("%q does not name the version", err)
		}
	}
}

func TestConnAdvice(t *testing.T) {
	l := newLab(t)
	if got := connAdvice(l.nc); len(got) != 0 {
		t.Errorf("a connection made by Connect: %v", got.warnings(false))
	}
	nc, err := nats.Connect(l.srv.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	got := connAdvice(nc)
	if len(got) != 2 || got.err(false) != nil {
		t.Fatalf("the client's defaults: %v", got.warnings(false))
	}
	for i, setting := range []string{"MaxReconnects", "ReconnectBufSize"} {
		if text := got.warnings(false)[i]; !strings.Contains(text, setting) {
			t.Errorf("%q does not name %s", text, setting)
		}
	}
}

func TestClearTextIsAdvisedAgainstBeyondTheMachine(t *testing.T) {
	for addr, want := range map[string]bool{
		"10.1.2.3:4222": true, "[2001:db8::1]:4222": true, "192.168.0.1:4222": true,
		"127.0.0.1:4222": false, "127.8.8.8:1": false, "[::1]:4222": false, "[::ffff:127.0.0.1]:4222": false,
		"": false, "pipe": false, // inside the process
	} {
		if got := leavesTheMachine(addr); got != want {
			t.Errorf("leavesTheMachine(%q) = %t, want %t", addr, got, want)
		}
	}
}
