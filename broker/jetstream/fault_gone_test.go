package jetstream

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// F9: a stream or a consumer that is deleted ends the run, soon, with an error that names it and the stage. It is never a clean end, also
// not for a source that was told that its stream has one.
func TestWhatIsDeletedEndsTheRun(t *testing.T) {
	t.Parallel()
	stream := func(l *lab) error { return l.js.DeleteStream(l.t.Context(), "S") }
	consumer := func(l *lab) error { return l.js.DeleteConsumer(l.t.Context(), "S", "d") }
	source := func(l *lab) flow.Pipeline {
		src := NewSource(l.nc, broker.JSON[int](), quick())
		return flow.FromItems(src, flow.Name("orders")).To(stage.Discard[int]())
	}
	ending := func(l *lab) flow.Pipeline {
		l.fill(1, 3)
		c := quick()
		c.MaxAckPending = 1
		src := NewSource(l.nc, broker.JSON[int](), c)
		src.fetcher.EndWhenEmpty()
		return flow.FromItems(src, flow.Name("orders")).Buffer(1, flow.Block).ForEach(func(ctx context.Context, _ int) error {
			<-ctx.Done() // so the other two never come
			return ctx.Err()
		})
	}
	sink := func(l *lab) flow.Pipeline {
		n := 0
		return flow.FromFunc(func(context.Context) (int, error) { n++; return n, nil }).
			Throttle(100, 100*time.Millisecond).
			To(NewSink(l.nc, broker.JSON[int](), SinkConfig[int]{Stream: "S", To: "s.x"}), flow.Name("orders"))
	}
	for name, c := range map[string]struct {
		build  func(l *lab) flow.Pipeline
		remove func(l *lab) error
		what   string
		atWork int // messages when it happens
	}{
		"the stream of a source":       {source, stream, `stream "S"`, 0},
		"the consumer of a source":     {source, consumer, `consumer "d"`, 0},
		"a stream that has an end":     {ending, stream, `stream "S"`, 1},
		"the stream that a sink fills": {sink, stream, `stream "S"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.stream()
			run, err := c.build(l).Start(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if c.atWork > 0 {
				until(t, "they are at work", func() bool { return l.info().NumAckPending == c.atWork })
			}
			if err := c.remove(l); err != nil {
				t.Fatal(err)
			}
			select {
			case <-run.Done():
			case <-time.After(patience): // required are 5 s, on a machine that has time
				t.Fatal("the run goes on")
			}
			err = run.Wait()
			bad, ok := errors.AsType[*stage.Error](err)
			if !errors.Is(err, broker.ErrDeleted) || !strings.Contains(err.Error(), c.what) || !ok || bad.Stage != "orders" {
				t.Errorf("%v, want ErrDeleted of %s in stage orders", err, c.what)
			}
		})
	}
}
