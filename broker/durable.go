package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// Ender is a [Fetcher] that can be told that nothing more will be sent to its stream. From then on an empty stream is its clean
// end: nothing waits, and nothing is unsettled but what this fetcher has delivered.
type Ender interface{ EndWhenEmpty() }

// DurableOptions are the options of [Durable].
type DurableOptions struct {
	// Name names the edge, and with it the two stages: Name.in and Name.out. It is part of the identities of ExactlyOnce. The
	// default is "durable".
	Name string
	// Subject is where messages are sent. It must be set.
	Subject string
	// OnFull is what the upstream half does where the stream is full, as in SinkOptions.
	OnFull flow.Policy
	// PushSize is how many items the upstream half sends at once, as in SinkOptions. So many wait in front of it.
	PushSize int
	// ExactlyOnce gives each message an identity made of the one it came from, the name of the edge, and its number among those
	// made of the same. An input that comes again, because its acknowledgement was lost, is then not stored twice, as long
	// as the broker remembers the identity. It needs items with an identity, and steps in between that keep the order and
	// make the same of the same.
	ExactlyOnce bool
	// Source has the options of the downstream half. Metadata in headers is trusted: the upstream half has written it.
	Source SourceOptions
	// Settle is what a message that is dropped downstream becomes, for edges that don't say so themselves; nil is not said.
	Settle flow.Settlement
}

// Durable cuts a flow in two with a stream of a broker between the halves, for flow.Flow.Apply: an edge that outlives the process. in
// sends into the stream, out fetches from it. The capacity of the edge is the depth of the stream, and OnFull its policy.
//
//	Shape:        T → T; two goroutines, and those of the adapter.
//	Backpressure: a full stream, with Block. Downstream asks for what it has room for.
//	Ends:         when upstream has ended and the stream is empty, where out is an [Ender]; otherwise when the run is
//	              stopped or drained. A drain first lets everything that is inside get into the stream. What is in the
//	              stream then stays there, for the next run or another process.
//	Order:        the stream's; a message that comes again comes later.
//	Errors:       those of the two halves. Wrong options are build errors.
//	Claims:       an input is done when the broker has confirmed that everything made of it is stored. A message of the
//	              stream is acknowledged when everything made of it has left the pipeline.
func Durable[T any](in Sender, out Fetcher, c Codec[T], o DurableOptions) func(flow.Flow[T]) flow.Flow[T] {
	return func(f flow.Flow[T]) flow.Flow[T] {
		sink, fed := DurableIn(in, c, o), make(chan struct{})
		sink.finished = func() {
			close(fed)
			if e, ok := out.(Ender); ok {
				e.EndWhenEmpty()
			}
		}
		return durableOut(&follower[T]{NewSource(out, c, o.source()), fed}, o).With(f.ToItems(sink, flow.Name(o.name()+".in")))
	}
}

func (o *DurableOptions) name() string {
	if o.Name == "" {
		return "durable"
	}
	return o.Name
}

// EdgeSink is the upstream half of a durable edge.
type EdgeSink[T any] struct {
	*Sink[T]
	finished func() // nil where the other half is somewhere else
}

// DurableIn is the upstream half of [Durable] alone: a sink that puts a flow into the stream. With ExactlyOnce it takes no OnError with
// Retry: a push that comes again is numbered on.
func DurableIn[T any](in Sender, c Codec[T], o DurableOptions) *EdgeSink[T] {
	s := NewSink(in, c, SinkOptions[T]{Subject: func(T) string { return o.Subject }, OnFull: o.OnFull, PushSize: o.PushSize})
	if o.Subject == "" {
		s.wrong = append(s.wrong, errors.New("the edge needs a Subject"))
	}
	if o.ExactlyOnce {
		s.identify = newSiblings(o.name()).identify
	}
	return &EdgeSink[T]{Sink: s}
}

// Finish implements [stage.Finisher]: the other half ends when it has emptied the stream.
func (s *EdgeSink[T]) Finish(context.Context) error {
	if s.finished != nil {
		s.finished()
	}
	return nil
}

// DurableOut is the downstream half of [Durable] alone: a flow of what is in the stream.
func DurableOut[T any](out Fetcher, c Codec[T], o DurableOptions) flow.Flow[T] {
	return durableOut(NewSource(out, c, o.source()), o)
}

// source returns the options of the downstream half.
func (o *DurableOptions) source() SourceOptions {
	s := o.Source
	s.Trusted = true
	return s
}

// follower is the downstream half beside the other one.
type follower[T any] struct {
	*Source[T]
	fed <-chan struct{}
}

// Fed implements [stage.Follower].
func (f *follower[T]) Fed() <-chan struct{} { return f.fed }

func durableOut[T any](src stage.ItemSource[T], o DurableOptions) flow.Flow[T] {
	opts := []flow.SourceOption{flow.Name(o.name() + ".out")}
	if o.Settle != nil {
		opts = append(opts, flow.SettleDropped(o.Settle))
	}
	return flow.FromItems(src, opts...)
}

// remembered is how many messages a source or an edge knows again.
const remembered = 1 << 16

// siblings numbers the messages that are made of one input, which come one behind the other. It finds out where they do not: then
// the numbers would not be the same when the input comes again, and a message could be taken for another one.
type siblings struct {
	edge string

	mu   sync.Mutex
	last origin
	n    int
	seen memo[origin, struct{}]
}

func newSiblings(edge string) *siblings {
	return &siblings{edge: edge, seen: memo[origin, struct{}]{most: remembered}}
}

// origin is one delivery of an input.
type origin struct {
	id      string
	attempt int
}

// identify returns the identity of the next message made of an item with metadata m.
func (s *siblings) identify(m stage.Meta) (string, error) {
	if m.ID == "" {
		return "", errors.New("exactly once needs items with an identity: a broker's source gives them, Stamp may")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := origin{m.ID, m.Attempt}
	if o != s.last {
		if _, again := s.seen.get(o); again {
			return "", fmt.Errorf("exactly once needs what is made of one input to come together: %q comes a second time, behind others", m.ID)
		}
		s.seen.set(o, struct{}{})
		s.last, s.n = o, 0
	}
	s.n++
	return fmt.Sprintf("%s/%s/%d", m.ID, s.edge, s.n), nil
}
