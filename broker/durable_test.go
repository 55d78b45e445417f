package broker_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// collector is a sink that keeps what it gets.
type collector struct {
	mu   sync.Mutex
	got  []string
	wait time.Duration
}

func (c *collector) put(ctx context.Context, v string) error {
	if c.wait > 0 {
		time.Sleep(c.wait)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got = append(c.got, v)
	return nil
}

func (c *collector) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.got)
}

func edgeOf(s *memory.Stream, o broker.DurableOptions) func(flow.Flow[string]) flow.Flow[string] {
	o.Subject = "edge"
	return broker.Durable(s.Sender(memory.SendConfig{}), s.Fetcher(memory.FetchConfig{}), text, o)
}

func TestADurableEdgeHandsEverythingOnInOrderAndEnds(t *testing.T) {
	for name, next := range map[string]func(flow.Flow[string]) flow.Flow[string]{
		"plain": func(f flow.Flow[string]) flow.Flow[string] { return f },
		// The last batch is incomplete, and waits for the end of the stream.
		"batches": func(f flow.Flow[string]) flow.Flow[string] {
			return f.Batch(64, 0).FlatMap(func(b []string) []string { return b })
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memory.NewStream(memory.StreamConfig{MaxMessages: 10_000})
				var c collector
				must(t, next(flow.FromSlice(numbered(1000)).Apply(edgeOf(s, broker.DurableOptions{}))).ForEach(c.put).Run(t.Context()))
				wantSlice(t, "got", c.got, numbered(1000))
				if i := s.Info(); i.Messages != 0 || i.Redelivered != 0 {
					t.Errorf("left in the stream: %+v", i)
				}
			})
		})
	}
}

// The depth of the stream is the capacity of the edge: the source is not read further than that.
func TestAFullDurableEdgeHoldsTheSourceBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.NewStream(memory.StreamConfig{MaxMessages: 100})
		read := 0
		src := flow.FromFunc(func(context.Context) (string, error) {
			if read++; read > 1000 {
				return "", stage.ErrEnd
			}
			return fmt.Sprint("v", read-1), nil
		})
		c := collector{wait: time.Second}
		out := broker.Durable(s.Sender(memory.SendConfig{}), s.Fetcher(memory.FetchConfig{InFlight: 10}), text, broker.DurableOptions{Subject: "edge"})
		r, err := src.Apply(out).ForEach(c.put).Start(t.Context())
		must(t, err)
		time.Sleep(100 * time.Second)
		synctest.Wait()
		if bound := 100 + 100 + 2048 + 2; read > bound || s.Info().Messages > 100 {
			t.Errorf("read %d with %d handled and %d stored", read, len(c.got), s.Info().Messages)
		}
		must(t, r.Wait())
		wantSlice(t, "got", c.got, numbered(1000))
	})
}

func TestWhatADrainLeavesInTheStreamComesInTheNextRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.NewStream(memory.StreamConfig{MaxMessages: 10_000})
		c := collector{wait: time.Second}
		r, err := flow.FromSlice(numbered(1000)).Apply(edgeOf(s, broker.DurableOptions{})).ForEach(c.put).Start(t.Context())
		must(t, err)
		time.Sleep(10*time.Second + time.Millisecond)
		must(t, r.Drain(t.Context()))
		if len(c.got) < 10 || len(c.got)+int(s.Info().Messages) != 1000 {
			t.Fatalf("%d handled, %d in the stream", len(c.got), s.Info().Messages)
		}
		c.wait = 0
		out := s.Fetcher(memory.FetchConfig{})
		out.EndWhenEmpty()
		must(t, broker.DurableOut(out, text, broker.DurableOptions{}).ForEach(c.put).Run(t.Context()))
		slices.Sort(c.got)
		want := numbered(1000)
		slices.Sort(want)
		wantSlice(t, "got", c.got, want)
	})
}

// Where a drain begins while the stream is full, the half that waits for room gets it from the other one, and then both end.
func TestADrainWithAFullStreamLetsWhatIsInsideIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.NewStream(memory.StreamConfig{MaxMessages: 20})
		read := 0
		src := flow.FromFunc(func(context.Context) (string, error) {
			read++
			return fmt.Sprint("v", read-1), nil
		})
		c := collector{wait: time.Second}
		out := broker.Durable(s.Sender(memory.SendConfig{}), s.Fetcher(memory.FetchConfig{InFlight: 5}), text, broker.DurableOptions{Subject: "edge", PushSize: 30})
		r, err := src.Apply(out).ForEach(c.put).Start(t.Context())
		must(t, err)
		time.Sleep(10 * time.Second)
		before := c.count()
		must(t, r.Drain(t.Context()))
		left := int(s.Info().Messages)
		if len(c.got)+left != read || left == 0 || len(c.got) <= before {
			t.Errorf("read %d, handled %d, left %d", read, len(c.got), left)
		}
		wantSlice(t, "got", c.got, numbered(len(c.got)))
	})
}

// An acknowledgement of the input that is lost has it come again; with identities it is stored once all the same.
func TestExactlyOnceStoresAgainNothing(t *testing.T) {
	for name, exactly := range map[string]bool{"at least once": false, "exactly once": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := memory.NewStream(memory.StreamConfig{MaxMessages: 100, AckWait: time.Second})
				edge := memory.NewStream(memory.StreamConfig{MaxMessages: 10_000})
				in := first.Sender(memory.SendConfig{})
				must(t, in.Open(t.Context()))
				must(t, in.Send(t.Context(), []broker.Message{{Subject: "a", Data: []byte("x")}, {Subject: "a", Data: []byte("y")}}))
				half := func(f *memory.Fetcher) flow.Pipeline {
					return flow.FromItems(broker.NewSource(f, text, broker.SourceOptions{})).
						FlatMap(func(v string) []string { return []string{v + "1", v + "2", v + "3"} }).
						ToItems(broker.DurableIn(edge.Sender(memory.SendConfig{}), text, broker.DurableOptions{Subject: "edge", ExactlyOnce: exactly}))
				}
				f := first.Fetcher(memory.FetchConfig{})
				r, err := half(f).Start(t.Context())
				must(t, err)
				first.Down() // the edge stores what is made of the inputs, whose acknowledgements do not arrive
				time.Sleep(time.Minute)
				f.Kill()
				first.Up()
				_ = r.Drain(t.Context())
				first.End()
				must(t, half(first.Fetcher(memory.FetchConfig{})).Run(t.Context()))
				must(t, in.Close())
				out, c := edge.Fetcher(memory.FetchConfig{}), collector{}
				out.EndWhenEmpty()
				must(t, broker.DurableOut(out, text, broker.DurableOptions{}).ForEach(c.put).Run(t.Context()))
				slices.Sort(c.got)
				got := slices.Compact(slices.Clone(c.got))
				wantSlice(t, "got", got, []string{"x1", "x2", "x3", "y1", "y2", "y3"})
				if exactly && len(c.got) != 6 {
					t.Errorf("stored %v", c.got)
				}
			})
		})
	}
}

func TestDurableOptionsAreBuildErrors(t *testing.T) {
	s := memory.NewStream(memory.StreamConfig{})
	out := broker.Durable(s.Sender(memory.SendConfig{}), s.Fetcher(memory.FetchConfig{}), text, broker.DurableOptions{Name: "orders"})
	err := flow.FromSlice(numbered(1)).Apply(out).To(stage.Discard[string]()).Check()
	for _, want := range []string{"Subject", "orders.in", "orders.out", "no limit"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not mention %s", err, want)
		}
	}
}

func TestConsumeHandlesUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.NewStream(memory.StreamConfig{MaxMessages: 1000})
		in := s.Sender(memory.SendConfig{})
		must(t, in.Open(t.Context()))
		var msgs []broker.Message
		for _, v := range numbered(100) {
			msgs = append(msgs, broker.Message{Subject: "a", Data: []byte(v)})
		}
		must(t, in.Send(t.Context(), msgs))
		ctx, cancel := context.WithTimeout(t.Context(), 10500*time.Millisecond)
		defer cancel()
		c := collector{wait: time.Second}
		must(t, broker.Consume(ctx, broker.NewSource(s.Fetcher(memory.FetchConfig{}), text, broker.SourceOptions{}), c.put, broker.ConsumeOptions{Workers: 3}))
		if n := len(c.got); n < 33 || n > 100 || int(s.Info().Messages) != 100-n || s.Info().InFlight != 0 {
			t.Errorf("%d handled, left %+v", n, s.Info())
		}
		must(t, in.Close())
	})
}
