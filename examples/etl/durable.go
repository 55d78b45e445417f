package main

import (
	"context"

	"github.com/weir-go/weir/broker"
	"github.com/weir-go/weir/broker/memory"
	"github.com/weir-go/weir/flow"
)

// stream is where functions wait between the half that extracts and the half that loads, when they pass through a broker.
type stream interface {
	sender() broker.Sender
	fetcher() fetcher
	level(ctx context.Context) (level, error)
	Close() error
}

// level is how many functions a stream has at a moment.
type level struct {
	waiting   int64 // in it, those included that are on their way to the table
	confirmed int64 // since it was made
}

// fetcher is a way out of a stream that may be told to end where the stream is empty.
type fetcher interface {
	broker.Fetcher
	broker.Ender
}

// durable is the edge functions as a stream.
type durable struct {
	stream
	meter meter
	found level // at the beginning
}

// openDurable opens the stream that the options name, nil if they name none.
func openDurable(ctx context.Context, o *options) (*durable, error) {
	d := &durable{}
	var err error
	switch o.through {
	case throughJetStream:
		d.stream, err = openJetStream(ctx, o)
	case throughMemory:
		d.stream = newMemoryStream(o)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if d.found, err = d.level(ctx); err != nil {
		_ = d.Close() // the error that counts is there
		return nil, err
	}
	d.meter.begin(int64(o.depth), d.found.waiting)
	return d, nil
}

// in and out are the ways into the stream and out of it, measured.
func (d *durable) in() broker.Sender { return meteredSender{d.sender(), &d.meter} }
func (d *durable) out() fetcher      { return meteredFetcher{d.fetcher(), &d.meter} }

// durableOptions describe the edge, the same for both halves.
func (j *job) durableOptions() broker.DurableOptions {
	return broker.DurableOptions{Name: "functions", Subject: streamName(j.db), OnFull: j.onFull}
}

// edge is where functions wait to be loaded: an edge of the pipeline, or a stream, which cuts the pipeline in two.
func (j *job) edge(f flow.Flow[function]) flow.Flow[function] {
	if j.durable == nil {
		return f.Buffer(j.depth, j.onFull, flow.Name("functions"))
	}
	return outgoing(f).Apply(broker.Durable(j.durable.in(), j.durable.out(), rowCodec, j.durableOptions()))
}

// outgoing is the edge in front of the stream: where it is full no more than this waits here, and in the hand of whoever sends.
func outgoing(f flow.Flow[function]) flow.Flow[function] {
	return f.Buffer(256, flow.Block, flow.Name("outgoing"))
}

// onlyIn is the half that extracts, by itself. It ends when all is confirmed.
func (j *job) onlyIn(f flow.Flow[function]) flow.Pipeline {
	return outgoing(f).ToItems(broker.DurableIn(j.durable.in(), rowCodec, j.durableOptions()), flow.Name("functions.in"))
}

// onlyOut is what the half that loads reads, by itself. It ends when the stream is empty.
func (j *job) onlyOut() flow.Flow[function] {
	out := j.durable.out()
	out.EndWhenEmpty()
	return broker.DurableOut(out, rowCodec, j.durableOptions())
}

// fullRule is what a stream must do where it is full, for a policy.
func fullRule(p flow.Policy) broker.FullRule {
	if p == flow.DropOldest {
		return broker.DropsOldest
	}
	return broker.RefusesNew
}

// memoryStream is a stream that is gone with the process.
type memoryStream struct{ *memory.Stream }

func newMemoryStream(o *options) memoryStream {
	return memoryStream{memory.NewStream(memory.StreamConfig{
		Name: "functions", MaxMessages: int64(o.depth), Full: fullRule(o.onFull),
	})}
}

func (s memoryStream) sender() broker.Sender { return s.Sender(memory.SendConfig{}) }
func (s memoryStream) fetcher() fetcher      { return s.Fetcher(memory.FetchConfig{}) }
func (s memoryStream) Close() error          { return nil }

func (s memoryStream) level(context.Context) (level, error) {
	i := s.Info()
	return level{i.Messages, int64(i.LastSequence)}, nil
}
