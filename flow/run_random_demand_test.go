package flow_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/weir-go/weir/flow"
)

// widest is the most that anybody is asked for at a time.
const widest = 256

// credit is the account of a source that is pulled: how many items it was asked for, has given, and has been let off because it
// had fewer. What is left is the demand of the one pull that waits.
type credit struct {
	w   *world
	src *source

	mu                  sync.Mutex
	asked, given, spare int64
	open                int // demand of the pull that waits; 0: none does
	pulls               int
	over                bool // it has said that there is no more
}

// ask answers a pull for n items.
func (c *credit) ask(n int, answer func() (int, error)) (k int, err error) {
	<-c.w.begun
	c.w.wrong(c.begin(n))
	defer func() { c.end(n, k, err) }()
	c.w.wrong(c.overdrawn(n)) // reads the statistics, which may call a user's key
	return answer()
}

func (c *credit) begin(n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked += int64(n)
	c.pulls++
	if c.open > 0 || n < 1 || n > widest {
		return fmt.Errorf("L3: %s is asked for %d while %d are asked for", c.src.point.name, n, c.open)
	}
	c.open = n
	return nil
}

func (c *credit) end(n, k int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.given += int64(k)
	c.spare += int64(n - k)
	c.open = 0
	c.over = c.over || err != nil
}

// overdrawn says whether n items are more than there is room for: in the blocking edges that take them, whose only producer has
// asked, and in the whole graph.
func (c *credit) overdrawn(n int) error {
	r := c.w.live
	if r == nil || n == 1 && c.pulls%16 != 0 { // it costs more than all else
		return nil
	}
	if room, where := c.w.room(r, c.src); n > room {
		return fmt.Errorf("L3: %s is asked for %d, and %s has room for %d", c.src.point.name, n, where, room)
	}
	if inside, known := c.w.inside(); known && inside+n > c.w.graph.Bound {
		return fmt.Errorf("L3: %s is asked for %d, %d are inside, and the bound is %d", c.src.point.name, n, inside, c.w.graph.Bound)
	}
	return nil
}

// room returns how much room there is in the edges that take what src gives, and which edge has the least. Only the source's own
// goroutine makes it less.
func (w *world) room(r *flow.Run, src *source) (room int, where string) {
	last := w.last(src.point.name)
	room = widest
	if slices.Contains([]string{"merge", "conflate", "groupby", ""}, last.Op) {
		return room, where // it pulls before it knows of room, or never waits for any
	}
	var edges []flow.GraphEdge
	for _, e := range w.graph.Edges {
		lane := last.Op != "parallelbykey" || slices.Contains(e.To, last.Name) // not the edge behind
		if slices.Contains(e.From, last.Name) && lane {
			edges = append(edges, e)
		}
	}
	if len(edges) > 1 && w.leavers {
		return room, where // some branches may have left
	}
	for _, s := range r.Stats().Edges {
		i := slices.IndexFunc(edges, func(e flow.GraphEdge) bool { return e.Name == s.Name })
		if i < 0 || s.OnFull != flow.Block || edges[i].MaxWeight > 0 {
			continue
		}
		free := s.Capacity - s.Depth
		if routes(last.Op) {
			free = max(free, 1) // the item is needed to know its edge
		}
		if free < room {
			room, where = free, s.Name
		}
	}
	return room, where
}

// routes reports whether op gives an item to one of several edges.
func routes(op string) bool {
	return slices.Contains([]string{"partition", "split", "parallelbykey"}, op)
}

// last returns the last stage in the goroutine of a stage.
func (w *world) last(name string) (st flow.GraphStage) {
	for i := 0; i >= 0; {
		i = slices.IndexFunc(w.graph.Fused, func(pair [2]string) bool { return pair[0] == name })
		if i >= 0 {
			name = w.graph.Fused[i][1]
		}
	}
	if i := slices.IndexFunc(w.graph.Stages, func(st flow.GraphStage) bool { return st.Name == name }); i >= 0 {
		st = w.graph.Stages[i]
	}
	return st
}

// groups are the operators that make one item of several messages, so that there may be more of these than items.
var groups = is("batch", "batchweight", "groups", "zip", "zipwith", "conflate")

// inside returns how many messages have been handed out and are not settled, where that can be compared with the bound of the
// graph.
func (w *world) inside() (n int, known bool) {
	if w.fed() || uses(w.s.ops, groups) {
		return 0, false
	}
	for _, src := range w.sources {
		if src.kind == "items" {
			n += src.broker.inside()
		}
	}
	return n, true
}

// inside returns how many messages have been handed out and are not settled.
func (b *broker) inside() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next - len(b.settled)
}

// look checks what holds whenever everything waits: L2 and L3, and that no message is done whose values have not come.
func (w *world) look(src *source, r *flow.Run) {
	if !w.well() {
		return
	}
	w.s.seen.note("look")
	w.wrong(w.edges(r, false))
	w.wrong(w.balance(r))
	w.record(false)
	w.lenient = w.leavers && w.forks || w.fed() || slices.ContainsFunc(w.allEnds(), func(e *end) bool { return e.kind == "chan" })
	w.check(src)
}

// balance is L3 at a moment when everything waits: what was asked for is what was given, what is asked for, and what the source has
// been let off. At the end nothing is asked for. Where nothing is inside, all credit is back: the source is asked.
func (w *world) balance(r *flow.Run) error {
	var errs []error
	over := w.isOver()
	for _, src := range w.sources {
		errs = append(errs, src.credit.balance(over), w.taken(r, src))
		if src.push != nil && !over {
			errs = append(errs, src.push.balance())
		}
		if src.kind == "items" && w.atWork(r) && src.broker.inside() == 0 {
			w.s.seen.note("nothing inside")
			if !src.credit.waits() {
				errs = append(errs, fmt.Errorf("L3: nothing of %s is inside, and it is asked for nothing", src.point.name))
			}
		}
	}
	return errors.Join(errs...)
}

func (c *credit) balance(over bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked != c.given+c.spare+int64(c.open) || over && c.open > 0 {
		return fmt.Errorf("L3: %s was asked for %d, has given %d, was let off %d, and is asked for %d (over: %t)",
			c.src.point.name, c.asked, c.given, c.spare, c.open, over)
	}
	return nil
}

// total returns how many items the source has given, and whether it counts them.
func (c *credit) total() (given int64, counts bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.given, c.pulls > 0
}

// waits reports whether the source is being asked, or has no more.
func (c *credit) waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.open > 0 || c.over
}

// taken is L2 at the source: the run has counted what it was given.
func (w *world) taken(r *flow.Run, src *source) error {
	given, counts := src.credit.total()
	for _, st := range r.Stats().Stages {
		if st.Name == src.point.name && counts && st.Out != given {
			return fmt.Errorf("L2: %s has given %d, and the run has counted %d", st.Name, given, st.Out)
		}
	}
	return nil
}

// atWork reports whether the run can be expected to ask each of its sources that has nothing inside: there is nothing in it
// that has no claim, and no source waits for its turn.
func (w *world) atWork(r *flow.Run) bool {
	select {
	case <-r.Done():
		return false
	default:
	}
	return !w.leavers && !w.struck.Load() && !uses(w.s.ops, is("besteffort", "keepalive", "concat"))
}

// edges is L2: no edge ever held more than its capacity, and none loses count, at any moment. When the run has ended well, all
// are empty.
func (w *world) edges(r *flow.Run, over bool) error {
	var errs []error
	for _, e := range r.Stats().Edges {
		if e.MaxDepth > e.Capacity || e.In != e.Out+int64(e.Depth)+e.Dropped.Total() || over && w.exact && e.Depth > 0 {
			errs = append(errs, fmt.Errorf("L2: edge %s: depth up to %d of %d, in %d, out %d, held %d, dropped %d",
				e.Name, e.MaxDepth, e.Capacity, e.In, e.Out, e.Depth, e.Dropped.Total()))
		}
		if over {
			errs = append(errs, w.hooks(w.s.ops, e))
		}
	}
	return errors.Join(errs...)
}

// hooks compares what an edge says it has dropped with what its hook was told.
func (w *world) hooks(ops []*op, e flow.EdgeStats) (err error) {
	uses(ops, func(o *op) bool {
		if p := o.at; p != nil && p.name == e.Name && int64(len(p.dropped.values())) != e.Dropped.Total() {
			err = fmt.Errorf("edge %s dropped %d, its hook was told of %d", e.Name, e.Dropped.Total(), len(p.dropped.values()))
		}
		return false
	})
	return err
}
