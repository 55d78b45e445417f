package cases

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/benchmarks/internal/bench"
	weirjs "github.com/weir-go/weir/broker/jetstream"
	"github.com/weir-go/weir/flow"
)

// NATSSink is row P5c: what a sink into a stream costs beside the client's asynchronous publishing. Both give each message an ID,
// of the same length, by which the stream knows one that comes twice.
func NATSSink() bench.Case {
	c := natsSink(true)
	c.Row, c.Figures = "P5c", bench.PerItemAndCPU(1.05, 1.10)
	c.Against = fmt.Sprintf("asynchronous publishing with message IDs, window of %d", natsWindow)
	return c
}

// NATSSinkBare compares the same sink, which gives IDs in any case, with publishing without them: the server then has nothing to
// remember, and a message that is sent again is stored again. It is not the same work, so it is only reported.
func NATSSinkBare() bench.Case {
	c := natsSink(false)
	c.Row, c.Figures = "P5c no id", bench.PerItemAndCPU(0, 0)
	c.Against = fmt.Sprintf("asynchronous publishing without IDs, window of %d", natsWindow)
	return c
}

func natsSink(withID bool) bench.Case {
	s := &natsServer{}
	return bench.Case{
		What:  "JetStream sink of 256-byte messages, window of 1,024, each with an ID",
		Items: natsItems, Setup: func(int) (func() error, error) { return s.start() },
		Weir:     func(n int) bench.Trial { return s.writing(n, (*writing).pipeline) },
		Baseline: func(n int) bench.Trial { return s.writing(n, func(w *writing) error { return w.byHand(withID) }) },
	}
}

// writing is one trial: a stream of its own for n messages.
type writing struct {
	client
	n      int
	stream string
	failed atomic.Pointer[error] // of the client's publishing
}

func (s *natsServer) writing(n int, write func(*writing) error) bench.Trial {
	w := &writing{n: n, stream: s.name()}
	var err error
	w.client, err = s.connect(jetstream.WithPublishAsyncMaxPending(natsWindow), jetstream.WithPublishAsyncErrHandler(w.fail))
	if err == nil {
		err = w.client.stream(w.stream, n)
	}
	if err != nil {
		return broken(w.client, err)
	}
	return bench.Trial{Run: func() error { return write(w) }, Verify: w.verifyStream, Close: w.close}
}

func (w *writing) fail(_ jetstream.JetStream, _ *nats.Msg, err error) { w.failed.Store(&err) }

// pipeline writes the numbers from 0 with weir.
func (w *writing) pipeline() error {
	sink := weirjs.NewSink(w.nc, numberCodec(), weirjs.SinkConfig[int64]{
		Stream: w.stream, To: w.stream, Window: natsWindow, OnFull: flow.DropOldest,
	})
	return flow.From(numbers(w.n)).To(sink).Run(context.Background())
}

// idPrefix is as long as that of weir's IDs.
const idPrefix = "0123456789abcdef."

// byHand writes them with the client.
func (w *writing) byHand(withID bool) error {
	for i := range w.n {
		m := &nats.Msg{Subject: w.stream, Data: make([]byte, natsPayload)}
		binary.LittleEndian.PutUint64(m.Data, uint64(i))
		if withID {
			m.Header = nats.Header{jetstream.MsgIDHeader: []string{idPrefix + strconv.FormatUint(uint64(i), 36)}}
		}
		if err := w.publish(m); err != nil {
			return err
		}
	}
	if err := w.published(); err != nil {
		return err
	}
	if err := w.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// publish waits for a place in the window for as long as it takes; the client gives up after 200 ms, which a busy machine may need.
func (w *writing) publish(m *nats.Msg) error {
	for {
		_, err := w.js.PublishMsgAsync(m)
		if !errors.Is(err, jetstream.ErrTooManyStalledMsgs) {
			return err
		}
	}
}

// verifyStream reads the stream and checks what is in it.
func (w *writing) verifyStream() error {
	if err := w.stored(w.stream, w.n); err != nil {
		return err
	}
	c, err := w.js.OrderedConsumer(context.Background(), w.stream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return err
	}
	t := total{last: -1}
	msgs, err := c.Messages()
	if err != nil {
		return err
	}
	defer msgs.Stop()
	for range w.n {
		m, err := msgs.Next()
		if err != nil {
			return err
		}
		v, err := numberIn(m.Data())
		if err != nil {
			return err
		}
		t.add(v)
	}
	return t.verify(int64(w.n), sumTo(int64(w.n)), true)
}
