package jetstream

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// countedSource is a source of the numbers from 1 to total that counts what is read.
func countedSource(total int, reads *atomic.Int64) flow.Flow[int] {
	return flow.FromFunc(func(context.Context) (int, error) {
		if n := int(reads.Add(1)); n <= total {
			return n, nil
		}
		return 0, stage.ErrEnd
	})
}

// gate is a sink that stands still until it is opened, and keeps what it gets.
type gate struct {
	open chan struct{}
	mu   sync.Mutex
	got  []int
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) put(ctx context.Context, n int) error {
	select {
	case <-g.open:
	case <-ctx.Done():
		return ctx.Err()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.got = append(g.got, n)
	return nil
}

// standsStill waits until a number has not changed for a while, and returns it.
func standsStill(t *testing.T, n *atomic.Int64) int64 {
	t.Helper()
	last, since := int64(-1), time.Now()
	until(t, "it stands still", func() bool {
		if now := n.Load(); now != last {
			last, since = now, time.Now()
		}
		return last > 0 && time.Since(since) > 400*time.Millisecond
	})
	return last
}

func wantInts(t *testing.T, got, want []int) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	t.Errorf("%d values, want %d; from the %d. on they are %v", len(got), len(want), at, got[at:min(len(got), at+10)])
}

const (
	edgeDepth = 100
	edgeItems = 10_000
)

// While the sink stands still no more is read than what fits into the stream and the pipeline. Then everything arrives, in order.
func TestAFullEdgeHoldsTheSourceBack(t *testing.T) {
	t.Parallel()
	for name, build := range map[string]func(*lab, flow.Flow[int], *gate) flow.Pipeline{
		"a durable edge": func(l *lab, f flow.Flow[int], g *gate) flow.Pipeline {
			edge := Durable(l.nc, broker.JSON[int](), DurableConfig{
				Stream: "S", Subject: "s.x", Durable: "d", Capacity: edgeDepth, MaxAckPending: 20, AckWait: time.Minute, Ordered: true,
			})
			return f.Apply(edge).ForEach(g.put)
		},
		"a sink and a source": func(l *lab, f flow.Flow[int], g *gate) flow.Pipeline {
			if err := EnsureStream(l.t.Context(), l.nc, StreamConfig{Name: "S", Subjects: []string{"s.>"}, MaxMessages: edgeDepth}); err != nil {
				l.t.Fatal(err)
			}
			sink := NewSink(l.nc, broker.JSON[int](), SinkConfig[int]{Stream: "S", To: "s.x", PushSize: 16, Ordered: true})
			c := quick()
			c.MaxAckPending, c.AckWait = 20, time.Minute
			src := NewSource(l.nc, broker.JSON[int](), c)
			return flow.Join(f.To(sink), flow.FromItems(src).ForEach(func(ctx context.Context, n int) error {
				if n == edgeItems {
					src.fetcher.EndWhenEmpty() // nobody else says so
				}
				return g.put(ctx, n)
			}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			var reads atomic.Int64
			g := newGate()
			p := build(l, countedSource(edgeItems, &reads), g)
			run, err := p.Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			until(t, "the stream is full", func() bool { return l.state().Msgs == edgeDepth })
			read, most := standsStill(t, &reads), int64(edgeDepth+p.Graph().Bound)
			t.Logf("%d read with the sink standing still, at most %d may be", read, most)
			if read > most || most > edgeItems/2 {
				t.Errorf("%d read, the stream and the graph hold %d", read, most)
			}
			close(g.open)
			if err := run.Wait(); err != nil {
				t.Fatal(err)
			}
			wantInts(t, g.got, numbers(edgeItems))
			if got := l.state().Msgs; got != 0 {
				t.Errorf("%d messages are left", got)
			}
		})
	}
}

// shut has a pipeline stand still behind stream S while all items are offered to it, and lets it go on then. The sink has ended when
// shut returns, the source as well.
func shut(t *testing.T, l *lab, onFull flow.Policy, work func(context.Context, int) error, open func()) (SinkStats, SourceStats) {
	t.Helper()
	c := quick()
	c.MaxAckPending, c.AckWait, c.PullExpiry = 20, time.Minute, 20*time.Second
	src := NewSource(l.nc, broker.JSON[int](), c)
	down, err := flow.FromItems(src).ForEach(work, flow.OnError(flow.Redeliver)).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sink := NewSink(l.nc, broker.JSON[int](), SinkConfig[int]{Stream: "S", To: "s.x", OnFull: onFull})
	var reads atomic.Int64
	if err := countedSource(edgeItems, &reads).To(sink).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := l.state().Msgs; got != edgeDepth {
		t.Errorf("%d messages in the stream, want %d", got, edgeDepth)
	}
	open()
	src.fetcher.EndWhenEmpty()
	if err := down.Wait(); err != nil {
		t.Fatal(err)
	}
	return sink.Stats(), src.Stats()
}

// F10: what does not fit is let go, and counted.
func TestAFullEdgeDropsTheNewest(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream(depth(edgeDepth))
	g := newGate()
	in, out := shut(t, l, flow.DropNewest, g.put, func() { close(g.open) })
	wantInts(t, g.got, numbers(edgeDepth))
	if in.Stored != edgeDepth || in.Stored+in.Dropped != edgeItems || out.Lost != 0 {
		t.Errorf("stored %d and dropped %d of %d; %d lost behind that", in.Stored, in.Dropped, edgeItems, out.Lost)
	}
}

// F10: the oldest are let go by the stream. The source counts those that nobody got.
func TestAFullEdgeDropsTheOldest(t *testing.T) {
	t.Parallel()
	for name, failing := range map[string]bool{"all is done": false, "what was at work meanwhile fails": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.stream(depth(edgeDepth), dropOld)
			g := newGate()
			failed := 0
			in, out := shut(t, l, flow.DropOldest, func(ctx context.Context, n int) error {
				<-g.open
				if failing && n <= edgeItems/2 {
					failed++
					return errors.New("bad")
				}
				return g.put(ctx, n)
			}, func() { close(g.open) })
			if in.Stored != edgeItems {
				t.Errorf("%d stored", in.Stored)
			}
			got := g.got
			slices.Sort(got)
			wantInts(t, got[max(len(got)-edgeDepth, 0):], numbers(edgeItems)[edgeItems-edgeDepth:])
			if first := len(got) - edgeDepth; !failing && (first < 1 || first > 20) || failing && failed == 0 {
				t.Errorf("%d done and %d failed of what was at work while the others came", first, failed)
			}
			if len(got)+int(out.Lost) != edgeItems {
				t.Errorf("%d done and %d lost of %d, %d unseen", len(got), out.Lost, edgeItems, out.Unseen)
			}
		})
	}
}

// What was deleted while no process was there shows as soon as one is; what was before there was a consumer does not.
func TestLostWhileNobodyIsThere(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream(depth(10), dropOld)
	l.fill(1, 30)
	f := l.open(quick())
	wantNumbers(t, fetchAll(t, f, 10, 10), 21, 30)
	if st := f.Stats(); st.Lost != 0 {
		t.Errorf("%d lost before there was a consumer", st.Lost)
	}
	l.fill(31, 32) // they push out two that are at work
	until(t, "that is known", func() bool { return f.evictedHere() == 2 })
	settleAll(f, fetchAll(t, f, 2, 2), doneOutcome)
	mustClose(t, f) // gives back the rest, of which two can't come again
	if st := f.Stats(); st.Lost != 2 {
		t.Errorf("%d lost of what was at work, want 2", st.Lost)
	}
	l.fill(33, 60)
	f = l.open(quick())
	settleAll(f, fetchAll(t, f, 10, 10), doneOutcome)
	if st := f.Stats(); st.Lost != 18 || st.Unseen != 0 {
		t.Errorf("%d lost and %d unseen, want 18 and none", st.Lost, st.Unseen)
	}
}

// evictedHere is how many deliveries are here of messages that were deleted.
func (f *Fetcher) evictedHere() (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.slots.all {
		if f.slots.all[i].evicted {
			n++
		}
	}
	return n
}

// What another process gets is not lost, and what a filter leaves out is not counted.
func TestLostBesideOthers(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream()
	a, b := l.open(quick()), l.openOn(l.connect(), quick())
	for first := 1; first <= 50; first += 10 {
		l.fill(first, first+9)
		settleAll(a, fetchAll(t, a, 5, 5), doneOutcome)
		settleAll(b, fetchAll(t, b, 5, 5), doneOutcome)
	}
	if x, y := a.Stats(), b.Stats(); x.Lost+y.Lost != 0 || x.Unseen == 0 || y.Unseen == 0 {
		t.Errorf("%d and %d lost, %d and %d unseen", x.Lost, y.Lost, x.Unseen, y.Unseen)
	}

	l = newLab(t)
	l.stream()
	c := quick()
	c.Filters = []string{"s.x"}
	f := l.open(c)
	for range 5 {
		if _, err := l.js.Publish(t.Context(), "s.other", nil); err != nil {
			t.Fatal(err)
		}
		l.fill(1, 1)
	}
	settleAll(f, fetchAll(t, f, 5, 5), doneOutcome)
	if st := f.Stats(); st.Lost != 0 {
		t.Errorf("%d lost", st.Lost)
	}
}

// A stream that may grow for ever, and one that deletes where the edge is to wait, are refused. The error names the setting.
func TestWhatIsNoEdgeIsRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.stream(depth(-1))
	source := func() error {
		return flow.FromItems(NewSource(l.nc, broker.JSON[int](), quick())).To(stage.Discard[int]()).Run(t.Context())
	}
	sink := func() error {
		return flow.FromSlice(numbers(1)).To(NewSink(l.nc, broker.JSON[int](), SinkConfig[int]{Stream: "S", To: "s.x"})).Run(t.Context())
	}
	edge := func() error {
		d := Durable(l.nc, broker.JSON[int](), DurableConfig{Stream: "S", Subject: "s.x", Capacity: 10})
		return flow.FromSlice(numbers(1)).Apply(d).To(stage.Discard[int]()).Run(t.Context())
	}
	unlimited := func() error {
		d := Durable(l.nc, broker.JSON[int](), DurableConfig{Stream: "T"})
		return flow.FromSlice(numbers(1)).Apply(d).To(stage.Discard[int]()).Run(t.Context())
	}
	wantRefused := func(name string, run func() error, kind error, setting string) {
		t.Helper()
		if err := run(); err == nil || kind != nil && !errors.Is(err, kind) || !strings.Contains(err.Error(), setting) {
			t.Errorf("%s: %v, want %s named", name, err, setting)
		}
	}
	wantRefused("a source without limit", source, broker.ErrUnbounded, "MaxMsgs, MaxBytes")
	wantRefused("a sink without limit", sink, broker.ErrUnbounded, "MaxMsgs, MaxBytes")
	wantRefused("an edge over a stream without limit", edge, nil, "MaxMsgs")
	wantRefused("an edge without a capacity", unlimited, nil, "Capacity")
	l.update(func(c *jetstream.StreamConfig) { c.MaxMsgs, c.Discard = edgeDepth, jetstream.DiscardOld })
	wantRefused("a sink that waits at a stream that deletes", sink, nil, "Discard")
	wantRefused("an edge that waits at a stream that deletes", edge, nil, "Discard")
	if got := l.state().Msgs; got != 0 {
		t.Errorf("%d messages were stored all the same", got)
	}
}
