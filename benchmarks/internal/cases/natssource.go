package cases

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/weir-go/weir/benchmarks/internal/bench"
	weirjs "github.com/weir-go/weir/broker/jetstream"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// NATSSource is row P5: what a source of a JetStream consumer costs beside the calls of the client made by hand.
func NATSSource() bench.Case {
	c := natsSource(weirjs.Plain, 1)
	c.Row, c.Figures = "P5", bench.PerItemAndCPU(1.05, 1.10)
	c.What = "JetStream source of 256-byte messages into a sum, each acknowledged"
	return c
}

// NATSCumulative is row P5b: what it saves to acknowledge many messages at once, where their order allows it. The goal, 0.40, is
// out of reach: half of the baseline's time is what the server and the client take to deliver, whoever acknowledges how.
func NATSCumulative() bench.Case {
	c := natsSource(weirjs.Cumulative, 1)
	c.Row, c.Figures = "P5b", bench.PerItemAndCPU(0.40, 0.80)
	c.What = "P5 with cumulative acknowledgements"
	return c
}

// NATSCumulativeAlike compares P5b with a client that does the same. It shows how near P5b is to what is possible.
func NATSCumulativeAlike() bench.Case {
	c := natsSource(weirjs.Cumulative, 64)
	c.Row, c.Figures = "P5b alike", bench.PerItemAndCPU(0, 0)
	c.What = "P5 with cumulative acknowledgements"
	return c
}

// natsSource compares a source with a client that acknowledges one message in so many, and with it those in front.
func natsSource(mode weirjs.AckMode, every int) bench.Case {
	s := &natsStream{}
	against := fmt.Sprintf("pull requests by hand on one inbox, up to %d messages under way, an ack for ", credit)
	theirs := weirjs.Plain
	if every == 1 {
		against += "each"
	} else {
		against += fmt.Sprintf("%d at once", every)
		theirs = weirjs.Cumulative
	}
	return bench.Case{
		Against: against, Items: natsItems, Setup: s.setup,
		Weir:     func(n int) bench.Trial { return s.trial(n, mode, func(r *reading) error { return r.pipeline(mode) }) },
		Baseline: func(n int) bench.Trial { return s.trial(n, theirs, func(r *reading) error { return r.byHand(every) }) },
	}
}

var ackPolicies = map[weirjs.AckMode]jetstream.AckPolicy{
	weirjs.Plain: jetstream.AckExplicitPolicy, weirjs.Cumulative: jetstream.AckAllPolicy,
}

// natsStream is a server with a stream of the numbers from 1 to n.
type natsStream struct {
	natsServer
	stream string
}

func (s *natsStream) setup(n int) (stop func() error, err error) {
	if stop, err = s.start(); err != nil {
		return nil, err
	}
	if err := s.fill(n); err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

func (s *natsStream) fill(n int) error {
	c, err := s.connect()
	if err != nil {
		return err
	}
	defer c.nc.Close()
	s.stream = s.name()
	if err := c.stream(s.stream, n); err != nil {
		return err
	}
	payload := make([]byte, natsPayload)
	for i := range n {
		binary.LittleEndian.PutUint64(payload, uint64(i+1))
		if _, err := c.js.PublishAsync(s.stream, payload); err != nil {
			return err
		}
	}
	return c.stored(s.stream, n)
}

// reading is one trial: a consumer of its own, and what came.
type reading struct {
	client
	total
	n        int
	stream   string
	consumer jetstream.Consumer
}

func (s *natsStream) trial(n int, mode weirjs.AckMode, read func(*reading) error) bench.Trial {
	c, err := s.connect()
	if err != nil {
		return broken(c, err)
	}
	r := &reading{client: c, n: n, stream: s.stream}
	r.consumer, err = c.js.CreateConsumer(context.Background(), s.stream, jetstream.ConsumerConfig{
		Durable: s.name(), AckPolicy: ackPolicies[mode], MaxAckPending: natsWindow,
	})
	if err != nil {
		return broken(c, err)
	}
	return bench.Trial{Run: func() error { return read(r) }, Verify: r.verifyAcks, Close: c.close}
}

// pipeline reads with weir.
func (r *reading) pipeline(mode weirjs.AckMode) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), natsPatience, errLost)
	defer cancel()
	src := weirjs.NewSource(r.nc, numberCodec(), weirjs.SourceConfig{Stream: r.stream, Durable: r.consumer.CachedInfo().Name, Ack: mode})
	return flow.FromItems(src).Take(r.n).To(stage.SinkFunc(r.push)).Run(ctx)
}

// credit is how many messages are asked for at most, and so how many are under way: what a chunk of the pipeline has room for.
const credit = 256

// byHand reads with the client: it asks for more whenever half of what it asked for has come, and acknowledges one message in so many.
func (r *reading) byHand(every int) error {
	inbox, ch := r.nc.NewInbox(), make(chan *nats.Msg, natsWindow)
	sub, err := r.nc.ChanSubscribe(inbox, ch)
	if err != nil {
		return err
	}
	late := time.AfterFunc(natsPatience, func() { ch <- nil })
	defer late.Stop()
	subject := "$JS.API.CONSUMER.MSG.NEXT." + r.stream + "." + r.consumer.CachedInfo().Name
	asked := 0
	for i := range r.n {
		if asked <= credit/2 {
			request := fmt.Appendf(nil, `{"batch":%d,"expires":%d}`, credit-asked, 30*time.Second)
			if err := r.nc.PublishRequest(subject, inbox, request); err != nil {
				return err
			}
			asked = credit
		}
		m := <-ch
		if m == nil {
			return errLost
		}
		asked--
		v, err := numberIn(m.Data)
		if err != nil {
			return err
		}
		r.add(v)
		if (i+1)%every != 0 && i+1 < r.n {
			continue
		}
		if err := m.Ack(); err != nil {
			return err
		}
	}
	return errors.Join(sub.Unsubscribe(), r.nc.Flush())
}

// verifyAcks checks what came, and that the server has all acknowledgements. It may still be working on them.
func (r *reading) verifyAcks() error {
	if err := r.verify(int64(r.n), sumTo(int64(r.n)+1), true); err != nil {
		return err
	}
	for until := time.Now().Add(natsPatience); ; time.Sleep(time.Millisecond) {
		info, err := r.consumer.Info(context.Background())
		if err != nil {
			return err
		}
		if info.AckFloor.Stream == uint64(r.n) && info.NumAckPending == 0 {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("acknowledged up to %d, %d messages are not, want %d and 0", info.AckFloor.Stream, info.NumAckPending, r.n)
		}
	}
}
