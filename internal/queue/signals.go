package queue

import "time"

// Signals are what an edge says about the load, beside what it counts.
type Signals struct {
	Target     int           // how many may wait before it is a standing queue
	TargetWait time.Duration // how long that many wait; 0 while nothing is known
	Standing   bool          // what has waited longest never waited less in the last interval: a queue that does not clear

	Service     time.Duration // mean service time of an item; 0 while nothing is known
	OfferedRate float64       // items per second that arrive, refused ones included
	OfferedLoad float64       // that by how many per second can be finished; 0 while nothing is known
	Recovery    time.Duration // until what waits is gone, if all stays as it is; 0 where nothing waits, negative if it never is

	MeanDepth   float64 // over time
	LittleDepth float64 // rate x mean wait, which is the same

	Reserve    int           // places kept for the higher ranks that are free
	Ranks      []RankCounts  // of ByRank
	OverdueFor time.Duration // of Fair: how long the lane that is longest without its turn has been
	OverdueKey string        // whose lane it is
	TurnTime   time.Duration // of Fair: how long a turn of all lanes takes in which each has one item
}

// RankCounts counts the items of a rank.
type RankCounts struct {
	Offered int64 // all that came
	Refused int64 // those of them that paid when there was no room
}

// signals returns them as of now, under the lock. overdue is the item that is next in the lane that is longest without its turn.
func (q *Queue[T]) signals(now int64) (s Signals, overdue func() string) {
	c := &q.count
	s.Target = q.cfg.Target
	if s.Target == 0 {
		s.Target = (q.consumers + 1) / 2
	}
	s.Service = c.service.mean()
	workers := max(q.consumers, 1)
	s.TargetWait = s.Service * time.Duration(s.Target) / time.Duration(workers)
	f := c.flow
	f.update(now, q.arrived(), q.kept())
	s.OfferedRate = f.rate(f.offered)
	if s.Service > 0 {
		capacity := float64(workers) / s.Service.Seconds()
		s.OfferedLoad = s.OfferedRate / capacity
		s.Recovery = recovery(q.depth(), capacity-f.rate(f.accepted))
	}
	s.MeanDepth, s.LittleDepth = c.little.check(q, now)
	if q.slab != nil {
		switch o := q.slab.order.(type) {
		case *ranks:
			s.Reserve = min(max(q.free(), 0), o.reserved)
			s.Ranks = append(s.Ranks, q.count.ranks...)
		case *fair:
			overdue = q.overdue(o, &s, now)
		}
	}
	return s, overdue
}

// recovery returns how long a backlog takes to clear at a rate of spare items a second.
func recovery(backlog int, spare float64) time.Duration {
	switch {
	case backlog == 0:
		return 0
	case spare <= 0:
		return -1
	}
	return time.Duration(min(float64(backlog)/spare*float64(time.Second), float64(never/2)))
}

// overdue looks for the lane that is longest without its turn.
func (q *Queue[T]) overdue(f *fair, s *Signals, now int64) func() string {
	active, worst := 0, int64(0)
	first := none
	for i := range f.lanes {
		l := &f.lanes[i]
		if l.n == 0 {
			continue
		}
		active++
		if d := now - l.served; first == none || d > worst {
			worst, first = d, l.first
		}
	}
	if first == none {
		return nil
	}
	s.OverdueFor = time.Duration(max(worst, 0))
	s.TurnTime = s.Service * time.Duration(active) / time.Duration(max(q.consumers, 1))
	if q.cfg.KeyText == nil {
		return nil
	}
	v, key := q.slab.values[first], ""
	if t := q.slab.tags[first]; t != nil {
		key = t.Meta.Key
	}
	return func() string { return q.cfg.KeyText(v, key) }
}

// arrived returns how many items came, refused ones included.
func (q *Queue[T]) arrived() int64 { return q.count.in + q.count.refusals + q.refused.Load() }

// kept returns how many of them stayed.
func (q *Queue[T]) kept() int64 {
	n := q.count.in
	for _, d := range q.count.dropped {
		n -= d
	}
	return n
}

// flow measures how many items come in a time. Old figures fade.
type flow struct {
	at                int64 // of the last update
	arrived, kept     int64 // then
	elapsed           float64
	offered, accepted float64 // in the time elapsed
}

// flowSpan is for how long figures are remembered in full.
const flowSpan = 2 * time.Second

// update adds what came since the last one.
func (f *flow) update(now, arrived, kept int64) {
	if now <= f.at {
		return
	}
	f.elapsed += float64(now - f.at)
	f.offered += float64(arrived - f.arrived)
	f.accepted += float64(kept - f.kept)
	f.at, f.arrived, f.kept = now, arrived, kept
	for f.elapsed > float64(flowSpan) {
		f.elapsed /= 2
		f.offered /= 2
		f.accepted /= 2
	}
}

// rate returns n items in the time elapsed as items per second.
func (f *flow) rate(n float64) float64 {
	if f.elapsed == 0 {
		return 0
	}
	return max(n, 0) / f.elapsed * float64(time.Second)
}

// little compares what the depth has been over time with what items have waited: by Little's law they are the same.
type little struct {
	start, at int64
	area      float64 // item-nanoseconds up to at
	waits     float64 // nanoseconds, of all items that have left
}

// pass adds the time up to now, in which depth items waited.
func (l *little) pass(now int64, depth int) {
	if d := now - l.at; d > 0 {
		l.area += float64(d) * float64(depth)
		l.at = now
	}
}

// left adds the waits of n items that were accepted at the moment at and have left.
func (l *little) left(at int64, n int) { l.waits += float64(l.at-at) * float64(n) }

// check returns the mean depth, measured and by the law.
func (l *little) check[T any](q *Queue[T], now int64) (mean, law float64) {
	elapsed := float64(now - l.start)
	if elapsed <= 0 {
		return 0, 0
	}
	area, waits := l.area+float64(max(now-l.at, 0))*float64(q.depth()), l.waits
	if q.slab != nil {
		for i := q.slab.age.first; i != none; i = q.slab.younger(i) {
			waits += float64(now - q.slab.of[i].at)
		}
	} else {
		for i := range q.marks.n {
			m := q.marks.buf[q.marks.at(i)]
			waits += float64(now-m.at) * float64(m.n)
		}
	}
	return area / elapsed, waits / elapsed
}
