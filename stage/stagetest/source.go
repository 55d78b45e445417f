package stagetest

import (
	"reflect"
	"testing"

	"github.com/weir-go/weir/stage"
)

// SourceOptions say what [TestSource] may expect of a source. Want is required; each other field allows more checks.
type SourceOptions[T any] struct {
	Want    []T               // what a fresh source hands out; two values or more make better checks
	Err     error             // the final error behind them; nil means stage.ErrEnd
	Endless bool              // more follows Want: the kit asks for no more than Want
	Equal   func(a, b T) bool // reflect.DeepEqual by default

	// Outside returns how many values the source opened last has read from the outside. Prefetch is how many more than
	// it has handed out that may be.
	Outside  func() int
	Prefetch int

	// Waiting opens a source on which Pull waits until release is called; then it hands out Want.
	Waiting func(t *testing.T) (src stage.Source[T], release func())
	// Trickle opens a source that can hand out one value, Want[0], and would wait for ever for the next.
	Trickle func(t *testing.T) stage.Source[T]
	// Panics opens a source whose outside panics, at once or behind some values.
	Panics func(t *testing.T) stage.Source[T]

	Bubble bool              // run each check in a bubble of testing/synctest
	Skip   map[string]string // rule, like "P7", to the reason why the source can't keep it
}

// TestSource checks the rules of [stage.Source], each in a subtest. open returns a fresh source at each call.
//
//	Errors:      each violation is an error of the subtest and quotes the rule.
//	Ownership:   the kit closes the sources that are an io.Closer.
//	Concurrency: open is called from one goroutine at a time; with Bubble it is called inside the bubble.
func TestSource[T any](t *testing.T, o SourceOptions[T], open func(t *testing.T) stage.Source[T]) {
	t.Helper()
	k := newSourceKit(o, open)
	checks := k.checks()
	checkSkips(t, checks, o.Skip)
	runChecks(t, checks, o.Bubble, o.Skip)
}

type sourceKit[T any] struct {
	SourceOptions[T]
	open func(t *testing.T) stage.Source[T]
	t    *testing.T // of the check that runs
	junk T          // what the kit writes over slices
}

func newSourceKit[T any](o SourceOptions[T], open func(t *testing.T) stage.Source[T]) *sourceKit[T] {
	if o.Err == nil {
		o.Err = stage.ErrEnd
	}
	if o.Equal == nil {
		o.Equal = func(a, b T) bool { return reflect.DeepEqual(a, b) }
	}
	k := &sourceKit[T]{SourceOptions: o, open: open}
	if len(o.Want) > 0 {
		k.junk = o.Want[len(o.Want)-1]
	}
	return k
}

// checks are the subtests, in the order of the rules.
func (k *sourceKit[T]) checks() []check {
	on := func(run func(*sourceKit[T]) []error) func(*testing.T) []error {
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
	endless := lacks(k.Endless, "Endless = false")
	return []check{
		{rule: "P1", name: "bounds", run: on((*sourceKit[T]).bounds)},
		{rule: "P2", name: "order at odd sizes", run: on((*sourceKit[T]).order)},
		{rule: "P3", name: "values before the error", run: on((*sourceKit[T]).valuesFirst), lacks: endless},
		{rule: "P4", name: "sticky end", run: on((*sourceKit[T]).sticky), lacks: endless},
		{rule: "P5", name: "no empty progress", run: on((*sourceKit[T]).progress)},
		{rule: "P6", name: "empty dst", run: on((*sourceKit[T]).emptyDst)},
		{rule: "P7", name: "cancel without loss", run: on((*sourceKit[T]).cancelBetween)},
		{rule: "P7", name: "cancel while waiting", run: on((*sourceKit[T]).cancelWaiting), lacks: lacks(k.Waiting == nil, "Waiting")},
		{rule: "P8", name: "dst is not kept", run: on((*sourceKit[T]).retention)},
		{rule: "P9", name: "one caller after another", run: on((*sourceKit[T]).callers)},
		{rule: "P10", name: "close", run: on((*sourceKit[T]).closing)},
		{rule: "left", name: "nothing left over", run: on((*sourceKit[T]).leftovers), lacks: lacks(!k.Bubble, "Bubble")},
		{rule: "P11", name: "prefetch", run: on((*sourceKit[T]).prefetch), lacks: lacks(k.Outside == nil, "Outside")},
		{rule: "P12", name: "panic", run: on((*sourceKit[T]).panicking), lacks: lacks(k.Panics == nil, "Panics")},
		{rule: "demand", name: "waits for the first value only", run: on((*sourceKit[T]).trickling), lacks: lacks(k.Trickle == nil, "Trickle")},
	}
}
