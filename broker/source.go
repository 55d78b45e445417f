package broker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// The defaults of [SourceOptions].
const (
	defaultMaxMessage = 1 << 20
	defaultFirstDelay = 100 * time.Millisecond
	defaultMostDelay  = 30 * time.Second
)

// defaultBeyond is the default of SourceOptions.Beyond.
const defaultBeyond = 5

// SourceOptions are the options of [NewSource]. The zero value is ready for use.
type SourceOptions struct {
	// Trusted takes metadata from the headers of messages: key, criticality, deadline, trace. Only where every producer may set
	// them for itself; otherwise a message has the identity and attempts that the broker knows, and nothing else.
	Trusted bool
	// MaxMessage is how large a payload may be that is decoded, in bytes; 1 MiB by default. A larger one is a dead letter.
	MaxMessage int
	// Delay is how long a message that failed waits before it comes again. The default is Backoff(100ms, 30s).
	Delay Delay
	// Attempts is how often a message may be delivered before one that fails is made a dead letter; 0 is no limit. It needs
	// DeadLetters.
	Attempts int
	// Beyond is how many deliveries above Attempts a message may come with. One that comes with more has never failed here, and is
	// taken for one that ends every process it comes to: it is made a dead letter unseen. Being given back by a process that
	// ends counts as a delivery at the broker; where processes end often with much in hand Beyond must be larger. 5 by
	// default; < 0 is no limit.
	Beyond int
	// DeadLetters is where messages go that fail for the last time, or can't be decoded. The original is ended once the dead
	// letter is stored. Without it they come again, after a delay, for ever. The Source opens and closes it.
	DeadLetters Sender // this source's own: it is opened and closed with it
	// DeadSubject is the subject of dead letters; it goes with DeadLetters.
	DeadSubject string
}

// Source is a stage.ItemSource of what a [Fetcher] delivers.
//
//	Emits:  up to as many values as there is demand for, as they come.
//	Ends:   with the fetcher's clean end, where it has one. It serves one run, and is closed by it.
//	Errors: those of the fetcher. A message that can't be decoded is none: it is a dead letter.
//	Claims: each message has one. Done acknowledges it. A failure has it delivered again after Delay, up to Attempts
//	        deliveries; then it becomes a dead letter. What the run gives back is delivered again at once, and is
//	        not counted as a failure of the message.
type Source[T any] struct {
	fetcher Fetcher
	codec   Codec[T]
	opts    SourceOptions

	buf     []Delivery
	flying  inflight
	limit   int         // how many of these there may be; 0 is no limit. Known when it is open
	handing atomic.Bool // some of them have not been returned yet
	back    returns
	letters *letters
	counts  sourceCounts
}

type sourceCounts struct {
	received, redelivered, done, terminated, failed, givenBack, undecodable, badHeaders atomic.Int64
}

// SourceStats counts what a [Source] has seen.
type SourceStats struct {
	Received    int64 // deliveries, repeated ones included
	Redelivered int64 // of them, those that were not the first
	InFlight    int   // deliveries that have not settled
	Done        int64
	Terminated  int64 // by the pipeline
	Failed      int64 // that come again, or are dead letters
	GivenBack   int64 // that nobody has processed
	Undecodable int64 // payloads that were too large or that the codec refused
	BadHeaders  int64 // metadata that made no sense, and was ignored
	DeadLetters int64 // stored
	Unburied    int64 // dead letters that could not be stored: the message comes again
	Discarded   int64 // messages that were dead letters too often, and were ended
}

// NewSource returns a Source of what f delivers, decoded by c. It does no I/O. Wrong options are errors of Validate.
func NewSource[T any](f Fetcher, c Codec[T], o SourceOptions) *Source[T] {
	s := &Source[T]{fetcher: f, codec: c, opts: o}
	s.back.n.most = remembered
	if o.DeadLetters != nil && f != nil {
		s.letters = newLetters(f, o.DeadLetters, o.DeadSubject, s.delay)
	}
	return s
}

// Validate implements [stage.Validator].
func (s *Source[T]) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	o := &s.opts
	check(s.fetcher != nil, "the fetcher must not be nil")
	check(s.codec != nil, "the codec must not be nil")
	check(o.MaxMessage >= 0, "MaxMessage must be >= 0, got %d", o.MaxMessage)
	check(o.Attempts >= 0, "Attempts must be >= 0, got %d", o.Attempts)
	check(o.Attempts == 0 || o.DeadLetters != nil, "Attempts needs DeadLetters: a message can't just vanish")
	check((o.DeadLetters == nil) == (o.DeadSubject == ""), "DeadLetters and DeadSubject go together")
	errs = append(errs, validate(s.fetcher), validate(o.DeadLetters))
	return errors.Join(errs...)
}

// validate asks a part that knows what is wrong with it.
func validate(part any) error {
	if v, ok := part.(stage.Validator); ok {
		return v.Validate()
	}
	return nil
}

// InFlight implements [stage.InFlighter].
func (s *Source[T]) InFlight() int {
	if s.fetcher == nil {
		return 0
	}
	return s.fetcher.Limits().InFlight
}

// Exhausted implements [stage.Exhauster]. Messages that wait to be delivered again, or to become dead letters, are not in the pipeline
// any more, so they count as if they made room.
func (s *Source[T]) Exhausted() bool {
	return s.limit > 0 && s.flying.size() >= s.limit && !s.handing.Load()
}

// Open implements [stage.Opener]: it opens the fetcher, and what keeps dead letters.
func (s *Source[T]) Open(ctx context.Context) error {
	if err := s.fetcher.Open(ctx); err != nil {
		return err
	}
	s.limit = s.InFlight()
	if s.letters == nil {
		return nil
	}
	if err := s.letters.open(ctx); err != nil {
		return errors.Join(err, s.fetcher.Close())
	}
	return nil
}

// PullItems implements [stage.ItemSource].
func (s *Source[T]) PullItems(ctx context.Context, dst []stage.Item[T]) (int, error) {
	if len(dst) > len(s.buf) {
		s.buf = make([]Delivery, len(dst))
	}
	for {
		s.handing.Store(false)
		n, err := s.fetcher.Fetch(ctx, s.buf[:len(dst)])
		s.handing.Store(n > 0)
		s.counts.received.Add(int64(n))
		k := 0
		for i := range s.buf[:n] {
			if item, ok := s.accept(&s.buf[i]); ok {
				dst[k] = item
				k++
			}
		}
		clear(s.buf[:n])
		if k > 0 || err != nil || n == 0 {
			return k, err
		}
	}
}

// Pull implements [stage.Source], so that flow.From takes a Source. The engine calls PullItems instead.
func (s *Source[T]) Pull(context.Context, []T) (int, error) {
	return 0, errors.New("broker: a Source is read with PullItems, or its messages would never settle")
}

// accept makes an item of a delivery. One that can't be an item is dealt with.
func (s *Source[T]) accept(d *Delivery) (item stage.Item[T], ok bool) {
	if d.Attempt > 1 {
		s.counts.redelivered.Add(1)
	}
	if n := s.opts.Attempts; n > 0 && s.opts.Beyond >= 0 && s.failures(d) >= n+cmp.Or(s.opts.Beyond, defaultBeyond) {
		s.bury(d, reasonKiller, fmt.Errorf("broker: delivered %d times, the limit is %d", d.Attempt, n))
		return item, false
	}
	var v T
	if err := s.decode(d, &v); err != nil {
		s.counts.undecodable.Add(1)
		s.bury(d, reasonUndecodable, err)
		return item, false
	}
	m, ignored := readMeta(d, s.opts.Trusted)
	if ignored > 0 {
		s.counts.badHeaders.Add(int64(ignored))
	}
	return stage.Claimed(v, m, s, s.flying.put(*d)), true
}

// failures is how often a message may have failed, this delivery included: as often as it was delivered, but for the times that this
// process has given it back. What other processes have given back counts.
func (s *Source[T]) failures(d *Delivery) int { return d.Attempt - s.back.of(d.ID) }

// decode turns a payload into a value. A panic of the codec is an error of the payload.
func (s *Source[T]) decode(d *Delivery, v *T) (err error) {
	if most := cmp.Or(s.opts.MaxMessage, defaultMaxMessage); len(d.Data) > most {
		return fmt.Errorf("%w: %d bytes, the limit is %d", ErrDecode, len(d.Data), most)
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: panic: %v", ErrDecode, p)
		}
	}()
	if err := s.codec.Decode(d.Data, v); err != nil {
		return fmt.Errorf("%w: %w", ErrDecode, err)
	}
	return nil
}

// bury ends a delivery that is not going to be processed: as a dead letter, or it comes again where there are none.
func (s *Source[T]) bury(d *Delivery, reason string, err error) {
	s.counts.failed.Add(1)
	if s.letters != nil {
		s.letters.add(*d, reason, "")
		return
	}
	s.fetcher.Settle(d.Token, stage.Outcome{Kind: stage.Failed, Err: err, Delay: s.delay(d.Attempt)})
}

// delay is how long a message waits before it comes again.
func (s *Source[T]) delay(attempt int) time.Duration {
	if s.opts.Delay != nil {
		return s.opts.Delay(attempt)
	}
	return defaultDelay(attempt)
}

var defaultDelay = Backoff(defaultFirstDelay, defaultMostDelay)

// Settle implements [stage.Settler].
func (s *Source[T]) Settle(token uint64, o stage.Outcome) {
	d, ok := s.flying.take(token)
	if !ok {
		return
	}
	refused := delayOf(o.Err)
	switch {
	case o.Kind == stage.Done:
		s.counts.done.Add(1)
	case o.Kind == stage.Terminated:
		s.counts.terminated.Add(1)
	case o.GivenBack, refused > 0: // what was refused has not been started, and is not to blame either
		s.counts.givenBack.Add(1)
		s.back.add(d.ID)
		o.Delay = cmp.Or(o.Delay, refused)
		if o.Delay == 0 && errors.Is(o.Err, flow.ErrDropped) {
			o.Delay = s.delay(d.Attempt) // there was no room: not at once again
		}
	default:
		s.counts.failed.Add(1)
		if n := s.opts.Attempts; n > 0 && s.failures(&d) >= n {
			s.letters.add(d, reasonFailed, failedStage(o.Err))
			return
		}
		o.Delay = cmp.Or(o.Delay, s.delay(d.Attempt))
	}
	s.fetcher.Settle(d.Token, o)
}

// delayOf returns how long a message is to stay away whose work was refused, 0 if it was not: an error that has a method Delay, such as
// an *admission.Refusal, says so.
func delayOf(err error) time.Duration {
	if r, ok := errors.AsType[interface {
		error
		Delay() time.Duration
	}](err); ok {
		return max(r.Delay(), 0)
	}
	return 0
}

// failedStage is the name of the stage that an item failed in.
func failedStage(err error) string {
	if e, ok := errors.AsType[*stage.Error](err); ok {
		return e.Stage
	}
	return ""
}

// Stats returns what has been counted so far. It is safe for concurrent use.
func (s *Source[T]) Stats() SourceStats {
	c := &s.counts
	st := SourceStats{
		Received: c.received.Load(), Redelivered: c.redelivered.Load(), InFlight: s.flying.size(),
		Done: c.done.Load(), Terminated: c.terminated.Load(), Failed: c.failed.Load(), GivenBack: c.givenBack.Load(),
		Undecodable: c.undecodable.Load(), BadHeaders: c.badHeaders.Load(),
	}
	if l := s.letters; l != nil {
		st.DeadLetters, st.Unburied, st.Discarded = l.stored.Load(), l.unburied.Load(), l.discarded.Load()
	}
	return st
}

// Close implements io.Closer: it stores the dead letters that are on their way, and closes the fetcher. What has not settled is given
// back.
func (s *Source[T]) Close() error {
	if s.letters == nil {
		return s.fetcher.Close()
	}
	err := s.letters.drain()
	return errors.Join(err, s.fetcher.Close(), s.letters.sender.Close())
}
