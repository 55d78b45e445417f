package natstest_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/weir-go/weir/internal/natstest"
)

func TestMain(m *testing.M) {
	natstest.ServeIfChild()
	goleak.VerifyTestMain(m)
}

// dial connects, and fails whatever is not done within two minutes.
func dial(t *testing.T, url string) (context.Context, jetstream.JetStream) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, js
}

func publish(ctx context.Context, t *testing.T, js jetstream.JetStream, n int) {
	t.Helper()
	for range n {
		answered(ctx, t, func(ctx context.Context) error {
			_, err := js.Publish(ctx, "s", []byte("x"))
			return err
		})
	}
}

// answered asks until it is answered: while a leader changes, and when a server is killed, there may be no answer.
func answered(ctx context.Context, t *testing.T, ask func(context.Context) error) {
	t.Helper()
	for {
		once, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := ask(once)
		cancel()
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
}

func create(ctx context.Context, t *testing.T, js jetstream.JetStream, c jetstream.StreamConfig) {
	t.Helper()
	answered(ctx, t, func(ctx context.Context) error {
		_, err := js.CreateStream(ctx, c)
		return err
	})
}

func messages(ctx context.Context, t *testing.T, js jetstream.JetStream) uint64 {
	t.Helper()
	var stream jetstream.Stream
	answered(ctx, t, func(ctx context.Context) (err error) {
		stream, err = js.Stream(ctx, "S")
		return err
	})
	return stream.CachedInfo().State.Msgs
}

func TestAChildKeepsItsStreams(t *testing.T) {
	p := natstest.Child(t, t.TempDir(), 0)
	ctx, js := dial(t, p.URL())
	create(ctx, t, js, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, MaxMsgs: 100})
	publish(ctx, t, js, 3)
	p.Kill()
	p.Start()
	publish(ctx, t, js, 2)
	p.Stop()
	p.Start()
	publish(ctx, t, js, 1)
	if got := messages(ctx, t, js); got < 6 {
		t.Errorf("the stream has %d messages, want at least 6", got)
	}
}

func TestAClusterGoesOnWithoutItsLeader(t *testing.T) {
	c := natstest.Cluster(t, 3)
	ctx, js := dial(t, c.URL())
	create(ctx, t, js, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, MaxMsgs: 1000, Replicas: 3})
	answered(ctx, t, func(ctx context.Context) error {
		_, err := js.CreateConsumer(ctx, "S", jetstream.ConsumerConfig{Durable: "C"})
		return err
	})
	publish(ctx, t, js, 10)
	c.StepDownStream("S")
	c.StepDownConsumer("S", "C")
	publish(ctx, t, js, 10)
	c.ConsumerLeader("S", "C")

	down := c.StreamLeader("S")
	c.Stop(down)
	publish(ctx, t, js, 10)
	if now := c.StreamLeader("S"); now == down {
		t.Errorf("node %d is stopped and leads", down)
	}
	c.Restart(down)
	c.AwaitReady()
	publish(ctx, t, js, 10)
	if got := messages(ctx, t, js); got < 40 {
		t.Errorf("the stream has %d messages, want at least 40", got)
	}
}
