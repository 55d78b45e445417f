package flow

import (
	"fmt"
	"time"

	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// The defaults of [Groups].
const (
	defaultGroups = 1024
	defaultLane   = 16
)

// Groups says how many groups [Flow.GroupBy] has open at a time, and what waits in front of each.
type Groups[T any] struct {
	// Max is the most groups that are open at a time, 1 to 65536; 0 means 1,024.
	Max int

	// Lane is the edge in front of each group. Its Capacity is 16 where it is 0, and Max times Capacity is at most 2147483647.
	// All lanes together are one edge in graphs and statistics, named after the stage, and so Name must be empty.
	Lane Edge[T]

	// Idle ends a group that has had nothing to do for this long. 0 ends one only when its place is needed.
	Idle time.Duration

	// Ended says what becomes of the items of a key whose stage has returned before the end of its input: [Reopen], the
	// default, or [DropRest].
	Ended EndedGroup
}

// EndedGroup says what becomes of the items of a key whose stage has returned: [Reopen] or [DropRest].
type EndedGroup uint8

// What becomes of the items of a key whose stage has returned before the end of its input.
const (
	// Reopen gives them to another stage of the key, in order. One that returns without taking the item that it was made for
	// fails: the next one would do the same.
	Reopen EndedGroup = iota
	// DropRest drops them, as [DropShed]: the lane's Dropped is told, and their messages end as its SettleDropped says. The
	// group keeps its place meanwhile. Once that is needed, or Idle is over, the key is forgotten, and an item that comes
	// then opens a new group.
	DropRest
)

// validate records what is wrong, and returns g with its defaults.
func (g Groups[T]) validate(n *node) Groups[T] {
	n.check(g.Max >= 0 && g.Max <= maxWorkers, argument("Max", "0 to 65536", g.Max))
	n.check(g.Idle >= 0, argument("Idle", ">= 0", g.Idle))
	n.check(g.Ended <= DropRest, fmt.Sprintf("Ended must be Reopen or DropRest, got %d", g.Ended))
	n.check(g.Lane.Name == "", fmt.Sprintf("Lane: name must be empty, got %q", g.Lane.Name))
	if g.Max == 0 {
		g.Max = defaultGroups
	}
	g.Max = clampWorkers(g.Max)
	if g.Lane.Capacity == 0 {
		g.Lane.Capacity = defaultLane
	}
	var lane node
	g.Lane.validate(&lane)
	lane.check(g.Lane.Discipline == nil, "Discipline has no meaning in a lane, which is that of one key")
	for _, text := range lane.errs {
		n.wrong("Lane: %s", text)
	}
	n.check(g.Lane.Capacity <= maxCapacity/g.Max, fmt.Sprintf("Max times the capacity of Lane must be <= 2147483647, got %d times %d",
		g.Max, g.Lane.Capacity))
	return g
}

// lanes returns the configuration of a lane, and what takes over an item that is dropped behind one, nil where nobody wants to know.
func (g *Groups[T]) lanes(b *build, n *node, s engine.Stream) (lane queue.Config[T], drop func(T, *queue.Tag, queue.Reason)) {
	dropping := g.Lane
	if g.Ended == DropRest {
		dropping.OnFull = DropNewest // for what can drop, whatever its policy
	}
	if s.Claims && dropping.unsaid() && s.Dropped == nil {
		b.fail(n, "its groups can drop messages: say with SettleDropped of Lane how a dropped one ends (Ack, Term or Nak), or at the source")
	}
	name := b.name(n) + ".lanes"
	if dropping.canDrop() {
		b.loses(n, name, "its groups", &s)
	}
	lane = g.Lane.config(name, s, b.run.Stop)
	if s.Branch {
		lane.Left = engine.LeftEarly
	}
	return lane, dropping.config(name, s, b.run.Stop).Dropped
}

// GroupBy runs a stage of its own for each key, as [Flow.Via] runs one for all. The first item of a key opens its group: group
// makes the stage, which runs in a goroutine of its own behind a bounded lane. However many keys there are, there are no more than
// Max groups at a time. When all places are taken, a new key gets that of the group that has waited longest for an item, with
// nothing in its lane: its input ends, and once its stage has returned the place is free. A key that comes back later gets a new
// group, so a stage that sums up emits the sum of what it has seen, not that of all there ever was.
//
//	Shape:        T → U, as the stages like; a goroutine that spreads the items, one for each open group, and an edge
//	              behind all. At most Max groups, each with its lane and one item in hand, and 16 items beside them.
//	Emits:        what the stages emit, as it comes. The order of the input is kept for each key, if its stage keeps
//	              it, also from one group of the key to the next; between keys there is none.
//	Backpressure: a stage's Emit waits for room. An item waits for room in the lane of its key, or for a place for its
//	              group where no group rests, and then holds back all behind it. The next group of a key begins when
//	              the last one has returned.
//	Ends:         with upstream: the inputs of all groups end, and it waits for their stages to return, which may still
//	              emit. A stage that returns earlier frees its place; Groups.Ended says what becomes of what comes then.
//	Errors:       key can't fail: a panic in it stops the run, and so does a key that can't be compared, inside an
//	              interface, or is not equal to itself (NaN). An error that a stage returns, a panic or a Goexit in it or in
//	              group, and a nil stage stop the run; the error has the key. A stage must return when its input ends, or
//	              it keeps its place. Fields out of range, and a nil key or group, are build errors.
//	Claims:       as for Via; what a lane or DropRest drops ends as SettleDropped of Lane says.
//	Concurrency:  stages run at the same time, so group makes one for each call. group and key are called by one
//	              goroutine at a time.
//	Cost:         an edge, and for each open group a lane and a goroutine, a few kilobytes; an item is handed from one
//	              goroutine to another alone, and allocates nothing but what a stage's Emit does.
//
// In the statistics the lanes are one edge; its MaxDepth, MinSojourn and EstimatedWait are those of the worst lane.
//
// To call a function for each item, in order for each key, use [Flow.ParallelByKey].
func (f Flow[T]) GroupBy[K comparable, U any](g Groups[T], key func(T) K, group func(K) stage.Stage[T, U], opts ...StepOption) Flow[U] {
	nd := stepNode("groupby", f, opts)
	nd.check(key != nil, "key must not be nil")
	nd.check(group != nil, "group must not be nil")
	g = g.validate(nd)
	up := f.node()
	return Flow[U]{&pushed[U]{node: nd, write: func(b *build, e edgeSpec[U]) *engine.Link[U] {
		w := b.run.NewWorker()
		in := up.reader(b, w)
		out := e.open(b, in.Stream)
		lane, drop := g.lanes(b, nd, in.Stream)
		engine.GroupBy(w, b.stage(nd), in, out, engine.Groups[K, T, U]{
			Key: key, Make: group, Lane: lane, Most: g.Max, Idle: g.Idle, Once: g.Ended == DropRest, Drop: drop,
		})
		return out
	}}}
}
