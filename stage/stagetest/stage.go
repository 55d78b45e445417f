package stagetest

import (
	"cmp"
	"context"
	"reflect"
	"testing"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// Work is what the kit does inside a part's user code: it waits, fails, panics, and counts who is there at the same time. A part
// that calls functions of its user calls it there, once for each value, and treats what it returns as it treats the error of
// such a function. A part that has none does not call it; the checks that need it are skipped, and say so.
type Work func(ctx context.Context) error

// StageOptions say what [TestStage] and [TestOperator] may expect of a part. Item and Want are required, or Item and Fits; each
// other field allows more checks, or describes what the part does. With both, Fits judges what comes behind pauses and drains, as of
// a batch with a limit in time, and Want all else.
type StageOptions[A, B any] struct {
	Item func(i int) A               // the i-th value that goes in, all of them different
	Want func(in []A) []B            // what comes out when these go in, and then the stream ends
	Fits func(in []A, out []B) error // what is wrong with out, where that depends on when the values come

	Equal func(a, b B) bool // reflect.DeepEqual by default
	LetGo func(v A) bool    // whether perhaps nothing is made of v: true for what a filter refuses
	Own   func(v B) bool    // whether v carries no claim, because the part has it from somewhere else
	Key   func(v B) string  // with Unordered: values with the same key come in the order of Want

	Unordered bool // what comes out may be in another order than Want
	Holds     int  // the most values inside while nobody takes any, with its own edges and what it works on; 0 is not checked
	Workers   int  // how many calls of Work there are at a time; 0 means one
	Plain     bool // the user code has neither a context nor an error, as that of Map has not

	Bubble bool              // run each check in a bubble of testing/synctest
	Skip   map[string]string // rule, like "19", to the reason why the part can't keep it
}

// TestStage checks what a pipeline relies on in a [stage.Stage] (the rules 15 to 24), each rule in subtests. open returns a fresh stage at
// each call. The stage runs in pipelines of package flow, behind a source that sees how each message ends.
//
//	Errors:      each violation is an error of the subtest and quotes the rule.
//	Ownership:   the values go through the part: the kit neither keeps nor changes them.
//	Concurrency: open is called from one goroutine at a time; with Bubble it is called inside the bubble. Work may be called
//	             from any goroutine.
func TestStage[A, B any](t *testing.T, o StageOptions[A, B], open func(t *testing.T, work Work) stage.Stage[A, B]) {
	t.Helper()
	TestOperator(t, o, func(t *testing.T, f flow.Flow[A], work Work) flow.Flow[B] {
		t.Helper()
		return f.Via(open(t, work))
	})
}

// TestOperator is [TestStage] for what is made of operators: apply puts the part behind f, as a function for Flow.Apply does.
//
//	Errors, Ownership, Concurrency: as for TestStage, with apply for open.
func TestOperator[A, B any](t *testing.T, o StageOptions[A, B], apply func(t *testing.T, f flow.Flow[A], work Work) flow.Flow[B]) {
	t.Helper()
	if o.Item == nil || o.Want == nil && o.Fits == nil {
		t.Fatal("StageOptions needs Item, and Want or Fits")
	}
	checks := newStageKit(o, apply).checks()
	checkSkips(t, checks, o.Skip)
	runChecks(t, checks, o.Bubble, o.Skip)
}

type stageKit[A, B any] struct {
	StageOptions[A, B]
	apply func(t *testing.T, f flow.Flow[A], work Work) flow.Flow[B]
}

func newStageKit[A, B any](o StageOptions[A, B], apply func(*testing.T, flow.Flow[A], Work) flow.Flow[B]) *stageKit[A, B] {
	if o.Equal == nil {
		o.Equal = func(a, b B) bool { return reflect.DeepEqual(a, b) }
	}
	if o.LetGo == nil {
		o.LetGo = func(A) bool { return false }
	}
	o.Workers = max(o.Workers, 1)
	return &stageKit[A, B]{StageOptions: o, apply: apply}
}

// checks are the subtests, in the order of the rules.
func (k *stageKit[A, B]) checks() []check {
	of := func(rule, name string, run func(*stageTrial[A, B]), lacks ...string) check {
		c := check{rule: rule, name: name, run: func(t *testing.T) []error {
			t.Helper()
			r := &stageTrial[A, B]{stageKit: k, t: t, findings: &findings{rule: rule}}
			return r.all(run)
		}}
		c.lacks = cmp.Or(lacks...)
		return c
	}
	lacks := func(missing bool, option string) string {
		if missing {
			return option
		}
		return ""
	}
	want := lacks(k.Want == nil, "Want")
	return []check{
		of("15", "conservation", (*stageTrial[A, B]).conservation),
		of("16", "settled once", (*stageTrial[A, B]).settledOnce),
		of("16", "with the last child", (*stageTrial[A, B]).lastChild),
		of("17", "order under random delays", (*stageTrial[A, B]).order, want, lacks(k.Unordered && k.Key == nil, "Key, or Unordered = false")),
		of("18", "faults in user code", (*stageTrial[A, B]).faults),
		of("19", "hold limit", (*stageTrial[A, B]).holdLimit, want, lacks(k.Holds == 0, "Holds")),
		of("20", "cancel while it waits for input", (*stageTrial[A, B]).cancelInput),
		of("20", "cancel while it waits for output", (*stageTrial[A, B]).cancelOutput),
		of("20", "cancel in user code", (*stageTrial[A, B]).cancelWork, lacks(k.Plain, "Plain = false")),
		of("21", "the rest at a drain", (*stageTrial[A, B]).restAtDrain),
		of("21", "the rest at an error", (*stageTrial[A, B]).restAtError),
		of("22", "pauses of hours", (*stageTrial[A, B]).longPauses, lacks(!k.Bubble, "Bubble")),
		of("23", "downstream leaves early", (*stageTrial[A, B]).leaveEarly),
		of("24", "calls at a time", (*stageTrial[A, B]).callsAtATime),
	}
}
