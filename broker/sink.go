package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// While a stream is full a sink tries again after these times, with full jitter.
const (
	firstPause = time.Millisecond
	mostPause  = 250 * time.Millisecond
)

// defaultPushSize is how many items a sink likes to get at once: enough to keep a broker busy, whatever its window.
const defaultPushSize = 2048

// SinkOptions are the options of [NewSink].
type SinkOptions[T any] struct {
	// Subject is where a value is sent. It must be set.
	Subject func(T) string
	// ID is the identity of a value: the broker stores one message of each identity, as long as it remembers. By default each push
	// of an item has its own, which is kept when the push has to be repeated.
	ID func(T) string
	// Header adds headers to the message of a value. Metadata is in them already.
	Header func(T, Header)
	// OnFull is what happens when the stream has no room. Block waits, and tries again after 1 ms to 250 ms with jitter until the run
	// stops: this is how a full stream holds the source back. DropNewest lets the value go: it counts, and its message is
	// done. Reject fails the item with ErrFull, for OnError to decide. DropOldest is for a stream that drops its oldest
	// message itself.
	OnFull flow.Policy
	// Tolerate takes a stream that does not do what OnFull says.
	Tolerate bool
	// Dropped is called for each value that DropNewest lets go, by the goroutine that pushes.
	Dropped func(T)
	// PushSize is how many items a push gets at most when so many wait; 2,048 by default. The broker confirms them all before
	// any of them is done.
	PushSize int
}

// Sink is a stage.Sink and stage.ItemSink that sends what it gets with a [Sender]. An item is done when the broker has confirmed
// that it is stored. Metadata goes into headers.
//
//	Backpressure: a push returns when every message is stored, or dropped where OnFull says so.
//	Errors:       item by item: ErrFull with Reject, ErrRefused, ErrUnknown, an error of the codec.
//	Concurrency:  Push may be called by many goroutines; flow.Workers loses the order.
type Sink[T any] struct {
	sender Sender
	codec  Codec[T]
	opts   SinkOptions[T]
	pool   sync.Pool // of *outbox
	counts sinkCounts

	wrong    []error                          // found by who made it
	identify func(stage.Meta) (string, error) // of a durable edge
}

type sinkCounts struct{ stored, dropped, failed, full, blocked atomic.Int64 }

// SinkStats counts what a [Sink] has done.
type SinkStats struct {
	Stored  int64         // messages that the broker has confirmed
	Dropped int64         // values that DropNewest let go
	Failed  int64         // messages that failed, as often as they did
	Full    int64         // how often a message found the stream full
	Blocked time.Duration // how long pushes have waited for room
}

// NewSink returns a Sink that encodes with c and sends with s. It does no I/O. Wrong options are errors of Validate.
func NewSink[T any](s Sender, c Codec[T], o SinkOptions[T]) *Sink[T] {
	return &Sink[T]{sender: s, codec: c, opts: o}
}

// Validate implements [stage.Validator].
func (s *Sink[T]) Validate() error {
	errs := slices.Clone(s.wrong)
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	o := &s.opts
	check(s.sender != nil, "the sender must not be nil")
	check(s.codec != nil, "the codec must not be nil")
	check(o.Subject != nil, "Subject must be set")
	check(o.OnFull >= flow.Block && o.OnFull <= flow.Reject, "OnFull: unknown policy %v", o.OnFull)
	check(o.Dropped == nil || o.OnFull == flow.DropNewest, "Dropped goes with DropNewest")
	check(o.PushSize >= 0, "PushSize must be >= 0, got %d", o.PushSize)
	errs = append(errs, validate(s.sender))
	return errors.Join(errs...)
}

// Open implements [stage.Opener]: it opens the sender, and checks that the stream does what OnFull says.
func (s *Sink[T]) Open(ctx context.Context) error {
	if err := s.sender.Open(ctx); err != nil {
		return err
	}
	l := s.sender.Limits()
	dropsOldest := l.Full == DropsOldest
	bounded := l.Messages > 0 || l.Bytes > 0
	var err error
	switch {
	case s.opts.Tolerate:
	case bounded && dropsOldest && s.opts.OnFull != flow.DropOldest:
		err = fmt.Errorf("OnFull is %v, but the stream drops its oldest message when it is full and never says no", s.opts.OnFull)
	case bounded && !dropsOldest && s.opts.OnFull == flow.DropOldest:
		err = errors.New("OnFull is DropOldest, but the stream refuses new messages when it is full")
	}
	if err != nil {
		return errors.Join(err, s.sender.Close())
	}
	return nil
}

// PushSize is how many items a push likes to get.
func (s *Sink[T]) PushSize() int {
	if s.opts.PushSize > 0 {
		return s.opts.PushSize
	}
	return defaultPushSize
}

// Push implements [stage.Sink].
func (s *Sink[T]) Push(ctx context.Context, values []T) error {
	out := s.outbox()
	defer s.putBack(out)
	for i, v := range values {
		out.add(s, i, v, stage.Meta{})
	}
	return s.send(ctx, out)
}

// PushItems implements [stage.ItemSink].
func (s *Sink[T]) PushItems(ctx context.Context, items []stage.Item[T]) error {
	out := s.outbox()
	defer s.putBack(out)
	for i := range items {
		out.add(s, i, items[i].Value, items[i].Meta())
	}
	return s.send(ctx, out)
}

// outbox is one push: the messages made of its values, and what failed.
type outbox[T any] struct {
	msgs   []Message
	values []T   // of the messages
	index  []int // of the messages in the push
	ends   []int // of their payloads in data
	first  int   // of the messages that are still to be sent
	data   []byte
	bad    stage.BatchError
}

func (s *Sink[T]) outbox() *outbox[T] {
	if out, ok := s.pool.Get().(*outbox[T]); ok {
		return out
	}
	return new(outbox[T])
}

func (s *Sink[T]) putBack(out *outbox[T]) {
	clear(out.msgs)
	clear(out.values)
	out.msgs, out.values, out.index, out.ends, out.data = out.msgs[:0], out.values[:0], out.index[:0], out.ends[:0], out.data[:0]
	out.first, out.bad = 0, stage.BatchError{}
	s.pool.Put(out)
}

// add makes the message of value i. The payloads share one slice, which may move until the last one is there.
func (out *outbox[T]) add(s *Sink[T], i int, v T, m stage.Meta) {
	data, err := s.codec.Encode(out.data, v)
	if err != nil {
		out.bad.Add(i, fmt.Errorf("%w: encode: %w", ErrRefused, err))
		return
	}
	msg := Message{Subject: s.opts.Subject(v), Header: writeMeta(nil, m)}
	if msg.ID, err = s.id(v, m); err != nil {
		out.bad.Add(i, fmt.Errorf("%w: %w", ErrRefused, err))
		return
	}
	if s.opts.Header != nil {
		if msg.Header == nil {
			msg.Header = Header{}
		}
		s.opts.Header(v, msg.Header)
	}
	out.data = data
	out.msgs = append(out.msgs, msg)
	out.values = append(out.values, v)
	out.index = append(out.index, i)
	out.ends = append(out.ends, len(data))
}

// id returns the identity of a value, "" if it has none of its own.
func (s *Sink[T]) id(v T, m stage.Meta) (string, error) {
	switch {
	case s.identify != nil:
		return s.identify(m)
	case s.opts.ID != nil:
		return s.opts.ID(v), nil
	default:
		return "", nil
	}
}

// seal gives every message its payload.
func (out *outbox[T]) seal() {
	from := 0
	for i, to := range out.ends {
		out.msgs[i].Data = out.data[from:to:to]
		from = to
	}
}

// send sends the messages until each is stored, dropped, or failed. All of them at once, until the stream is full: then as many as have
// last found room, and twice as many when all have, so that a full stream is not flooded with what it refuses.
func (s *Sink[T]) send(ctx context.Context, out *outbox[T]) error {
	out.seal()
	var wait pause
	room := len(out.msgs)
	for out.first < len(out.msgs) {
		n := min(room, len(out.msgs)-out.first)
		err := s.sender.Send(ctx, out.msgs[out.first:out.first+n])
		again := s.sift(out, failures(err, n))
		if again < n {
			wait.reset()
		}
		if again == 0 {
			room = 2 * n
			continue
		}
		room = max(n-again, 1)
		began := time.Now()
		err = wait.wait(ctx)
		s.counts.blocked.Add(int64(time.Since(began)))
		if err != nil {
			s.fail(out, err)
			break
		}
	}
	slices.SortFunc(out.bad.Items, func(a, b stage.ItemError) int { return a.Index - b.Index })
	s.counts.failed.Add(int64(len(out.bad.Items)))
	if len(out.bad.Items) == 0 {
		return nil
	}
	return &stage.BatchError{Items: out.bad.Items}
}

// sift takes in what became of the next messages, and keeps those that are to be sent again, in their order. It returns how many.
func (s *Sink[T]) sift(out *outbox[T], errs []error) (again int) {
	for i, err := range errs {
		if errs[i] = s.judge(out, out.first+i, err); errs[i] != nil {
			again++
		}
	}
	to := out.first + len(errs)
	for i := len(errs) - 1; i >= 0 && again > 0; i-- {
		if from := out.first + i; errs[i] != nil {
			to--
			out.msgs[to], out.values[to], out.index[to] = out.msgs[from], out.values[from], out.index[from]
		}
	}
	out.first += len(errs) - again
	return again
}

// judge returns the error of message i if it is to be sent again. Otherwise it ends it.
func (s *Sink[T]) judge(out *outbox[T], i int, err error) error {
	switch {
	case err == nil:
		s.counts.stored.Add(1)
		return nil
	case errors.Is(err, ErrFull):
		s.counts.full.Add(1)
		switch s.opts.OnFull {
		case flow.Block:
			return err
		case flow.DropNewest:
			s.drop(out.values[i])
			return nil
		case flow.DropOldest, flow.Reject:
		}
	}
	out.bad.Add(out.index[i], err)
	return nil
}

func (s *Sink[T]) drop(v T) {
	s.counts.dropped.Add(1)
	if s.opts.Dropped != nil {
		s.opts.Dropped(v)
	}
}

// fail ends what is left with an error.
func (s *Sink[T]) fail(out *outbox[T], err error) {
	for _, i := range out.index[out.first:] {
		out.bad.Add(i, err)
	}
}

// Stats returns what has been counted so far. It is safe for concurrent use.
func (s *Sink[T]) Stats() SinkStats {
	c := &s.counts
	return SinkStats{
		Stored: c.stored.Load(), Dropped: c.dropped.Load(), Failed: c.failed.Load(), Full: c.full.Load(),
		Blocked: time.Duration(c.blocked.Load()),
	}
}

// Close implements io.Closer: it closes the sender.
func (s *Sink[T]) Close() error { return s.sender.Close() }
