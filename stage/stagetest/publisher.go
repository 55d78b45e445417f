package stagetest

import (
	"reflect"
	"testing"

	"github.com/weir-go/weir/stage"
)

// PublisherOptions say what [TestPublisher] may expect of a publisher. Want is required; each other field allows more checks.
type PublisherOptions[T any] struct {
	Want    []T               // what a subscription gets: two values or more; nine make better checks
	Err     error             // what Fail says behind them; nil means Complete
	Endless bool              // more follows Want: the kit takes no more than Want
	Equal   func(a, b T) bool // reflect.DeepEqual by default

	// Once says that the publisher serves one subscription and refuses the second. Without it each subscription gets all of
	// Want, however many there are at a time.
	Once bool

	// Waiting opens a publisher that has nothing to deliver until release is called, and then Want.
	Waiting func(t *testing.T) (p stage.Publisher[T], release func())
	// Empty opens a publisher that has no values at all. It ends as Err says.
	Empty func(t *testing.T) stage.Publisher[T]

	Bubble bool              // run each check in a bubble of testing/synctest
	Skip   map[string]string // rule, like "U4", to the reason why the publisher can't keep it
}

// TestPublisher checks the rules of [stage.Publisher], each in a subtest. open returns a fresh publisher at each call.
//
//	Errors:      each violation is an error of the subtest and quotes the rule. Two calls of a subscriber are at once
//	             also where one is made inside the other.
//	Ownership:   the kit cancels every subscription, and closes the publishers that are an io.Closer.
//	Concurrency: open is called from one goroutine at a time; with Bubble it is called inside the bubble. Request and
//	             Cancel are called by up to eight.
func TestPublisher[T any](t *testing.T, o PublisherOptions[T], open func(t *testing.T) stage.Publisher[T]) {
	t.Helper()
	if len(o.Want) < 2 {
		t.Fatalf("PublisherOptions.Want has %d values, want two or more", len(o.Want))
	}
	checks := newPublisherKit(o, open).checks()
	checkSkips(t, checks, o.Skip)
	runChecks(t, checks, o.Bubble, o.Skip)
}

type publisherKit[T any] struct {
	PublisherOptions[T]
	open  func(t *testing.T) stage.Publisher[T]
	t     *testing.T // of the check that runs
	log   *breaches  // of the check that runs
	final error      // what is to come behind Want
}

func newPublisherKit[T any](o PublisherOptions[T], open func(t *testing.T) stage.Publisher[T]) *publisherKit[T] {
	if o.Equal == nil {
		o.Equal = func(a, b T) bool { return reflect.DeepEqual(a, b) }
	}
	k := &publisherKit[T]{PublisherOptions: o, open: open, final: o.Err}
	if o.Err == nil {
		k.final = stage.ErrEnd
	}
	return k
}

// checks are the subtests, in the order of the rules.
func (k *publisherKit[T]) checks() []check {
	on := func(run func(*publisherKit[T])) func(*testing.T) []error {
		return func(t *testing.T) []error {
			t.Helper()
			bound := *k
			bound.t, bound.log = t, new(breaches)
			run(&bound)
			return bound.log.found()
		}
	}
	lacks := func(missing bool, option string) string {
		if missing {
			return option
		}
		return ""
	}
	endless := lacks(k.Endless, "Endless = false")
	waiting := lacks(k.Waiting == nil, "Waiting")
	return []check{
		{rule: "U1", name: "as many as were requested", run: on((*publisherKit[T]).noMore)},
		{rule: "U1", name: "requests add up", run: on((*publisherKit[T]).additive)},
		{rule: "U1", name: "requests add up while it waits", run: on((*publisherKit[T]).additiveWaiting), lacks: waiting},
		{rule: "U1", name: "the largest request", run: on((*publisherKit[T]).saturating)},
		{rule: "U1", name: "the largest request while it waits", run: on((*publisherKit[T]).saturatingWaiting), lacks: waiting},
		{rule: "U1", name: "eight goroutines request", run: on((*publisherKit[T]).crowd)},
		{rule: "U2", name: "one call after another", run: on((*publisherKit[T]).serial)},
		{rule: "U3", name: "the end needs no demand", run: on((*publisherKit[T]).ending), lacks: endless},
		{rule: "U3", name: "an end without values", run: on((*publisherKit[T]).endingEmpty), lacks: lacks(k.Empty == nil, "Empty")},
		{rule: "U3", name: "nothing behind the end", run: on((*publisherKit[T]).behindTheEnd), lacks: endless},
		{rule: "U4", name: "a request of less than one", run: on((*publisherKit[T]).badRequest)},
		{rule: "U5", name: "request inside a delivery", run: on((*publisherKit[T]).requestInside)},
		{rule: "U5", name: "nothing to wait for", run: on((*publisherKit[T]).promptCalls), lacks: waiting},
		{rule: "U5", name: "any goroutine", run: on((*publisherKit[T]).anyGoroutine)},
		{rule: "U6", name: "nothing behind Cancel", run: on((*publisherKit[T]).behindCancel)},
		{rule: "U6", name: "cancel inside a delivery", run: on((*publisherKit[T]).cancelInside)},
		{rule: "U6", name: "cancel while it waits", run: on((*publisherKit[T]).cancelWaiting), lacks: waiting},
		{rule: "U6", name: "the subscriber is forgotten", run: on((*publisherKit[T]).forgetting)},
		{rule: "U7", name: "fewer are taken", run: on((*publisherKit[T]).takingFewer)},
		{rule: "second", name: "subscription", run: on((*publisherKit[T]).second)},
		{rule: "ctx", name: "ends behind Subscribe", run: on((*publisherKit[T]).contextEnds)},
	}
}
