package brokertest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/broker"
)

// check is one subtest.
type check struct {
	rule, name string
	fn         func(*trial)
}

// checks are the subtests, in the order in which they run.
var checks = []check{
	{"F1", "open of a deleted stream", openDeleted},
	{"F2", "order at odd demands", orderAtOddDemands},
	{"F2", "an empty dst", emptyDst},
	{"F2", "waits for the first delivery only", firstOnly},
	{"F3", "the limit in flight", limitInFlight},
	{"F3", "the demand", demand},
	{"F4", "a context that is done", fetchDone},
	{"F4", "cancel while waiting", cancelWaiting},
	{"F4", "cancel without loss", cancelRacing},
	{"F5", "done and terminated", doneAndTerminated},
	{"F5", "failed", failedAtOnce},
	{"F5", "once per token", oncePerToken},
	{"F5", "from any goroutine", settleAtOnce},
	{"F5", "settle while down", settleWhileDown},
	{"F5", "failed when somebody else has it", failedLate},
	{"F6", "what waits to be fetched", keptWhileWaiting},
	{"F7", "no end without being told", noEnd},
	{"F7", "the clean end", cleanEnd},
	{"F8", "close gives back", closeGivesBack},
	{"F8", "close twice", closeTwice},
	{"F8", "close while down", closeWhileDown},
	{"F9", "one caller after another", callers},
	{"S1", "open a sender while down", openSenderDown},
	{"S2", "stored when nil", storedWhenNil},
	{"S3", "full is ErrFull", fullIsErrFull},
	{"S3", "full by bytes", fullByBytes},
	{"S3", "room again", roomAgain},
	{"S3", "a limit that is lowered", lowerLimit},
	{"S3", "exact under eight senders", exactUnderSenders},
	{"S3", "drops the oldest", dropsTheOldest},
	{"S4", "unknown when the context ends", unknownAtTheEnd},
	{"S5", "order", sendOrder},
	{"S5", "nothing behind a full one", nothingBehindFull},
	{"S5", "nothing behind a full one, sent again", nothingBehindFullAgain},
	{"S6", "full does not wait", fullDoesNotWait},
	{"S7", "messages are not kept", messagesNotKept},
	{"S8", "close a sender twice", closeSenderTwice},
	{"limits", "as configured", limitsAsConfigured},
	{"delivery", "what is known of a message", whatIsKnown},
	{"31", "ack after success only", ackAfterSuccess},
	{"32", "kill and resume", killAndResume},
	{"33", "down at start", downAtStart},
	{"34", "restart", restart},
	{"35", "ack while down is not counted", ackWhileDown},
	{"36", "deleted stream", deletedStream},
	{"36", "deleted consumer", deletedConsumer},
	{"37", "keep-alive during long work", longWork},
	{"38", "poison: one dead letter", poison},
	{"39", "nak always delayed", nakDelayed},
	{"40", "oversize", oversize},
	{"40", "bad headers", badHeaders},
	{"41", "stable identity", stableIdentity},
	{"41", "ambiguous results", ambiguousResults},
	{"42", "drain", drain},
	{"42", "a drain that runs out of time", drainLate},
	{"43", "in-flight limit large enough for the graph", graphInFlight},
}

// run does the check and returns what it has found, and what the adapter lacks for it.
func (c check) run(t *testing.T, a Adapter) (errs []error, lacks string) {
	t.Helper()
	if !a.Features.Bubble {
		return c.try(t, a)
	}
	synctest.Test(t, func(t *testing.T) { errs, lacks = c.try(t, a) })
	return errs, lacks
}

// stopped is what a trial panics with to end its check.
type stopped struct{ lacks string }

func (c check) try(t *testing.T, a Adapter) (errs []error, lacks string) {
	t.Helper()
	if a.Features.Patience == 0 {
		a.Features.Patience = 20 * time.Second
	}
	r := &trial{Adapter: a, t: t, rule: c.rule}
	ctx, cancel := context.WithCancel(t.Context())
	r.ctx = ctx
	defer func() {
		cancel()
		v := recover()
		s, ok := v.(stopped)
		if v != nil && !ok {
			panic(v)
		}
		r.leave() // what is found here counts as well
		errs, lacks = r.errs, s.lacks
	}()
	c.fn(r)
	return nil, "" // set by the deferred function
}

// trial is one run of a check. Its methods are for the goroutine of the check.
type trial struct {
	Adapter
	t      *testing.T
	ctx    context.Context // ends with the check
	rule   string
	errs   []error
	closes []func() error // of what is open, in the order it was opened

	running sync.WaitGroup // calls that were started
}

// addf records a violation of the rule that is checked.
func (r *trial) addf(format string, args ...any) { r.breach(r.rule, format, args...) }

// breach records a violation of another rule.
func (r *trial) breach(rule, format string, args ...any) {
	const most = 10 // of which the first says most
	if len(r.errs) < most {
		r.errs = append(r.errs, fmt.Errorf(format+"\n\trule %s: %s", append(args, rule, rules[rule])...))
	}
}

// fatalf records a violation and ends the check.
func (r *trial) fatalf(format string, args ...any) {
	r.addf(format, args...)
	panic(stopped{})
}

// needs ends the check where the adapter lacks something.
func (r *trial) needs(has bool, what string) {
	if !has {
		panic(stopped{lacks: what})
	}
}

// leave closes what is open, and waits for what was started.
func (r *trial) leave() {
	for _, c := range r.closes {
		if o := r.call(func() (int, error) { return 0, c() }); o.unexpected() != "" {
			r.addf("Close %s", o.unexpected())
		}
	}
	ended := make(chan struct{})
	go func() {
		r.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(r.patience()):
		r.addf("a call has not returned %v after Close", r.patience())
	}
}

// stream makes a stream like the one that is asked for; zero fields get what is fit for most checks.
func (r *trial) stream(c Config) Stream {
	if c.Messages == 0 {
		c.Messages = 1000
	}
	if c.Message == 0 {
		c.Message = 16 << 10
	}
	if c.InFlight == 0 {
		c.InFlight = 64
	}
	if c.AckWait == 0 {
		c.AckWait = r.ackWait()
	}
	return r.New(r.t, c)
}

// The times of the kit. In a bubble they are exact and cost nothing.

// ackWait is the AckWait of streams; a busy machine must be able to keep a delivery alive.
func (r *trial) ackWait() time.Duration { return r.either(30*time.Second, 5*time.Second) }

// afterwards is long enough for a broker to deliver again what it has not been told about.
func (r *trial) afterwards() time.Duration { return 2 * r.ackWait() }

// longAckWait is the AckWait where something has to happen much earlier.
func (r *trial) longAckWait() time.Duration { return r.either(30*time.Second, 10*time.Second) }

// patience is how long a call may take that has to end at some time.
func (r *trial) patience() time.Duration { return r.either(10*time.Minute, r.Features.Patience) }

// soon is how long something may take that happens at once.
func (r *trial) soon() time.Duration { return r.either(100*time.Millisecond, 10*time.Second) }

// while is how long a check waits to see that something does not happen.
func (r *trial) while() time.Duration { return r.either(time.Second, 300*time.Millisecond) }

func (r *trial) either(inBubble, onClock time.Duration) time.Duration {
	if r.Features.Bubble {
		return inBubble
	}
	return onClock
}

// settled lets started calls get to where they wait.
func (r *trial) settled() {
	if r.Features.Bubble {
		synctest.Wait()
		return
	}
	time.Sleep(50 * time.Millisecond)
}

// sender opens a Sender.
func (r *trial) sender(s Stream) broker.Sender {
	sender := s.Sender()
	r.closes = append(r.closes, sender.Close)
	r.opened("Sender", sender.Open)
	return sender
}

// consumer opens a Fetcher.
func (r *trial) consumer(s Stream) *consumer {
	f := s.Fetcher()
	r.closes = append(r.closes, f.Close)
	r.opened("Fetcher", f.Open)
	return r.consume(f)
}

// consume reads a Fetcher that is open.
func (r *trial) consume(f broker.Fetcher) *consumer {
	return &consumer{trial: r, Fetcher: f, unsettled: make(map[uint64]broker.Delivery)}
}

func (r *trial) opened(what string, open func(context.Context) error) {
	o := r.call(func() (int, error) { return 0, open(r.ctx) })
	if s := o.unexpected(); s != "" {
		r.fatalf("Open of a %s %s", what, s)
	}
	if o.err != nil {
		r.fatalf("Open of a %s returned %v", what, o.err)
	}
}

// list names numbers in a finding, the first few of them.
func list(ns []int) string {
	var b strings.Builder
	for i, n := range ns {
		if i == 10 {
			fmt.Fprintf(&b, " and %d more", len(ns)-i)
			break
		}
		fmt.Fprint(&b, " ", n)
	}
	return strings.TrimSpace(b.String())
}
