package flow_test

import (
	"context"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// fairly is an edge that serves keys in turn, and blocks.
func (w *world) fairly(f stream, o *op) stream {
	o.at = w.point("fairly")
	lane := func(d datum) int { w.must(); return laneOf(d) }
	weight := func(lane int) int { return lane + 1 }
	return o.at.watch(f.Edge(flow.Edge[datum]{
		Name: o.at.name, Capacity: o.n, Discipline: flow.FairBy(lane, flow.Weights(weight), flow.Subqueues(o.m%4+1)),
	}))
}

// shed is an edge that loses items, and serves them in another order than they came, or drops them on their way out.
func (w *world) shed(f stream, o *op) stream {
	o.at = w.point("shed")
	o.at.most = o.n
	e := flow.Edge[datum]{Name: o.at.name, Capacity: o.n, Dropped: func(d datum, _ flow.DropReason) {
		_ = o.at.dropped.each(context.Background(), d)
		w.must()
	}}
	if !w.s.atFrom || w.fed() {
		e.SettleDropped = w.settlement(o.at)
	}
	e.OnFull = []flow.Policy{flow.DropNewest, flow.DropOldest}[o.m/8%2]
	switch o.m % 8 {
	case 0:
		e.Discipline = flow.FairBy(func(d datum) int { w.must(); return laneOf(d) })
		e.CoDel = flow.CoDel{Target: time.Millisecond, Interval: 2 * time.Millisecond}
	case 1:
		e.Discipline = flow.FairByKey[datum]()
		e.MaxWeight, e.Weight = 3, w.weight
	case 2:
		e.Discipline = flow.ByCriticality(func(d datum) stage.Criticality { w.must(); return stage.Criticality(laneOf(d) - 2) })
	case 3:
		e.OnFull, e.MaxWait = flow.DropOldest, 5*time.Millisecond
		e.Discipline = flow.AdaptiveLIFO[datum](time.Millisecond, time.Millisecond)
	case 4:
		e.Discipline = flow.ShedLargest(w.weight, 3*time.Millisecond)
	case 5:
		e.OnFull, e.CoDel = flow.Block, flow.CoDel{Target: time.Millisecond, Interval: 2 * time.Millisecond, Law: flow.RootLaw}
	case 6:
		e.OnFull, e.Deadline = flow.Block, func(datum) time.Time { w.must(); return time.Now().Add(2 * time.Millisecond) }
	case 7:
		e.OnFull, e.Discipline, e.MaxWait = flow.Block, flow.ByCriticality[datum](nil), 2*time.Millisecond
	}
	return o.at.watch(f.Edge(e))
}
