package jetstream

import (
	"context"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
)

// F7: a server that is down when a run is started holds it up. Nothing is ready before, and nothing is lost.
func TestARunWaitsForItsServer(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream(onDisk)
	l.fill(1, 100)
	l.stop()
	nc := l.connect()
	src := NewSource(nc, broker.JSON[int](), quick())
	var done atomic.Int64
	started := make(chan *flow.Run, 1)
	go func() {
		run, err := flow.FromItems(src).ForEach(func(context.Context, int) error { done.Add(1); return nil }).Start(t.Context())
		if err != nil {
			t.Error(err)
		}
		started <- run
	}()
	select {
	case <-started:
		t.Fatal("a run has started without a server")
	case <-time.After(200 * time.Millisecond):
	}
	if src.Ready(t.Context()) == nil {
		t.Error("ready without a server")
	}
	l.start()
	run := <-started
	if run == nil {
		return
	}
	if err := src.Ready(t.Context()); err != nil {
		t.Errorf("not ready with a server: %v", err)
	}
	until(t, "all are done", func() bool { return done.Load() == 100 })
	if err := run.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	l.wantNothingLeft()
}

// F7: a server that goes away in the middle is waited for. Meanwhile nothing is ready, nothing fails, and next to nothing is done.
// It runs alone, because it looks at what the whole process does.
func TestAServerThatIsAwayCostsNothing(t *testing.T) {
	const total = 2000
	l := newLab(t)
	l.stream(onDisk)
	in := StreamConfig{Name: "IN", Subjects: []string{"in"}, MaxMessages: 5000}
	if err := EnsureStream(t.Context(), l.nc, in); err != nil {
		t.Fatal(err)
	}
	nc, err := Connect(l.url) // with the pauses that it has in earnest
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	src := NewSource(nc, broker.JSON[int](), SourceConfig{Stream: "IN", Durable: "d", MaxAckPending: 50, AckWait: time.Second})
	sink := NewSink(nc, broker.JSON[int](), SinkConfig[int]{Stream: "S", To: "s.x"})
	run, err := flow.Join(
		flow.FromSlice(numbers(total)).To(NewSink(nc, broker.JSON[int](), SinkConfig[int]{Stream: "IN", To: "in", PushSize: 50})),
		flow.FromItems(src).To(sink),
	).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	until(t, "some are through", func() bool { return sink.Stats().Stored > total/10 })
	l.stop()
	until(t, "it is noticed", func() bool { return !nc.IsConnected() })
	share := 1.0
	for n := 0; n < 10 && share > 0.1; n++ { // what ran before may still be tidying up
		before, began := busy(), time.Now()
		time.Sleep(time.Second)
		share = min(share, (busy()-before)/time.Since(began).Seconds())
	}
	t.Logf("busy for %.2f %% of the time", 100*share)
	if share > 0.1 { // required are 2 %; the race detector and a busy machine cost something
		t.Errorf("busy for %.0f %% of the time while the server is away", 100*share)
	}
	if src.Ready(t.Context()) == nil || sink.Ready(t.Context()) == nil {
		t.Error("ready without a server")
	}
	l.start()
	until(t, "all are through", func() bool {
		return sink.Stats().Stored >= total && src.Stats().InFlight == 0 && src.Stats().Unproven == 0
	})
	if err := run.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	distinct := map[string]bool{}
	got := bodies(t, l.js)
	for _, b := range got {
		distinct[b] = true
	}
	if len(distinct) != total || len(got) > total+50 {
		t.Errorf("%d stored, %d distinct, want %d and at most 50 more", len(got), len(distinct), total)
	}
}

// busy is how many seconds of processor time have gone into user code.
func busy() float64 {
	runtime.GC() // or the number is that of the last one
	s := []metrics.Sample{{Name: "/cpu/classes/user:cpu-seconds"}}
	metrics.Read(s)
	return s[0].Value.Float64()
}

// atWork starts a run in which n messages are at work at the same time, and returns when they are.
func atWork(t *testing.T, src *Source[int], n int) (run *flow.Run, finish func()) {
	t.Helper()
	began, end := make(chan struct{}, n), make(chan struct{})
	run, err := flow.FromItems(src).ForEach(func(context.Context, int) error {
		began <- struct{}{}
		<-end
		return nil
	}, flow.Workers(n)).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		<-began
	}
	return run, sync.OnceFunc(func() { close(end) })
}

// F8: an acknowledgement counts when the server has it. While the server is down, or a connection is broken without anybody having
// noticed, none does; and they are sent again.
func TestAcknowledgementsWithoutAServerDoNotCount(t *testing.T) {
	t.Parallel()
	for _, mode := range []AckMode{Plain, Confirmed} {
		config := func() SourceConfig {
			c := quick()
			c.AckWait, c.Ack = time.Minute, mode
			return c
		}
		t.Run(mode.String()+", the server is down", func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.stream(onDisk)
			l.fill(1, 10)
			src := NewSource(l.nc, broker.JSON[int](), config())
			run, finish := atWork(t, src, 10)
			defer finish()
			l.stop()
			until(t, "it is noticed", func() bool { return !l.nc.IsConnected() })
			finish()
			until(t, "all are done", func() bool { return src.Stats().Done == 10 })
			if st := src.Stats(); st.Acked != 0 || st.Unsent != 10 {
				t.Errorf("%d acknowledged and %d unsent without a server", st.Acked, st.Unsent)
			}
			l.start()
			wantAcknowledged(t, l, src, run)
		})
		t.Run(mode.String()+", the connection is dead", func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.stream()
			l.fill(1, 10)
			wire := newCable(t, l.url)
			src := NewSource(labAt(t, wire.url).nc, broker.JSON[int](), config())
			run, finish := atWork(t, src, 10)
			defer finish()
			wire.freeze(true)
			finish()
			until(t, "all are sent", func() bool { st := src.Stats(); return st.Done == 10 && st.Unsent == 0 })
			if st := src.Stats(); st.Acked != 0 || l.state().Msgs != 10 {
				t.Errorf("%d acknowledged, %d in the stream: nothing has arrived", st.Acked, l.state().Msgs)
			}
			wire.freeze(false)
			wire.cut()
			wantAcknowledged(t, l, src, run)
		})
	}
}

// wantAcknowledged waits until all ten are, none of them delivered a second time.
func wantAcknowledged(t *testing.T, l *lab, src *Source[int], run *flow.Run) {
	t.Helper()
	until(t, "all are acknowledged", func() bool { return src.Stats().Acked == 10 })
	l.wantNothingLeft()
	if info := l.info(); info.Delivered.Consumer != 10 || l.state().Msgs != 0 {
		t.Errorf("%d deliveries of 10 messages, %d left", info.Delivered.Consumer, l.state().Msgs)
	}
	if err := run.Drain(t.Context()); err != nil {
		t.Error(err)
	}
}
