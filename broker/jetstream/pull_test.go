package jetstream

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
)

func TestWant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                                    string
		demand, ready, room, credit, batch, num int
		want                                    int
	}{
		{name: "everything", demand: 10, room: 100, want: 10},
		{name: "as much as there is room for", demand: 10, room: 3, want: 3},
		{name: "no room", demand: 10, room: 0},
		{name: "what waits counts", demand: 10, ready: 4, room: 100, want: 6},
		{name: "enough waits", demand: 10, ready: 12, room: 100},
		{name: "what is under way counts", demand: 10, credit: 4, room: 100, want: 6},
		{name: "not before half of it is used", demand: 10, credit: 6, room: 100},
		{name: "half of it is used", demand: 10, credit: 5, room: 100, want: 5},
		{name: "one", demand: 1, room: 1, want: 1},
		{name: "one under way", demand: 1, room: 100, credit: 1},
		{name: "a limit of the consumer", demand: 100, room: 100, batch: 30, want: 30},
		{name: "room is what is neither used nor promised", demand: 100, room: 10, credit: 5, want: 5},
		{name: "too many requests", demand: 100, room: 100, credit: 20, num: mostRequests},
		{name: "too many requests, all through", demand: 100, room: 100, num: mostRequests, want: 100},
	} {
		p := pulls{credit: c.credit, maxBatch: c.batch, most: mostRequests, standing: c.num}
		if got := p.want(c.demand, c.ready, c.room); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestRequestsBackOff(t *testing.T) {
	t.Parallel()
	p := pulls{credit: 5, standing: 1}
	for i, want := range []int64{50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000, 5000, 5000} {
		p.fail(1000)
		if got := time.Duration(p.retryAt - 1000); got.Milliseconds() != want {
			t.Errorf("wait %d is %v, want %d ms", i, got, want)
		}
	}
	if p.got(); p.retryAt != 0 || p.failures != 0 || p.credit != 0 {
		t.Errorf("a message ends it, but %+v", p)
	}
	if p.again(7); p.retryAt != 0 || !p.stale {
		t.Errorf("the first loss of requests waits: %+v", p)
	}
	if p.again(7); p.retryAt <= 7 {
		t.Errorf("the second loss of requests in a row does not wait: %+v", p)
	}
}

func TestRequestsThatFallSilentAreGone(t *testing.T) {
	t.Parallel()
	fresh := func() pulls {
		return pulls{credit: 5, standing: 1, heartbeat: time.Second, heard: 0, ends: int64(4 * time.Second)}
	}
	const noticed = 2*time.Second + 1
	for _, at := range []time.Duration{0, time.Second, 2 * time.Second, noticed, noticed + 499*time.Millisecond, noticed + 500*time.Millisecond} {
		p := fresh()
		p.check(int64(min(at, noticed)))
		p.check(int64(at))
		if gone := at == noticed+500*time.Millisecond; p.stale != gone || (p.credit == 0) != gone {
			t.Errorf("at %v: %+v, want it gone: %v", at, p, gone)
		}
	}
	p := fresh()
	p.ends = int64(2 * time.Hour)
	p.check(int64(time.Hour)) // the process stood still: what has come meanwhile has not been read yet
	p.heard = int64(time.Hour) + 1
	p.check(int64(time.Hour + 500*time.Millisecond))
	if p.stale || p.credit != 5 || p.silent != 0 {
		t.Errorf("after a heartbeat that came late: %+v", p)
	}
	p = fresh()
	p.heard = int64(5*time.Second + 1) // by heartbeats of another request
	if p.check(p.heard); p.credit != 0 || p.stale {
		t.Errorf("behind the end of the last one: %+v", p)
	}
}

// The server never counts more unsettled messages than MaxAckPending, and never has many requests standing.
func TestTheCreditIsExact(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 3000)
	c := quick()
	c.MaxAckPending, c.PullExpiry = 20, highestPullExpiry
	f := l.open(c)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		defer cancel()
		var held []broker.Delivery
		for n := 0; n < 3000; {
			demand := []int{1, 7, 64}[n%3]
			ds := fetch(t, f, demand)
			if len(ds) > demand {
				t.Errorf("%d deliveries for a demand of %d", len(ds), demand)
			}
			n += len(ds)
			if held = append(held, ds...); len(held) > 15 || n == 3000 {
				settleAll(f, held, doneOutcome)
				held = held[:0]
			}
		}
	})
	samples := 0
	for ; ctx.Err() == nil; samples++ {
		info := l.info()
		if info.NumAckPending > 20 || info.NumWaiting > 8 {
			t.Fatalf("%d unsettled, %d requests, want at most 20 and 8", info.NumAckPending, info.NumWaiting)
		}
	}
	wg.Wait()
	if samples < 10 {
		t.Errorf("only %d samples", samples)
	}
}

// A demand of 1 has one message delivered, and no more.
func TestADemandOfOne(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 50)
	c := quick()
	c.PullExpiry = highestPullExpiry // no heartbeat is missed, however busy the machine
	f := l.open(c)
	for i := 1; i <= 50; i++ {
		ds := fetch(t, f, 1)
		wantNumbers(t, ds, i, i)
		if info := l.info(); info.Delivered.Consumer != uint64(i) || info.NumWaiting != 0 {
			t.Fatalf("the server has delivered %d messages and has %d requests, want %d and none", info.Delivered.Consumer, info.NumWaiting, i)
		}
		settleAll(f, ds, doneOutcome)
	}
}

func TestNothingIsAskedForWithoutDemand(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 50)
	f := l.open(quick())
	if n, err := f.Fetch(t.Context(), nil); n != 0 || err != nil {
		t.Fatalf("Fetch(nil) = %d, %v", n, err)
	}
	if got := f.Stats().Pulls; got != 0 {
		t.Fatalf("%d requests, want none", got)
	}
}

// The limits that a consumer has on requests are kept.
func TestALimitOnRequestsIsKept(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 100)
	if _, err := l.js.CreateConsumer(t.Context(), "S", jetstream.ConsumerConfig{
		Durable: "d", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 100,
		MaxRequestBatch: 5, MaxRequestExpires: 500 * time.Millisecond, MaxWaiting: 1,
	}); err != nil {
		t.Fatal(err)
	}
	c := quick()
	c.AckWait = 0
	f := l.open(c)
	wantNumbers(t, fetchAll(t, f, 100, 50), 1, 100)
}

// A limit on requests that comes later is noticed.
func TestALimitOnRequestsThatIsChangedIsKept(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 100)
	f := l.open(quick())
	first := fetchAll(t, f, 10, 10)
	cfg := l.info().Config
	cfg.MaxRequestBatch = 5
	if _, err := l.js.UpdateConsumer(t.Context(), "S", cfg); err != nil {
		t.Fatal(err)
	}
	wantNumbers(t, append(first, fetchAll(t, f, 90, 50)...), 1, 100)
}

// A Fetch that gives up loses nothing: what was asked for comes with the next one.
func TestACancelledFetchLosesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	f := l.open(quick())
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if n, err := f.Fetch(ctx, make([]broker.Delivery, 10)); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("Fetch() = %d, %v, want 0, %v", n, err, context.Canceled)
		}
	})
	until(t, "a request stands", func() bool { return l.info().NumWaiting == 1 })
	cancel()
	wg.Wait()
	l.fill(1, 10)
	wantNumbers(t, fetchAll(t, f, 10, 3), 1, 10)
}

// Whoever has a plain connection gets along: reconnect buffers and limits on reconnects are advice.
func TestAnyConnectionWillDo(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 3)
	nc, err := nats.Connect(l.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	f := l.openOn(nc, quick())
	settleAll(f, fetchAll(t, f, 3, 3), doneOutcome)
	mustClose(t, f)
	if len(f.bound.warnings) == 0 {
		t.Error("no warning about the connection")
	}
}
