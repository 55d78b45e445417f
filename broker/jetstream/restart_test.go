package jetstream

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/internal/natstest"
	"github.com/weir-go/weir/stage"
)

// tally counts the deliveries of each message.
type tally map[uint64]int

func (s tally) add(ds []broker.Delivery) {
	for _, d := range ds {
		s[d.Sequence]++
	}
}

func (s tally) repeated() (n int) {
	for _, times := range s {
		n += times - 1
	}
	return n
}

// readThrough reads and acknowledges until n messages have been seen, and calls at when so many have.
func readThrough(t *testing.T, f *Fetcher, n int, at map[int]func()) tally {
	t.Helper()
	seen := tally{}
	for len(seen) < n {
		ds := fetch(t, f, 20)
		seen.add(ds)
		for when, what := range at {
			if len(seen) >= when {
				what()
				delete(at, when)
			}
		}
		settleAll(f, ds, doneOutcome)
	}
	return seen
}

// A server that stops in good order, or is killed, and comes back: nothing is lost, and no more is repeated than was in flight.
func TestAServerThatComesBack(t *testing.T) {
	t.Parallel()
	for _, mode := range []AckMode{Plain, Confirmed} {
		t.Run("stopped "+mode.String(), func(t *testing.T) {
			l := newLab(t)
			l.stream(onDisk)
			l.fill(1, 1000)
			c := quick()
			c.Ack = mode
			f := l.open(c)
			seen := readThrough(t, f, 1000, map[int]func(){300: func() {
				l.stop()
				time.Sleep(100 * time.Millisecond)
				l.start()
			}})
			if got := seen.repeated(); got > c.MaxAckPending {
				t.Errorf("%d repeated, want at most %d", got, c.MaxAckPending)
			}
			if got := f.Stats().Reconnects; got != 1 {
				t.Errorf("%d reconnects, want 1", got)
			}
			drainRest(t, f, l)
		})
	}
	t.Run("killed", func(t *testing.T) {
		p := natstest.Child(t, t.TempDir(), natstest.Ports(t, 1)[0])
		l := labAt(t, p.URL())
		l.stream(onDisk)
		l.fill(1, 1000)
		f := l.open(quick())
		kill := func() {
			p.Kill()
			p.Start()
		}
		seen := readThrough(t, f, 1000, map[int]func(){300: kill, 600: kill})
		if got := seen.repeated(); got > 2*quick().MaxAckPending {
			t.Errorf("%d repeated, want at most %d", got, 2*quick().MaxAckPending)
		}
		drainRest(t, f, l)
	})
}

// drainRest acknowledges what comes a second time, until nothing is left.
func drainRest(t *testing.T, f *Fetcher, l *lab) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		dst := make([]broker.Delivery, 20)
		for ctx.Err() == nil {
			n, _ := f.Fetch(ctx, dst)
			settleAll(f, dst[:n], doneOutcome)
		}
	}()
	l.wantNothingLeft()
	cancel()
	<-done
	mustClose(t, f)
}

// What is settled while the server is down is kept, and told when it is back.
func TestAnswersWaitForTheConnection(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream(onDisk)
	l.fill(1, 3)
	c := quick()
	c.AckWait = time.Minute
	f := l.open(c)
	ds := fetchAll(t, f, 3, 3)
	l.stop()
	until(t, "the client has noticed", func() bool { return !f.nc.IsConnected() })
	f.Settle(ds[0].Token, doneOutcome)
	f.Settle(ds[1].Token, stage.Outcome{Kind: stage.Failed})
	f.Settle(ds[2].Token, stage.Outcome{Kind: stage.Terminated})
	if s := f.Stats(); s.Unsent != 3 || s.Acked != 0 {
		t.Errorf("%+v, want three answers to wait", s)
	}
	l.start()
	again := fetchAll(t, f, 1, 3)
	if again[0].Sequence != 2 || again[0].Attempt != 2 {
		t.Errorf("%+v comes again, want the second", again[0])
	}
	settleAll(f, again, doneOutcome)
	mustClose(t, f)
	l.wantNothingLeft()
	if s := f.Stats(); s.Acked != 2 || s.Naked != 1 || s.Ended != 1 || s.Unsent != 0 {
		t.Errorf("%+v", s)
	}
}

// Changes of leader, and a server of the cluster that goes away and comes back.
func TestAClusterInTrouble(t *testing.T) {
	t.Parallel()
	nodes := natstest.Cluster(t, 3)
	l := labAt(t, nodes.URL())
	l.stream(onDisk, func(c *jetstream.StreamConfig) { c.Replicas = 3 })
	l.fill(1, 1500)
	c := quick()
	c.Ack = Confirmed
	f := l.open(c)
	stopped := 0
	seen := readThrough(t, f, 1500, map[int]func(){
		300: func() { nodes.StepDownConsumer("S", "d") },
		600: func() { nodes.StepDownStream("S") },
		900: func() { stopped = nodes.ConsumerLeader("S", "d"); nodes.Stop(stopped) },
		1200: func() {
			nodes.Restart(stopped)
			nodes.AwaitReady()
		},
	})
	if got := seen.repeated(); got > 3*c.MaxAckPending {
		t.Errorf("%d repeated", got)
	}
	drainRest(t, f, l)
}
