package stagetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
)

// numbered are the checks that the documentation counts, with the rules that they check and a twin that breaks these and no
// other. The numbers 31 to 43 are those of package brokertest.
var numbered = []struct {
	number int
	name   string
	rules  []string
	breaks string
	of     func(rule, breaks string) []check
}{
	{1, "count and order at odd sizes", []string{"P2"}, "swaps values of large chunks", ofSource},
	{2, "bounds", []string{"P1"}, "writes past dst", ofSource},
	{3, "empty dst", []string{"P6"}, "consumes for an empty dst", ofSource},
	{4, "no empty progress", []string{"P5"}, "returns nothing now and then", ofSource},
	{5, "sticky end", []string{"P4"}, "waits after the end", ofSource},
	{6, "values before the error", []string{"P3"}, "drops a chunk of 8 to 100 that is the last", ofSource},
	{7, "identity of the error", []string{"P3"}, "ends cleanly instead of failing", ofSource},
	{8, "cancel at three moments without loss", []string{"P7"}, "loses a value", ofSource},
	{9, "a deadline that is over", []string{"P7"}, "takes a deadline that is over for the end", ofSource},
	{10, "close", []string{"P10"}, "fails the second Close", ofSource},
	{11, "no retention", []string{"P8"}, "writes to dst later", ofSource},
	{12, "prefetch bound", []string{"P11"}, "reads one value ahead", ofSource},
	{13, "nothing left over", []string{"left"}, "leaves a goroutine for a minute", ofSource},
	{14, "push demand laws", []string{"U1", "U2", "U3", "U4", "U5", "U6", "U7", "ctx", "second"}, "delivers one more", ofPublisher},
	{15, "conservation", []string{"15"}, "repeats every fifth value", ofStage},
	{16, "settled once", []string{"16"}, "makes a second child without the claim", ofStage},
	{17, "order under random delays", []string{"17"}, "hands on what is ready", ofStage},
	{18, "faults in user code", []string{"18"}, "recovers and goes on", ofStage},
	{19, "hold limit", []string{"19"}, "reads ahead", ofStage},
	{20, "cancel at input, output, in user code", []string{"20"}, "gives user code a context of its own", ofStage},
	{21, "the rest at the end and at an error", []string{"21"}, "waits for its timer at the end", ofStage},
	{22, "pauses of hours", []string{"22"}, "takes a pause for an error", ofStage},
	{23, "downstream leaves early", []string{"23"}, "reads to the end although nobody listens", ofStage},
	{24, "calls at a time", []string{"24"}, "has one worker more than it says", ofStage},
	{25, "once when healthy, an error when not", []string{"K1"}, "hides that it is broken", ofSink},
	{26, "slow and deaf sinks", []string{"K4"}, "is deaf", ofSink},
	{27, "close flushes and its error counts", []string{"K6"}, "hides the error of its flush", ofSink},
	{28, "linearizable", []string{"28"}, "lets others pass one", ofEdge},
	{29, "exact accounts of drops", []string{"29"}, "does not tell of each drop", ofEdge},
	{30, "heavier than the budget", []string{"30"}, "lets light items pass for ever", ofEdge},
}

func ofSource(rule, breaks string) []check {
	return one(sourceTwins, func(tw sourceTwin) bool { return tw.rule == rule && tw.breaks == breaks }).checks()
}

func ofPublisher(rule, breaks string) []check {
	return one(publisherTwins, func(tw publisherTwin) bool { return tw.rule == rule && tw.breaks == breaks }).checks()
}

func ofStage(rule, breaks string) []check {
	return one(stageTwins, func(tw stageTwin) bool { return tw.rule == rule && tw.breaks == breaks }).checks()
}

func ofSink(rule, breaks string) []check {
	return one(sinkTwins, func(tw sinkTwin) bool { return tw.rule == rule && tw.breaks == breaks }).checks()
}

func ofEdge(rule, breaks string) []check {
	return one(edgeTwins, func(tw edgeTwin) bool { return tw.rule == rule && tw.breaks == breaks }).checks()
}

func one[T any](all []T, is func(T) bool) T { return all[slices.IndexFunc(all, is)] }

// TestTwins lists a twin for each number, what it breaks, and what its check says.
func TestTwins(t *testing.T) {
	for i, n := range numbered {
		if n.number != i+1 {
			t.Fatalf("number %d at place %d", n.number, i+1)
		}
		t.Run(fmt.Sprintf("%d %s: %s", n.number, n.name, n.breaks), func(t *testing.T) {
			wantOnly(t, found(t, n.of(n.rules[0], n.breaks)), slices.Concat(n.rules, slow[n.rules[0]+n.breaks]))
		})
	}
}

// found is what the checks of a kit have found in a twin, by rule. It notes those that have found something in caught.
func found(t *testing.T, checks []check, caught ...map[string]bool) map[string][]error {
	t.Helper()
	all := make(map[string][]error)
	for _, c := range checks {
		if c.lacks != "" {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			for _, err := range c.run(t) {
				if _, ok := errors.AsType[lacking](err); !ok {
					all[c.rule] = append(all[c.rule], err)
					for _, by := range caught {
						by[c.rule+" "+c.name] = true
					}
				}
			}
		})
	}
	return all
}

// wantAll fails the test for each check that has not caught a twin.
func wantAll(t *testing.T, checks []check, caught map[string]bool) {
	t.Helper()
	for _, c := range checks {
		if name := c.rule + " " + c.name; !caught[name] {
			t.Errorf("the check %q catches no twin", name)
		}
	}
}

// wantOnly fails the test unless the checks of the first rule have found something, and of all others only those of the rules
// that belong to the same number or are broken as well.
func wantOnly(t *testing.T, all map[string][]error, of []string, also ...string) {
	t.Helper()
	wantFinding(t, all[of[0]], of[0])
	for other, errs := range all {
		if !slices.Contains(of, other) && !slices.Contains(also, other) {
			t.Errorf("found by the checks of %s as well: %v", other, errs[0])
		}
	}
	for _, other := range also {
		if len(all[other]) == 0 {
			t.Errorf("not found by the checks of %s", other)
		}
	}
}
