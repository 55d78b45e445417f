package flow

import (
	"context"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/weir-go/weir/flow/sizing"
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// settings is what options can set. Which option fits where is a matter of the interfaces below.
type settings struct {
	name      string
	named     bool
	decisions []engine.Decision
	around    around
	timeout   *time.Duration
	unordered bool
	once      bool // NonIdempotent
	results   *int // MaxResults
	load      *sizing.Load
	workers   int
	workersOn bool
	gather    *gathering
	dropped   Settlement
	errs      []string
}

// setting is what an option does.
type setting func(*settings)

// on does it; the zero option has nothing to do, which is a mistake.
func (set setting) on(s *settings) {
	if set == nil {
		s.errs = append(s.errs, "an option must not be the zero value")
		return
	}
	set(s)
}

// each applies options. A nil one is a mistake of the blueprint, like any other.
func each[O any](s *settings, opts []O, apply func(O, *settings)) {
	for _, o := range opts {
		if any(o) == nil {
			s.errs = append(s.errs, "an option must not be nil")
			continue
		}
		apply(o, s)
	}
}

type gathering struct {
	n       int
	maxWait time.Duration
}

// StepOption is an option of a step: [Name].
type StepOption interface{ step(s *settings) }

// SourceOption is an option of a source: [Name], [SettleDropped].
type SourceOption interface{ source(s *settings) }

// CallOption is an option of an operator whose function may fail: [Name], [OnError], [RetryBudget], [Limit], [Breaker], [Timeout],
// [NonIdempotent], [Expect].
type CallOption interface{ call(s *settings) }

// ExpandOption is an option of [Flow.Expand]: those of a [CallOption] but for [Limit], and [MaxResults].
type ExpandOption interface{ expand(s *settings) }

// ParallelOption is an option of [Flow.Parallel]: those of a [CallOption], and [Unordered].
type ParallelOption interface{ parallel(s *settings) }

// SinkOption is an option of [Flow.To] and [Flow.ForEach]: those of a [CallOption], [Workers], [Gather].
type SinkOption interface{ sink(s *settings) }

// BufferOption is an option of [Flow.Buffer]: [Name], [SettleDropped].
type BufferOption interface{ buffer(s *settings) }

// Option fits everywhere. It is what [Name] returns.
type Option struct{ set setting }

func (o Option) step(s *settings)     { o.set.on(s) }
func (o Option) source(s *settings)   { o.set.on(s) }
func (o Option) call(s *settings)     { o.set.on(s) }
func (o Option) expand(s *settings)   { o.set.on(s) }
func (o Option) parallel(s *settings) { o.set.on(s) }
func (o Option) sink(s *settings)     { o.set.on(s) }
func (o Option) buffer(s *settings)   { o.set.on(s) }

// Name names a stage or an edge, in errors, statistics and graphs: 1 to 64 of A-Z a-z 0-9 . _ -. Without it the name is the
// operator's with the position in the graph, like "map#3", which moves when the graph changes.
func Name(name string) Option {
	return Option{func(s *settings) { s.name, s.named = name, true }}
}

// ErrOption fits where a user's function may fail. It is what [OnError], [RetryBudget], [Limit], [Breaker], [Timeout] and
// [Expect] return.
type ErrOption struct{ set setting }

func (o ErrOption) call(s *settings)     { o.set.on(s) }
func (o ErrOption) expand(s *settings)   { o.set.on(s) }
func (o ErrOption) parallel(s *settings) { o.set.on(s) }
func (o ErrOption) sink(s *settings)     { o.set.on(s) }

// OnError says what becomes of an item whose function failed, by error, panic or Goexit. The decisions are tried in order
// until one has an answer; behind the last one stands [Stop], which is also the default.
//
//	flow.OnError(flow.Retry(5, flow.Exponential(10*time.Millisecond, time.Second)), flow.DeadLetter(dlq))
//
// A *stage.BatchError returned for an item that is a batch is about the batch's elements: Retry calls the function again with the whole
// batch; then the decisions behind it are asked about each element in the error, a dead letter carries the element, and
// all other elements are done. Nothing is handed on for such a batch. Skipped and Failed count elements. An item is a batch if it is a
// slice made of as many items as it has elements, as [Flow.Batch] makes it, or any slice where it has no metadata.
// The error is about the item as a whole where it is no batch or an index is not there.
func OnError(first Decision, then ...Decision) ErrOption {
	return ErrOption{func(s *settings) {
		for _, d := range append([]Decision{first}, then...) {
			if d == nil {
				s.errs = append(s.errs, "OnError: decision must not be nil")
				continue
			}
			decision, err := d.decision()
			if err != "" {
				s.errs = append(s.errs, err)
			}
			s.decisions = append(s.decisions, decision)
		}
	}}
}

// Timeout limits one call of the function, by its context; d must be positive. A function that ignores its context is not interrupted.
func Timeout(d time.Duration) ErrOption {
	return ErrOption{func(s *settings) { s.timeout = &d }}
}

// order is the type of Unordered.
type order uint8

// Unordered hands results on as they come, instead of in the order of the input.
const Unordered order = 1

func (order) parallel(s *settings) { s.unordered = true }

// sinkOption is what Workers and Gather return.
type sinkOption func(*settings)

func (o sinkOption) sink(s *settings) { o(s) }

// Workers lets n pushes run at the same time, in goroutines of their own behind an edge. The default is 1, in the goroutine of
// what is upstream.
func Workers(n int) SinkOption {
	return sinkOption(func(s *settings) { s.workers, s.workersOn = n, true })
}

// Gather hands the sink up to n items at a time: as soon as there are n, when the first of them has waited for maxWait, or at
// the end. maxWait 0 is no limit in time. It brings an edge in front of the sink.
func Gather(n int, maxWait time.Duration) SinkOption {
	return sinkOption(func(s *settings) { s.gather = &gathering{n, maxWait} })
}

// Decision is one of the answers of [OnError]: [Stop], [Skip], [Redeliver], [Retry], [DeadLetter], [If], and [IfOpen].
type Decision interface {
	decision() (engine.Decision, string)
}

// fixed is the type of the decisions without parameters.
type fixed uint8

// The decisions without parameters.
const (
	// Stop ends the run with the error.
	Stop fixed = iota
	// Skip lets the item go. It is counted, and settles as done.
	Skip
	// Redeliver lets the item fail, and the run goes on: its message is delivered again, when the source says, whose matter the
	// backoff, the limit of attempts and dead letters are then. The item is counted as failed and settles as failed with its
	// [stage.Error]; where its message has other parts, in another branch or of a FlatMap, they are finished, and come again as
	// well. What comes again is no longer in the order of the input.
	//
	// It is a build error where a message that fails would be lost: behind plain values, an Inlet, a hub and BestEffort, behind a
	// join of streams of which one is such, and behind [OpenAt], which can't deliver again in the same run. So it is at and behind
	// a stage that is [NonIdempotent].
	Redeliver
)

func (f fixed) decision() (engine.Decision, string) {
	switch f {
	case Skip:
		return engine.Decision{Action: engine.Skip}, ""
	case Redeliver:
		return engine.Decision{Action: engine.Redeliver}, ""
	case Stop:
	}
	return engine.Decision{Action: engine.Stop}, ""
}

// decided is a decision with parameters.
type decided struct {
	d   engine.Decision
	err string
}

func (d decided) decision() (engine.Decision, string) { return d.d, d.err }

// Backoff makes a new backoff for each failing item: a BackOff has state, and items fail at the same time.
type Backoff func() backoff.BackOff

// Retry calls the function again, up to times times, waiting as b says in between; then the next decision is asked. An error
// marked with backoff.Permanent is not retried, nor is an item whose deadline would be over by then. The wait ends with the run.
//
// An error, or one that it wraps, with a method Delay() time.Duration, as *admission.Refusal has it, says how long to stay away. It is
// not retried earlier, however short b's wait is, and not at all where Delay is 0 or less.
func Retry(times int, b Backoff) Decision {
	d := decided{d: engine.Decision{Action: engine.Retry, Times: times, Backoff: b}}
	switch {
	case times < 1:
		d.err = argument("Retry: times", ">= 1", times)
	case b == nil:
		d.err = "Retry: backoff must not be nil"
	default:
		d.err = probe(b)
	}
	return d
}

// probe returns what is wrong with what b makes.
func probe(b Backoff) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprintf("Retry: backoff panics: %v", p)
		}
	}()
	switch made := b().(type) {
	case nil:
		return "Retry: backoff must not make nil"
	case *jitter:
		if !made.valid() {
			return fmt.Sprintf("Exponential: want 0 < first <= longest, got %v and %v", made.first, made.max)
		}
	}
	return ""
}

// Exponential waits for first before the first retry, for twice as long before each further one, but for longest at the most, each wait
// drawn at random between zero and that ("full jitter"), so that what failed together does not come back together.
//
//	Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
func Exponential(first, longest time.Duration) Backoff {
	return func() backoff.BackOff { return newJitter(first, longest) }
}

// DeadLetter stores the item, its error and the stage's name in sink, and lets it go. Where storing fails, the next
// decision is asked. Pushes come one at a time from all stages that share the decision. A sink that is an io.Closer is
// closed when the run has ended, after the other sinks.
func DeadLetter(sink stage.Sink[stage.DeadLetter]) Decision {
	d := decided{d: engine.Decision{Action: engine.DeadLetter}}
	if sink == nil {
		d.err = "DeadLetter: sink must not be nil"
		return d
	}
	d.d.Letters = engine.NewLetters(sink)
	return d
}

// If restricts a decision to the errors that match.
func If(match func(error) bool, d Decision) Decision {
	if match == nil || d == nil {
		return decided{err: "If: match and decision must not be nil"}
	}
	inner, err := d.decision()
	if outer := inner.Match; outer != nil {
		inner.Match = func(e error) bool { return match(e) && outer(e) }
	} else {
		inner.Match = match
	}
	return decided{inner, err}
}

// NoContext adapts a function that can fail and needs no context: flow.NoContext(strconv.Atoi).
func NoContext[A, B any](fn func(A) (B, error)) func(context.Context, A) (B, error) {
	if fn == nil {
		return nil
	}
	return func(_ context.Context, a A) (B, error) { return fn(a) }
}

// Settlement says how a message ends that an edge drops: [Ack], [Term] or [Nak].
type Settlement interface{ outcome() stage.Outcome }

// settled is the type of the settlements without parameters.
type settled uint8

// The settlements without parameters.
const (
	// Ack settles a dropped message as done.
	Ack settled = iota
	// Term settles it as never to be delivered again.
	Term
)

func (s settled) outcome() stage.Outcome {
	if s == Term {
		return stage.Outcome{Kind: stage.Terminated, Err: ErrDropped}
	}
	return stage.Outcome{}
}

type nak time.Duration

func (n nak) outcome() stage.Outcome {
	return stage.Outcome{Kind: stage.Failed, GivenBack: true, Err: ErrDropped, Delay: time.Duration(n)}
}

// Nak gives a dropped message back, to be delivered again after delay: it settles as failed, and is not to blame.
func Nak(delay time.Duration) Settlement { return nak(delay) }

// SettleOption is what [SettleDropped] returns.
type SettleOption struct{ s Settlement }

func (o SettleOption) buffer(s *settings) { o.on(s) }
func (o SettleOption) source(s *settings) { o.on(s) }

func (o SettleOption) on(s *settings) {
	if text := checkSettlement(o.s); text != "" {
		s.errs = append(s.errs, "SettleDropped: "+text)
		return
	}
	s.dropped = o.s
}

// checkSettlement returns what is wrong with a settlement.
func checkSettlement(s Settlement) string {
	switch delay, ok := s.(nak); {
	case s == nil:
		return "settlement must not be nil"
	case ok && delay < 0:
		return argument("the delay of Nak", ">= 0", time.Duration(delay))
	}
	return ""
}

// SettleDropped says how a message ends that an edge drops: at a Buffer for that edge, at a source for all edges behind it. An
// edge that can drop messages of a broker must have one or the other.
func SettleDropped(s Settlement) SettleOption { return SettleOption{s} }
