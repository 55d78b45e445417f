package stagetest

import (
	"context"
	"testing"

	"github.com/weir-go/weir/flow"
)

// EdgeOptions say what [TestEdge] may expect of an edge. Item is required; each other field allows more checks, or describes what
// the edge does.
type EdgeOptions[T comparable] struct {
	Item  func(i int) T // the i-th item, all of them different, and none heavier than MaxWeight
	Heavy func() T      // one that is heavier than MaxWeight

	Unordered bool             // items come out in another order than first in, first out
	Key       func(v T) string // items with the same key come out first in, first out; others in any order

	Bubble bool              // run each check in a bubble of testing/synctest
	Skip   map[string]string // rule, like "28", to the reason why the edge can't keep it
}

// TestEdge checks what an edge promises (the rules 28 to 30), each in a subtest: any [flow.Edge], with the policy, the bounds and the order
// that it has. open returns the edge, with functions of its own at each call where they have state. The items go through an
// [flow.Inlet] with that edge: up to four goroutines offer them, up to four take them.
//
//	Errors:      each violation is an error of the subtest and quotes the rule.
//	Concurrency: open is called from one goroutine at a time; with Bubble it is called inside the bubble.
func TestEdge[T comparable](t *testing.T, o EdgeOptions[T], open func(t *testing.T) flow.Edge[T]) {
	t.Helper()
	if o.Item == nil {
		t.Fatal("EdgeOptions needs Item")
	}
	checks := newEdgeKit(o, open).checks()
	checkSkips(t, checks, o.Skip)
	runChecks(t, checks, o.Bubble, o.Skip)
}

// entrance is the push side of an edge, as far as the kit uses it.
type entrance[T any] interface {
	Offer(ctx context.Context, v T) (flow.Receipt, error)
	Put(ctx context.Context, v T) (flow.Receipt, error)
	Close()
}

type edgeKit[T comparable] struct {
	EdgeOptions[T]
	open func(t *testing.T) flow.Edge[T]
	// enter makes both sides of an edge: those of an Inlet. The kit's own tests put something broken in its place.
	enter func(e flow.Edge[T]) (entrance[T], flow.Flow[T])
}

func newEdgeKit[T comparable](o EdgeOptions[T], open func(t *testing.T) flow.Edge[T]) *edgeKit[T] {
	return &edgeKit[T]{EdgeOptions: o, open: open, enter: func(e flow.Edge[T]) (entrance[T], flow.Flow[T]) {
		in := flow.NewInlet(e)
		return in, in.Flow()
	}}
}

// checks are the subtests, in the order of the rules.
func (k *edgeKit[T]) checks() []check {
	of := func(rule, name string, run func(*edgeTrial[T]), lacks string) check {
		return check{rule: rule, name: name, lacks: lacks, run: func(t *testing.T) []error {
			t.Helper()
			r := &edgeTrial[T]{edgeKit: k, t: t, findings: &findings{rule: rule}}
			run(r)
			return r.errs
		}}
	}
	heavy := ""
	if k.Heavy == nil {
		heavy = "Heavy"
	}
	return []check{
		of("28", "linearizable with four writers and four readers", (*edgeTrial[T]).linearizable, ""),
		of("29", "accounts while readers come late", (*edgeTrial[T]).lateReaders, ""),
		of("29", "accounts where nobody is told", (*edgeTrial[T]).untold, ""),
		of("29", "accounts under a storm", (*edgeTrial[T]).storm, ""),
		of("30", "too heavy for an empty edge", (*edgeTrial[T]).heavyAlone, heavy),
		of("30", "too heavy among others", (*edgeTrial[T]).heavyAmongOthers, heavy),
	}
}
