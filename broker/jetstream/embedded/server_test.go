package embedded_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/weir-go/weir/broker/jetstream/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, c embedded.Config) *embedded.Server {
	t.Helper()
	srv, err := embedded.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv
}

func conn(t *testing.T, srv *embedded.Server, opts ...nats.Option) jetstream.JetStream {
	t.Helper()
	nc, err := srv.Conn(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func TestWithoutASocketTheServerIsReachedInProcess(t *testing.T) {
	srv := start(t, embedded.Config{})
	if got := srv.URL(); got != "" {
		t.Errorf("URL() = %q, want none", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	js := conn(t, srv)
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, MaxMsgs: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, "s", []byte("x")); err != nil {
		t.Fatal(err)
	}
}

func TestAFolderKeepsItsStreams(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	srv, err := embedded.Start(embedded.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	nc, err := srv.Conn()
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, MaxMsgs: 10}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := js.Publish(ctx, "s", []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	nc.Close()
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	if err := srv.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}

	stream, err := conn(t, start(t, embedded.Config{Dir: dir})).Stream(ctx, "S")
	if err != nil {
		t.Fatal(err)
	}
	if got := stream.CachedInfo().State.Msgs; got != 3 {
		t.Errorf("after a restart the stream has %d messages, want 3", got)
	}
}

func TestATemporaryFolderIsRemoved(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	srv, err := embedded.Start(embedded.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(tmp); len(left) != 1 {
		t.Errorf("while it runs there are %d folders, want 1", len(left))
	}
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(tmp); len(left) != 0 {
		t.Errorf("Close left %v", left)
	}
}

func TestListenOpensALoopbackSocket(t *testing.T) {
	srv := start(t, embedded.Config{Listen: "localhost:0"})
	if !strings.HasPrefix(srv.URL(), "nats://127.0.0.1:") {
		t.Fatalf("URL() = %q, want one of 127.0.0.1", srv.URL())
	}
	nc, err := nats.Connect(srv.URL())
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}

func TestSettingsReachTheServer(t *testing.T) {
	srv := start(t, embedded.Config{Name: "one", Domain: "edge", MaxStore: 1 << 20, MaxMemory: 2 << 20, MaxPayload: 1 << 10, SyncAlways: true})
	js := conn(t, srv)
	if got := js.Conn().ConnectedServerName(); got != "one" {
		t.Errorf("name %q, want one", got)
	}
	if got := js.Conn().MaxPayload(); got != 1<<10 {
		t.Errorf("max payload %d, want 1024", got)
	}
	info, err := js.AccountInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if info.Domain != "edge" {
		t.Errorf("domain %q, want edge", info.Domain)
	}
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, MaxBytes: 2 << 20})
	if err == nil {
		t.Error("a stream of 2 MiB fits into a store of 1 MiB")
	}
}

func TestStartReportsWhatIsWrong(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	tests := []struct {
		name string
		c    embedded.Config
		want []string
	}{
		{"every address", embedded.Config{Listen: ":4222"}, []string{"Config.Listen must be a loopback address"}},
		{"a public address", embedded.Config{Listen: "192.0.2.1:4222"}, []string{"Config.Listen must be a loopback address"}},
		{"a name", embedded.Config{Listen: "example.com:4222"}, []string{"Config.Listen must be a loopback address"}},
		{"no port", embedded.Config{Listen: "127.0.0.1"}, []string{"Config.Listen", "missing port"}},
		{"a port out of range", embedded.Config{Listen: "127.0.0.1:65536"}, []string{`port "65536" is not in 0..65535`}},
		{
			"several things",
			embedded.Config{MaxStore: -1, MaxMemory: -2, MaxPayload: 64<<20 + 1},
			[]string{"Config.MaxStore must be", "Config.MaxMemory must be", "Config.MaxPayload must be in 0..67108864, got 67108865"},
		},
		{"a port in use", embedded.Config{Listen: busy.Addr().String()}, []string{"address already in use"}},
		{"a folder that is a file", embedded.Config{Dir: file}, []string{"embedded: ", "not a directory"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			srv, err := embedded.Start(tt.c)
			if err == nil {
				_ = srv.Close()
				t.Fatal("started")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}
