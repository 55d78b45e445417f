package stagetest_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
	"github.com/weir-go/weir/stage/stagetest"
)

// kitEdge is an edge under the conformance kit.
type kitEdge struct {
	name string
	opts stagetest.EdgeOptions[int]
	edge flow.Edge[int]
}

const tooHeavy = 1_000_000

// fifo are the options of an edge of 0, 1, 2, ...
func fifo() stagetest.EdgeOptions[int] {
	return stagetest.EdgeOptions[int]{Item: func(i int) int { return i }, Bubble: true}
}

// byKey are those of one that keeps the order of each key.
func byKey(key func(int) int) stagetest.EdgeOptions[int] {
	o := fifo()
	o.Key = func(v int) string { return strconv.Itoa(key(v)) }
	return o
}

func anyOrder() stagetest.EdgeOptions[int] {
	o := fifo()
	o.Unordered = true
	return o
}

// weighed gives items weights of 1 to 3, and has one that is too heavy.
func weighed(o stagetest.EdgeOptions[int], e flow.Edge[int]) (stagetest.EdgeOptions[int], flow.Edge[int]) {
	o.Heavy = func() int { return tooHeavy }
	e.MaxWeight = 20
	e.Weight = func(v int) int64 {
		if v == tooHeavy {
			return 21
		}
		return int64(1 + mod3(v))
	}
	return o, e
}

// plainEdges have each policy and each bound.
func plainEdges() (all []kitEdge) {
	for _, onFull := range []flow.Policy{flow.Block, flow.DropNewest, flow.DropOldest, flow.Reject} {
		for _, capacity := range []int{1, 8} {
			e := flow.Edge[int]{Capacity: capacity, OnFull: onFull}
			name := onFull.String() + " of " + strconv.Itoa(capacity)
			all = append(all, kitEdge{name, fifo(), e})
			waits := e
			waits.MaxWait = time.Millisecond
			all = append(all, kitEdge{name + " with MaxWait", fifo(), waits})
			opts, heavy := weighed(fifo(), e)
			all = append(all, kitEdge{name + " by weight", opts, heavy})
			late := e
			late.Deadline = func(v int) time.Time {
				if mod3(v) == 0 {
					return time.Now().Add(-time.Hour)
				}
				return time.Time{}
			}
			all = append(all, kitEdge{name + " with deadlines", fifo(), late})
		}
	}
	return all
}

// classOf makes every third item sheddable.
func classOf(v int) stage.Criticality { return -stage.Criticality(mod3(v)) }

func rank(v int) int { return int(classOf(v)) }

// disciplines are the orders in which an edge can serve.
func disciplines() (all []kitEdge) {
	add := func(name string, o stagetest.EdgeOptions[int], e flow.Edge[int], policies ...flow.Policy) {
		for _, e.OnFull = range policies {
			e.Capacity = 8
			all = append(all, kitEdge{name + " " + e.OnFull.String(), o, e})
			if e.OnFull != flow.Block {
				opts, heavy := weighed(o, e)
				all = append(all, kitEdge{name + " " + e.OnFull.String() + " by weight", opts, heavy})
			}
		}
	}
	policies := []flow.Policy{flow.Block, flow.DropNewest, flow.DropOldest, flow.Reject}
	quick := flow.CoDel{Target: 100 * time.Microsecond, Interval: 200 * time.Microsecond}
	add("FairBy", byKey(mod7), flow.Edge[int]{Discipline: flow.FairBy(mod7)}, policies...)
	add("FairBy with CoDel", byKey(mod7), flow.Edge[int]{Discipline: flow.FairBy(mod7), CoDel: quick}, policies...)
	add("FairByKey", fifo(), flow.Edge[int]{Discipline: flow.FairByKey[int]()}, policies...)
	add("ByCriticality", byKey(rank), flow.Edge[int]{Discipline: flow.ByCriticality(classOf)}, policies...)
	add("AdaptiveLIFO", anyOrder(), flow.Edge[int]{
		Discipline: flow.AdaptiveLIFO[int](100*time.Microsecond, 200*time.Microsecond), MaxWait: 2 * time.Millisecond,
	}, flow.DropOldest)
	add("ShedLargest", fifo(), flow.Edge[int]{
		Discipline: flow.ShedLargest(func(v int) int64 { return int64(mod7(v)) }, time.Millisecond),
	}, flow.DropNewest, flow.DropOldest)
	add("CoDel", fifo(), flow.Edge[int]{CoDel: quick}, policies...)
	return all
}

// TestEdges runs the kit over every policy, bound and order of an edge.
func TestEdges(t *testing.T) {
	for _, e := range slices.Concat(plainEdges(), disciplines()) {
		t.Run(e.name, func(t *testing.T) {
			stagetest.TestEdge(t, e.opts, func(*testing.T) flow.Edge[int] { return e.edge })
		})
	}
}
