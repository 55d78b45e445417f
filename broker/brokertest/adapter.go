package brokertest

import (
	"sync"
	"testing"
	"time"

	"github.com/weir-go/weir/broker"
)

// Adapter is what [Test] checks. New is required.
type Adapter struct {
	// New makes an empty stream. It is called once or twice in each check. What it starts ends with t.
	New func(t *testing.T, c Config) Stream

	Features Features
	Skip     map[string]string // rule, like "F6" or "37", to the reason why the adapter can't keep it
}

// Features say what the kit may rely on.
type Features struct {
	Bubble      bool          // everything works in a bubble of testing/synctest
	DropsOldest bool          // New makes streams that drop the oldest message
	Bytes       bool          // New makes streams that have a limit in bytes
	Patience    time.Duration // how long anything may take on a real clock, 20 s by default
	AtOnce      int           // how many checks may run at the same time on a real clock, 1 by default; they mostly wait
}

// Config is the stream that a check needs. New may offer more of what is not exact here.
type Config struct {
	Messages int64           // exactly so many messages fit
	Bytes    int64           // so many bytes fit, headers and the like included; 0 where only messages count
	Full     broker.FullRule // DropsOldest only with the feature
	Message  int             // bytes of the largest message, headers included; it is taken, one twice as large is not
	InFlight int             // of each Fetcher, exactly
	AckWait  time.Duration   // as good as the broker can
}

// Stream is how a check gets at a stream. Fetcher and Sender are required; each of the others allows more checks.
type Stream struct {
	Subject string                // where messages are sent; "" for a broker that has no subjects
	Fetcher func() broker.Fetcher // a consumer that is not open; all of a stream share its messages
	Sender  func() broker.Sender  // a way in that is not open

	// Down makes the broker unreachable, Up brings it back with what it had stored.
	Down, Up func()
	// Delete removes the stream.
	Delete func()
	// DeleteConsumer removes what the broker knows of the consumers, and leaves the stream.
	DeleteConsumer func()
	// Kill ends a Fetcher that Fetcher made as the death of its process does: the broker is told nothing.
	Kill func(f broker.Fetcher)
	// LoseConfirmations has the next n answers to Senders not arrive, though the messages are stored.
	LoseConfirmations func(n int)
	// Resize sets another limit on the messages in the stream.
	Resize func(messages int64)
	// End says that no more messages will come.
	End func()
}

// Test checks the rules of [broker.Fetcher] and [broker.Sender], and what pipelines rely on, each in a subtest.
//
//	Errors:      each violation is an error of the subtest and quotes the rule.
//	Ownership:   the kit closes the Fetchers and Senders that it has made.
//	Concurrency: New is called by as many goroutines as Features.AtOnce says; with Bubble by one, inside the bubble.
func Test(t *testing.T, a Adapter) {
	t.Helper()
	checkSkips(t, a.Skip)
	if a.Features.Bubble {
		a.Features.AtOnce = 1
	}
	places := make(chan struct{}, max(a.Features.AtOnce, 1))
	var running sync.WaitGroup
	for _, c := range checks {
		places <- struct{}{}
		running.Go(func() {
			defer func() { <-places }()
			t.Run(c.rule+" "+c.name, func(t *testing.T) { c.report(t, a) })
		})
	}
	running.Wait()
}

// report is the subtest.
func (c check) report(t *testing.T, a Adapter) {
	t.Helper()
	if why, ok := a.Skip[c.rule]; ok {
		t.Skipf("left out by the adapter: %s", why)
	}
	errs, lacks := c.run(t, a)
	for _, err := range errs {
		t.Error(err)
	}
	if lacks != "" {
		t.Skipf("needs %s", lacks)
	}
}

// checkSkips finds rules that nobody checks, and reasons that are not given.
func checkSkips(t *testing.T, skip map[string]string) {
	t.Helper()
	for rule, why := range skip {
		if _, ok := rules[rule]; !ok {
			t.Errorf("Skip names the rule %q, which the kit does not have", rule)
		}
		if why == "" {
			t.Errorf("Skip of %s needs a reason", rule)
		}
	}
}
