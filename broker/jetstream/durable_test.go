package jetstream

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// edgeConfig is an edge over stream S that keeps the order.
func edgeConfig() DurableConfig {
	return DurableConfig{Stream: "S", Durable: "d", Capacity: 5000, MaxAckPending: 100, AckWait: time.Minute, Ordered: true}
}

// collect runs a flow to its end and returns what came.
func collect[T any](t *testing.T, f flow.Flow[T]) (got []T) {
	t.Helper()
	if err := f.ForEach(func(_ context.Context, v T) error { got = append(got, v); return nil }).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return got
}

// A durable edge ends by itself when upstream has ended and nothing is left, also where a step downstream waits for that end.
func TestADurableEdgeEnds(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(flow.Flow[int]) flow.Flow[int]{
		"plain": func(f flow.Flow[int]) flow.Flow[int] { return f },
		"batches": func(f flow.Flow[int]) flow.Flow[int] {
			return f.Batch(64, 0).FlatMap(func(b []int) []int { return b }) // the last one is incomplete
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			edge := Durable(l.nc, broker.JSON[int](), edgeConfig())
			wantInts(t, collect(t, next(flow.FromSlice(numbers(1000)).Apply(edge))), numbers(1000))
			until(t, "nothing is left", func() bool { return l.state().Msgs == 0 }) // the server has read all acknowledgements
			if got := l.state().LastSeq; got != 1000 {
				t.Errorf("%d messages were stored", got)
			}
		})
	}
}

// What a run leaves in the edge is read by another process, which need not know of the upstream half.
func TestAnotherProcessReadsTheRest(t *testing.T) {
	t.Parallel()
	const total = 500
	l := newLab(t)
	edge := Durable(l.nc, broker.JSON[int](), edgeConfig())
	var mu sync.Mutex
	var got []int
	put := func(_ context.Context, n int) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, n)
		return nil
	}
	have := func() int { mu.Lock(); defer mu.Unlock(); return len(got) }
	run, err := flow.FromSlice(numbers(total)).Apply(edge).ForEach(func(ctx context.Context, n int) error {
		time.Sleep(5 * time.Millisecond)
		return put(ctx, n)
	}).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	until(t, "all is stored, and some is read", func() bool { return have() >= 20 && l.state().LastSeq == total })
	if err := run.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := have()
	until(t, "the rest is left, and nothing else", func() bool { return first+int(l.state().Msgs) == total })
	if run, err = DurableOut(l.connect(), broker.JSON[int](), edgeConfig()).ForEach(put).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "the rest is read", func() bool { return have() == total })
	if err := run.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d read by the first, %d by the second", first, total-first)
	slices.Sort(got)
	wantInts(t, got, numbers(total))
	l.wantNothingLeft()
}

// The halves in processes of their own: one that writes and two that read share what there is. Metadata comes along.
func TestTheHalvesOfADurableEdge(t *testing.T) {
	t.Parallel()
	const total = 600
	l := newLab(t)
	var mu sync.Mutex
	var got []int
	var readers []*flow.Run
	readBy := [2]int{}
	for i := range readBy {
		run, err := DurableOut(l.connect(), broker.JSON[int](), edgeConfig()).
			Stamp(func(n int, m stage.Meta) stage.Meta {
				mu.Lock()
				defer mu.Unlock()
				if want := fmt.Sprint("key ", n); m.Key != want {
					t.Errorf("key %q, want %q", m.Key, want)
				}
				got = append(got, n)
				readBy[i]++
				return m
			}).ForEach(func(context.Context, int) error { time.Sleep(100 * time.Microsecond); return nil }).Start(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		readers = append(readers, run)
	}
	err := flow.FromSlice(numbers(total)).
		Stamp(func(n int, m stage.Meta) stage.Meta { m.Key = fmt.Sprint("key ", n); return m }).
		ToItems(DurableIn(l.connect(), broker.JSON[int](), edgeConfig())).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	until(t, "all is read", func() bool { mu.Lock(); defer mu.Unlock(); return len(got) >= total })
	for _, r := range readers {
		if err := r.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(got)
	wantInts(t, got, numbers(total))
	if readBy[0] == 0 || readBy[1] == 0 {
		t.Errorf("they read %v", readBy)
	}
	l.wantNothingLeft()
}

// cutting is an edge's sink that cuts the connection of the input once something is stored: its acknowledgement can't arrive any more.
type cutting struct {
	*broker.EdgeSink[string]
	input *nats.Conn
}

func (c *cutting) PushItems(ctx context.Context, items []stage.Item[string]) error {
	err := c.EdgeSink.PushItems(ctx, items)
	c.input.Close()
	return err
}

// Acknowledgements of the input are lost with its connection, so it comes again. With ExactlyOnce nothing of it is stored twice.
func TestExactlyOnceWithLostAcknowledgements(t *testing.T) {
	t.Parallel()
	const total, cuts = 60, 3
	for name, exactly := range map[string]bool{"at least once": false, "exactly once": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			in := StreamConfig{Name: "IN", Subjects: []string{"in"}, MaxMessages: 1000}
			if err := EnsureStream(t.Context(), l.nc, in); err != nil {
				t.Fatal(err)
			}
			if err := flow.FromSlice(numbers(total)).To(NewSink(l.nc, broker.JSON[int](), SinkConfig[int]{Stream: "IN", To: "in"})).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			edge := edgeConfig()
			edge.ExactlyOnce = exactly
			three := func(n int) []string { return []string{fmt.Sprint(n, "a"), fmt.Sprint(n, "b"), fmt.Sprint(n, "c")} }
			source := func(nc *nats.Conn) (*Source[int], flow.Flow[string]) {
				src := NewSource(nc, broker.JSON[int](), SourceConfig{Stream: "IN", Durable: "d", Ack: Confirmed, AckWait: lowestAckWait, MaxAckPending: 30})
				return src, flow.FromItems(src).FlatMap(three)
			}
			for range cuts {
				nc := l.connect()
				_, f := source(nc)
				if err := f.ToItems(&cutting{DurableIn(l.nc, broker.JSON[string](), edge), nc}).Run(t.Context()); err == nil {
					t.Fatal("a run without a connection ended well")
				}
			}
			src, f := source(l.connect())
			src.fetcher.EndWhenEmpty()
			if err := f.ToItems(DurableIn(l.nc, broker.JSON[string](), edge)).Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if src.Stats().Redelivered == 0 {
				t.Error("nothing came again: the test shows nothing")
			}

			got := bodiesOfEdge(t, l, edge)
			slices.Sort(got)
			if stored := len(got); exactly == (stored > 3*total) {
				t.Errorf("%d stored of what %d inputs become, each three times", stored, total)
			}
			if distinct := len(slices.Compact(got)); distinct != 3*total {
				t.Errorf("%d distinct, want %d", distinct, 3*total)
			}
		})
	}
}

// bodiesOfEdge reads an edge until it is empty.
func bodiesOfEdge(t *testing.T, l *lab, d DurableConfig) []string {
	t.Helper()
	f := d.fetcher(l.nc)
	f.EndWhenEmpty()
	return collect(t, broker.DurableOut(f, broker.JSON[string](), d.options()))
}

// Wrong settings are build errors, all at once; what the stream has against the edge is an error of Start.
func TestADurableEdgeIsChecked(t *testing.T) {
	t.Parallel()
	wrong := Durable(nil, broker.JSON[int](), DurableConfig{Stream: "a.b", Durable: "x y", AckWait: 1, MaxAckPending: -1, Source: broker.SourceOptions{Attempts: 3}})
	err := flow.FromSlice(numbers(1)).Apply(wrong).To(stage.Discard[int]()).Check()
	for _, want := range []string{"connection is nil", "Stream", "Durable", "Capacity", "AckWait", "MaxAckPending", "Attempts", "a.b.in", "a.b.out"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not name %s", err, want)
		}
	}

	l := newLab(t)
	l.stream(limits)
	err = flow.FromSlice(numbers(1)).Apply(Durable(l.nc, broker.JSON[int](), edgeConfig())).To(stage.Discard[int]()).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "Retention") || !strings.Contains(err.Error(), "MaxMsgs") {
		t.Errorf("a stream that is there and is no work queue, and deeper: %v", err)
	}
}
