package stagetest

import (
	"reflect"
	"testing"

	"github.com/weir-go/weir/stage"
)

// SinkOptions say what [TestSink] may expect of a sink. Items is required; each other field allows more checks.
type SinkOptions[T any] struct {
	Items []T               // what the kit pushes: two or more, all different
	Equal func(a, b T) bool // reflect.DeepEqual by default

	// Taken returns what the sink opened last has put where it belongs, in that order. It is asked after Close.
	Taken func() []T

	// Broken opens a sink whose outside refuses something at the first Push of Items.
	Broken func(t *testing.T) stage.Sink[T]
	// Waiting opens a sink on which Push waits for ever.
	Waiting func(t *testing.T) stage.Sink[T]
	// FailingFlush opens a sink that holds items back in Push, and whose outside fails when Close hands them over.
	FailingFlush func(t *testing.T) stage.Sink[T]

	Workers int               // how many callers the sink allows at a time; 0 means one
	Bubble  bool              // run each check in a bubble of testing/synctest
	Skip    map[string]string // rule, like "K4", to the reason why the sink can't keep it
}

// TestSink checks the rules of [stage.Sink], each in a subtest. open returns a fresh sink at each call. K2 is a rule for callers,
// which the kit keeps.
//
//	Errors:      each violation is an error of the subtest and quotes the rule.
//	Ownership:   the kit closes the sinks that are an io.Closer. Items are pushed in slices of the kit, which it
//	             overwrites.
//	Concurrency: open is called from one goroutine at a time; with Bubble it is called inside the bubble.
func TestSink[T any](t *testing.T, o SinkOptions[T], open func(t *testing.T) stage.Sink[T]) {
	t.Helper()
	if len(o.Items) < 2 {
		t.Fatalf("SinkOptions.Items has %d items, want two or more", len(o.Items))
	}
	k := newSinkKit(o, open)
	checks := k.checks()
	checkSkips(t, checks, o.Skip)
	runChecks(t, checks, o.Bubble, o.Skip)
}

type sinkKit[T any] struct {
	SinkOptions[T]
	open func(t *testing.T) stage.Sink[T]
	t    *testing.T // of the check that runs
}

func newSinkKit[T any](o SinkOptions[T], open func(t *testing.T) stage.Sink[T]) *sinkKit[T] {
	if o.Equal == nil {
		o.Equal = func(a, b T) bool { return reflect.DeepEqual(a, b) }
	}
	return &sinkKit[T]{SinkOptions: o, open: open}
}

// checks are the subtests, in the order of the rules.
func (k *sinkKit[T]) checks() []check {
	on := func(run func(*sinkKit[T]) []error) func(*testing.T) []error {
		return func(t *testing.T) []error {
			t.Helper()
			bound := *k
			bound.t = t
			return run(&bound)
		}
	}
	lacks := func(missing bool, option string) string {
		if missing {
			return option
		}
		return ""
	}
	return []check{
		{rule: "K1", name: "once when healthy", run: on((*sinkKit[T]).healthy)},
		{rule: "K1", name: "an error when broken", run: on((*sinkKit[T]).broken), lacks: lacks(k.Broken == nil, "Broken")},
		{rule: "K3", name: "the slice is not kept", run: on((*sinkKit[T]).retention)},
		{rule: "K3", name: "the slice is not changed", run: on((*sinkKit[T]).untouched)},
		{rule: "K4", name: "a context that is done", run: on((*sinkKit[T]).cancelledBefore)},
		{rule: "K4", name: "cancel while waiting", run: on((*sinkKit[T]).cancelWaiting), lacks: lacks(k.Waiting == nil, "Waiting")},
		{rule: "K5", name: "callers", run: on((*sinkKit[T]).callers)},
		{rule: "K6", name: "close", run: on((*sinkKit[T]).closing)},
		{rule: "K6", name: "the error of the flush", run: on((*sinkKit[T]).flushError), lacks: lacks(k.FailingFlush == nil, "FailingFlush")},
	}
}
