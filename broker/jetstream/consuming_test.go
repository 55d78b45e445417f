package jetstream

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/jetstream/embedded"
	"github.com/weir-go/weir/stage"
)

// lab is a server with a stream for one test.
type lab struct {
	t   *testing.T
	cfg embedded.Config
	srv *embedded.Server
	url string
	nc  *nats.Conn
	js  jetstream.JetStream
}

// newLab starts a server that listens, so that it can be stopped and started again at the same address.
func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, cfg: embedded.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0"}}
	l.start()
	l.use()
	return l
}

// labAt uses a server that is there.
func labAt(t *testing.T, url string) *lab {
	t.Helper()
	l := &lab{t: t, url: url}
	l.use()
	return l
}

func (l *lab) use() {
	l.t.Helper()
	l.nc = l.connect()
	js, err := jetstream.New(l.nc, jetstream.WithDefaultTimeout(time.Minute)) // 5 s is little where all tests run at once
	if err != nil {
		l.t.Fatal(err)
	}
	l.js = js
}

func (l *lab) start() {
	l.t.Helper()
	srv, err := embedded.Start(l.cfg)
	if err != nil {
		l.t.Fatal(err)
	}
	l.srv, l.url = srv, srv.URL()
	l.cfg.Listen = strings.TrimPrefix(srv.URL(), "nats://")
	l.t.Cleanup(func() { _ = srv.Close() })
}

func (l *lab) stop() {
	l.t.Helper()
	if err := l.srv.Close(); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) connect(opts ...nats.Option) *nats.Conn {
	l.t.Helper()
	nc, err := Connect(l.url, append([]nats.Option{nats.ReconnectWait(20 * time.Millisecond), nats.ReconnectJitter(0, 0)}, opts...)...)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(nc.Close)
	return nc
}

// stream makes the stream S of a work queue; change may make it another one.
func (l *lab) stream(change ...func(*jetstream.StreamConfig)) {
	l.t.Helper()
	cfg := jetstream.StreamConfig{
		Name: "S", Subjects: []string{"s.>"}, Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew,
		MaxMsgs: 100_000, Storage: jetstream.MemoryStorage,
	}
	for _, c := range change {
		c(&cfg)
	}
	l.answered(func(ctx context.Context) error {
		_, err := l.js.CreateStream(ctx, cfg)
		return err
	})
}

// answered asks the API of the server until there is an answer, and fails the test where none comes within a minute.
func (l *lab) answered(ask func(context.Context) error) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := persist(ctx, l.t.Name(), ask); err != nil {
		l.t.Fatal(err)
	}
}

func limits(c *jetstream.StreamConfig)  { c.Retention = jetstream.LimitsPolicy }
func onDisk(c *jetstream.StreamConfig)  { c.Storage = jetstream.FileStorage }
func dropOld(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld }

// fill stores messages whose payloads are the numbers from first to last.
func (l *lab) fill(first, last int) {
	l.t.Helper()
	var on []jetstream.PubAckFuture
	for i := first; i <= last; i++ {
		f, err := l.js.PublishAsync("s.x", fmt.Appendf(nil, "%d", i))
		if err != nil {
			l.t.Fatal(err)
		}
		if on = append(on, f); len(on) == 1000 || i == last {
			l.stored(on)
			on = on[:0]
		}
	}
}

// stored waits until messages are stored. Nothing disturbs the server meanwhile.
func (l *lab) stored(on []jetstream.PubAckFuture) {
	l.t.Helper()
	over := time.After(patience)
	for _, f := range on {
		select {
		case <-f.Ok():
		case err := <-f.Err():
			l.t.Fatal(err)
		case <-over:
			l.t.Fatalf("no answer about %s", f.Msg().Data)
		}
	}
}

// quick is a config with short times.
func quick() SourceConfig {
	return SourceConfig{Stream: "S", Durable: "d", MaxAckPending: 100, AckWait: 2 * time.Second, PullExpiry: time.Second}
}

// open returns an open fetcher, which the end of the test closes.
func (l *lab) open(c SourceConfig) *Fetcher {
	l.t.Helper()
	return l.openOn(l.nc, c)
}

func (l *lab) openOn(nc *nats.Conn, c SourceConfig) *Fetcher {
	l.t.Helper()
	f := NewFetcher(nc, c)
	if err := f.Open(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = f.Close() })
	return f
}

func (l *lab) info() *jetstream.ConsumerInfo {
	l.t.Helper()
	var c jetstream.Consumer
	l.answered(func(ctx context.Context) (err error) {
		c, err = l.js.Consumer(ctx, "S", "d")
		return err
	})
	return c.CachedInfo()
}

// wantNothingLeft waits until the server has taken in that everything is acknowledged.
func (l *lab) wantNothingLeft() {
	l.t.Helper()
	until(l.t, "nothing is left", func() bool {
		info := l.info()
		return info.NumAckPending == 0 && info.NumPending == 0
	})
}

// patience is for what is going to be, on a machine that has little time for it.
const patience = time.Minute

// until waits for something that is going to be.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}

// fetch fetches up to n deliveries in one call.
func fetch(t *testing.T, f *Fetcher, n int) []broker.Delivery {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	dst := make([]broker.Delivery, n)
	k, err := f.Fetch(ctx, dst)
	if err != nil {
		t.Fatalf("Fetch() = %d, %v", k, err)
	}
	return dst[:k]
}

// fetchAll fetches n deliveries, demanding at most so many at once.
func fetchAll(t *testing.T, f *Fetcher, n, atOnce int) (all []broker.Delivery) {
	t.Helper()
	for len(all) < n {
		all = append(all, fetch(t, f, min(atOnce, n-len(all)))...)
	}
	return all
}

// nothing fails the test if something comes within d.
func nothing(t *testing.T, f *Fetcher, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if n, err := f.Fetch(ctx, make([]broker.Delivery, 1)); n != 0 || err == nil || ctx.Err() == nil {
		t.Fatalf("Fetch() = %d, %v, want nothing within %v", n, err, d)
	}
}

func settleAll(f *Fetcher, ds []broker.Delivery, o stage.Outcome) {
	for _, d := range ds {
		f.Settle(d.Token, o)
	}
}

// wantNumbers checks payloads: the numbers from first on, in order.
func wantNumbers(t *testing.T, ds []broker.Delivery, first, last int) {
	t.Helper()
	if len(ds) != last-first+1 {
		t.Fatalf("%d deliveries, want %d", len(ds), last-first+1)
	}
	for i, d := range ds {
		if got, want := string(d.Data), strconv.Itoa(first+i); got != want {
			t.Fatalf("delivery %d holds %q, want %q", i, got, want)
		}
	}
}

func mustClose(t *testing.T, f *Fetcher) {
	t.Helper()
	if err := f.Close(); err != nil {
		t.Fatalf("Close() = %v", err)
	}
}

var (
	doneOutcome = stage.Outcome{}
	backOutcome = stage.Outcome{Kind: stage.Failed, GivenBack: true}
)
