package jetstream

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
)

// T60: while an edge is full nothing is asked of the server, and what has been fetched is kept alive.
func TestT60AFullEdgeStopsTheAsking(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 100)
	c := quick()
	c.AckWait, c.PullExpiry = 6*time.Second, lowestPullExpiry
	src := NewSource(l.nc, broker.Bytes(), c)
	blocked := make(chan struct{})
	run, err := flow.FromItems(src).Buffer(10, flow.Block).ForEach(func(context.Context, []byte) error {
		<-blocked
		return nil
	}).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the edge is full", func() bool { return l.info().Delivered.Consumer >= 10 })
	until(t, "what stood has expired", func() bool { return l.info().NumWaiting == 0 })
	before := l.info()
	if before.NumWaiting != 0 || before.Delivered.Consumer > 30 || before.NumRedelivered != 0 {
		t.Errorf("%d requests, %d delivered, %d again; want none, a few, none", before.NumWaiting, before.Delivered.Consumer, before.NumRedelivered)
	}
	pulls := src.Stats().Pulls
	time.Sleep(500 * time.Millisecond)
	if after := l.info(); after.Delivered != before.Delivered && after.Delivered.Consumer != before.Delivered.Consumer || src.Stats().Pulls != pulls {
		t.Errorf("%d delivered and %d requests while nothing moved, %d and %d before",
			after.Delivered.Consumer, src.Stats().Pulls, before.Delivered.Consumer, pulls)
	}
	close(blocked)
	until(t, "all is done", func() bool { return src.Stats().Done == 100 })
	if err := run.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.wantNothingLeft()
}

// T21, T22, T23: a drain lets finish what is at work, acknowledges it, and leaves the rest to others at once.
func TestT21DrainFinishesAndGivesBack(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	l.fill(1, 200)
	c := quick()
	c.AckWait = time.Minute
	src := NewSource(l.nc, broker.Bytes(), c)
	var finished atomic.Int64
	run, err := flow.FromItems(src).Buffer(50, flow.Block).ForEach(func(ctx context.Context, _ []byte) error {
		time.Sleep(20 * time.Millisecond)
		finished.Add(1)
		return ctx.Err() // it is still good for an acknowledgement
	}).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	until(t, "some are through", func() bool { return finished.Load() > 5 })
	if err := run.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	done := int(finished.Load())
	if st := src.Stats(); st.Acked != uint64(done) || st.Unproven != 0 {
		t.Errorf("%d finished: %+v", done, st)
	}
	began := time.Now()
	f := l.open(c)
	for n := done; n < 200; {
		rest := fetch(t, f, 50)
		settleAll(f, rest, doneOutcome)
		n += len(rest)
	}
	if took := time.Since(began); took > 50*time.Second { // AckWait is a minute
		t.Errorf("the rest took %v", took)
	}
	mustClose(t, f)
	l.wantNothingLeft()
}
