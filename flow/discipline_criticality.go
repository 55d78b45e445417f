package flow

import (
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// The ranks of ByCriticality, first to be shed first.
const (
	rankSheddable = iota
	rankRetry     // what has failed before, of any class below CriticalPlus
	rankSheddablePlus
	rankCritical
	rankCriticalPlus

	ranks
)

// CriticalityOption is an option of [ByCriticality]: [Reserved].
type CriticalityOption interface{ criticality(o *queue.Order) }

type reserved int

func (r reserved) criticality(o *queue.Order) { o.Reserved = int(r) }

// Reserved keeps n places of the edge for items that are Critical or CriticalPlus: at most a tenth of its capacity, because what is
// reserved is idle in between. EdgeStats.Reserve says how many are.
func Reserved(n int) CriticalityOption { return reserved(n) }

// ByCriticality serves the class first that is kept longest, and lets the least one pay. From first to be shed to last: Sheddable,
// retries of any class below CriticalPlus (Meta.Attempt above 1), SheddablePlus, Critical, CriticalPlus. class gives that of an item; nil
// takes it from the metadata, where Critical is the default.
//
//	Shape:        order is kept within each of the five, and given up between them.
//	Backpressure: under Block producers wait by class, and the highest is let in first. Under DropNewest and DropOldest
//	              an item of the least class pays, the arriving one included: the newest or the oldest. Low
//	              classes may wait for as long as there is higher work: MaxWait is how they leave.
//	Errors:       Reserved below 0 or above a tenth of the capacity, Block with MaxWeight, and CoDel, which knows no
//	              classes, are build errors. A panic in class stops the run.
//	Concurrency:  class is called by the producers, perhaps at the same time, outside the edge's lock.
//	Cost:         a place and links for each item (BenchmarkOrders in internal/queue); no allocation.
//
// It creates no capacity. When what is Critical has to be shed the answer is more of it, and EdgeStats.CriticalShed says so.
func ByCriticality[T any](class func(T) stage.Criticality, opts ...CriticalityOption) Discipline[T] {
	d := &discipline[T]{
		name: "ByCriticality", policies: allPolicies, alone: true,
		of: queue.Order{Kind: queue.ByRank, Lanes: ranks, From: rankCritical},
	}
	for _, o := range opts {
		if o == nil {
			d.check(false, "an option must not be nil")
			continue
		}
		o.criticality(&d.of)
	}
	d.check(d.of.Reserved >= 0, argument("Reserved", ">= 0", d.of.Reserved))
	d.lane = func(v T, t *queue.Tag) (int, int) {
		var m stage.Meta
		if t != nil {
			m.Criticality, m.Attempt = t.Meta.Criticality, t.Meta.Attempt
		}
		if class != nil {
			m.Criticality = class(v)
		}
		return rankOf(m.Criticality, m.Attempt), 1
	}
	return d
}

func rankOf(c stage.Criticality, attempt int) int {
	switch {
	case c >= stage.CriticalPlus:
		return rankCriticalPlus
	case c <= stage.Sheddable:
		return rankSheddable
	case attempt > 1:
		return rankRetry
	case c == stage.SheddablePlus:
		return rankSheddablePlus
	}
	return rankCritical
}
