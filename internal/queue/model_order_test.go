package queue_test

import (
	"slices"
	"time"

	"github.com/weir-go/weir/internal/codel"
	"github.com/weir-go/weir/internal/fairqueue"
	"github.com/weir-go/weir/internal/queue"
)

// modelLanes is how many lanes the orders of the tests have.
const modelLanes = 4

// modelOrder is an order of service by looking at all items. Whose turn it is, and what CoDel drops, the packages say that do just that,
// and are tested by themselves.
type modelOrder struct {
	m      *model
	pays   func(id int) bool // whether the queue made an item pay
	turn   *fairqueue.Queue
	law    [modelLanes]codel.State
	stands codel.State // of Newest

	waits    int // the lane for which a producer waits, -1: none
	took1    int // items of the last take
	returned time.Time
	times    []time.Duration // of service, the last 64
	ended    time.Time       // the last one
	trial    time.Time       // until then nothing else is tried
}

func newModelOrder(m *model, pays func(id int) bool) modelOrder {
	return modelOrder{m: m, pays: pays, turn: fairqueue.New(modelLanes, true), waits: -1}
}

func (o *modelOrder) kind() queue.Kind { return o.m.cfg.Order.Kind }

func (o *modelOrder) drops() bool {
	return o.m.cfg.OnFull == queue.DropNewest || o.m.cfg.OnFull == queue.DropOldest
}

// inside returns the places of the items of a lane, in the order in which they came.
func (o *modelOrder) inside(lane int) (ks []int) {
	for k, i := range o.m.items {
		if i.lane == lane {
			ks = append(ks, k)
		}
	}
	return ks
}

func (o *modelOrder) came(v thing) {
	if o.kind() == queue.Fair {
		o.turn.Add(v.lane, v.lane+1)
	}
}

func (o *modelOrder) went(v thing, served bool) {
	if o.kind() != queue.Fair {
		return
	}
	if served {
		cost := int64(1)
		if o.m.cfg.MaxWeight > 0 {
			cost = max(v.weight, 1)
		}
		o.turn.Charge(v.lane, cost)
	}
	if len(o.inside(v.lane)) == 0 {
		o.turn.Empty(v.lane)
	}
}

// admits reports whether v may have one of the free places, of which there is one.
func (o *modelOrder) admits(v thing) bool {
	free := o.m.cfg.Capacity - len(o.m.items)
	switch o.kind() {
	case queue.Fair:
		if o.drops() {
			return true
		}
		return free > 1 && o.waits < 0 || len(o.inside(v.lane)) == 0 && o.waits != v.lane
	case queue.ByRank:
		return o.waits < v.lane && (free > o.m.cfg.Order.Reserved || v.lane >= o.m.cfg.Order.From)
	case queue.FIFO, queue.Newest, queue.Largest:
	}
	return true
}

func (o *modelOrder) next() int {
	items := o.m.items
	switch o.kind() {
	case queue.Newest:
		c := codel.Config{Target: o.m.cfg.Order.Target, Interval: o.m.cfg.Order.Interval}
		if o.stands.Above(&c, time.Now().UnixNano(), time.Since(items[0].at), len(items)-1) {
			return len(items) - 1
		}
	case queue.Fair:
		return o.inside(o.turn.Next())[0]
	case queue.ByRank:
		for lane := modelLanes - 1; lane >= 0; lane-- {
			if ks := o.inside(lane); len(ks) > 0 {
				return ks[0]
			}
		}
	case queue.FIFO, queue.Largest:
	}
	return 0
}

// victim returns who pays for v, -1 for v itself.
func (o *modelOrder) victim(v thing) int {
	oldest := o.m.cfg.OnFull == queue.DropOldest
	end := func(ks []int) int {
		switch {
		case len(ks) == 0:
			return -1
		case oldest:
			return ks[0]
		}
		return ks[len(ks)-1]
	}
	switch o.kind() {
	case queue.Fair:
		most := 0
		for lane := range modelLanes {
			most = max(most, len(o.inside(lane)))
		}
		if own := o.inside(v.lane); len(own)+1 > most {
			if oldest {
				return own[0]
			}
			return -1
		}
		for lane := range modelLanes { // which of several lanes as long pays is open: the queue says
			if ks := o.inside(lane); len(ks) == most && o.pays(o.m.items[end(ks)].id) {
				return end(ks)
			}
		}
		return -1
	case queue.ByRank:
		for lane := range v.lane {
			if ks := o.inside(lane); len(ks) > 0 {
				return end(ks)
			}
		}
		if oldest {
			return end(o.inside(v.lane))
		}
		return -1
	case queue.Largest:
		best := -1
		for k, i := range o.m.items {
			switch {
			case time.Since(i.at) > o.m.cfg.Order.Age:
			case best < 0, i.weight > o.m.items[best].weight, i.weight == o.m.items[best].weight && !oldest:
				best = k
			}
		}
		if best >= 0 && (o.m.items[best].weight > v.weight || o.m.items[best].weight == v.weight && oldest) {
			return best
		}
		return -1
	case queue.FIFO, queue.Newest:
	}
	if oldest {
		return 0
	}
	return -1
}

// late reports whether v can't be finished by its deadline. Where items are served in the order of arrival the next one is asked only.
// The first of a take may be let through all the same, to see whether things have changed.
func (o *modelOrder) late(v thing, first bool) bool {
	left, tight := o.left(v)
	tried := first && left > 0 && !time.Now().Before(o.trial) && time.Since(o.ended) >= left
	return tight && !tried
}

// left returns how much time v has left, and whether that is too little.
func (o *modelOrder) left(v thing) (left time.Duration, tight bool) {
	if o.m.cfg.Deadline == nil || v.deadline.IsZero() {
		return 0, false
	}
	left = time.Until(v.deadline)
	return left, left < o.slow()
}

func (o *modelOrder) slow() time.Duration {
	n := len(o.times)
	if n == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(o.times))[(n*95+99)/100-1]
}

// starts says that v is the first of a take.
func (o *modelOrder) starts(v thing) {
	if left, tight := o.left(v); tight {
		o.trial = time.Now().Add(max(left, o.slow()))
	}
}

// judge reports whether the k-th item, which is next, must not start.
func (o *modelOrder) judge(k int, dropping, first bool) (queue.Reason, bool) {
	i := o.m.items[k]
	if o.late(i.thing, first) {
		return queue.DropDeadline, true
	}
	c := o.m.cfg.CoDel
	if c.Target == 0 {
		return 0, false
	}
	lane, behind := 0, len(o.m.items)-1
	if o.kind() == queue.Fair {
		lane, behind = i.lane, len(o.inside(i.lane))-1
	}
	state := o.law[lane]
	drop := state.Drop(&c, time.Now().UnixNano(), time.Since(i.at), behind)
	if drop == dropping {
		o.law[lane] = state
	}
	return queue.DropShed, drop
}

// comes says that the consumer is back: what it took before is finished.
func (o *modelOrder) comes() {
	if o.took1 > 0 {
		o.times = append(o.times, time.Since(o.returned)/time.Duration(o.took1))
		o.times = o.times[max(len(o.times)-64, 0):]
		o.took1, o.ended, o.trial = 0, time.Now(), time.Time{}
	}
}

func (o *modelOrder) took(n int) { o.took1, o.returned = n, time.Now() }
