package engine

import (
	"github.com/weir-go/weir/internal/queue"
	"github.com/weir-go/weir/stage"
)

// Router is the tail that puts every item into one of several edges.
//
// Which one is known only when the item has been pulled, so no room can be had for it before: where an edge is full, the
// router pulls a single item, and waits with it for room in its edge.
type Router[T any] struct {
	Fused
	in     Input[T]
	choose func(T) int
	lanes  bool       // the edges belong to one operator, which counts the items, and whose lanes leave together
	links  []*Link[T] // nil: the branch has left
	open   int
	buf    chunkBuffer[T]

	to     []int     // the edge of each item of a chunk
	sorted Buffer[T] // the chunk, edge by edge
	ends   []int     // where in it the items of each edge end
}

// NewRouter makes w put each item from in into one of n branches, which are then attached one by one: the one that choose, user
// code, says. What a branch that has left does not take is done.
func NewRouter[T any](w *Worker, st *Stage, in Input[T], n int, choose func(T) int) *Router[T] {
	r := &Router[T]{
		Fused: NewFused(w, st), in: in, choose: choose,
		links: make([]*Link[T], n), open: n, ends: make([]int, n),
	}
	r.buf.tagged = in.Tagged
	w.Body(r.run, func() {
		in.Leave()
		r.buf.abandon(w)
	})
	return r
}

// NewLaneRouter is [NewRouter] for the n lanes of an operator that counts the items itself. The lanes leave together, and then
// the router does, giving back what it has.
func NewLaneRouter[T any](w *Worker, st *Stage, in Input[T], n int, choose func(T) int) *Router[T] {
	r := NewRouter(w, st, in, n, choose)
	r.lanes = true
	return r
}

// Stream returns what is known of the stream that the edges get.
func (r *Router[T]) Stream() Stream {
	s := r.in.Stream
	s.Branch = s.Branch || !r.lanes
	return s
}

// Attach makes l the edge i.
func (r *Router[T]) Attach(i int, l *Link[T]) {
	r.links[i] = l
	l.Feed(r.W)
}

func (r *Router[T]) run() error {
	for {
		room, err := r.demand()
		if err != nil {
			return err
		}
		values, tags := r.buf.room(room)
		n, err := r.in.Pull(values, tags)
		if n > 0 {
			if rerr := r.route(values[:n], Cut(tags, 0, n)); rerr != nil {
				return rerr
			}
			r.buf.used(r.W, n)
		}
		if err != nil {
			return err
		}
	}
}

// demand returns how many items may be pulled: as many as fit into any of the edges, and one where an edge is full.
func (r *Router[T]) demand() (int, error) {
	room := maxChunk
	for i, l := range r.links {
		if l == nil {
			continue
		}
		n, err := l.Demand(r.W.Out, maxChunk, false)
		switch {
		case err == queue.ErrLeft && !r.lanes:
			r.drop(i)
		case err != nil:
			return 0, err
		default:
			room = min(room, n)
		}
	}
	if r.open == 0 {
		return 0, queue.ErrLeft
	}
	return room, nil
}

func (r *Router[T]) drop(i int) {
	r.links[i] = nil
	r.open--
}

// route hands on a chunk. Where choose fails, it hands on what is in front of that item.
func (r *Router[T]) route(values []T, tags []*Tag) error {
	done, failure := r.decide(values)
	if failure != nil {
		r.Lose(failure, len(values)-done, Cut(tags, min(done, len(tags)), len(tags)))
		clear(values[done:])
	}
	if !r.lanes {
		r.Stage.Count(done, done)
	}
	if err := r.put(r.sort(values[:done], Cut(tags, 0, min(done, len(tags))))); err != nil {
		return err
	}
	return failure
}

// decide asks for the edge of each item.
func (r *Router[T]) decide(values []T) (done int, err error) {
	defer r.Guard(&err)
	if len(values) > len(r.to) {
		r.to = make([]int, len(values))
	}
	began := r.Begin()
	for i, v := range values {
		done = i
		r.to[i] = r.choose(v)
	}
	r.End(began, 0, 0)
	return len(values), nil
}

// sort moves a chunk to where the items of one edge are together, in order.
func (r *Router[T]) sort(values []T, tags []*Tag) ([]T, []*Tag) {
	to := r.to[:len(values)]
	clear(r.ends)
	for _, i := range to {
		r.ends[i]++
	}
	for i, start := 0, 0; i < len(r.ends); i++ {
		r.ends[i], start = start, start+r.ends[i]
	}
	sorted, sortedTags := r.sorted.Room(len(values), tags != nil)
	for from, i := range to {
		at := r.ends[i]
		sorted[at] = values[from]
		if tags != nil {
			sortedTags[at] = tags[from]
		}
		r.ends[i]++
	}
	Clear(values, tags)
	return sorted, sortedTags
}

// put hands what was sorted to the edges, and gives back what none of them has taken over, also where user code of an edge's does
// not return.
func (r *Router[T]) put(values []T, tags []*Tag) (err error) {
	from := 0
	defer func() {
		if from < len(values) {
			from += r.W.Out.Took
			r.W.doubt = r.W.doubt || err == nil && from < len(values) // it was the weight of one of them
			r.W.giveBack(err, len(values)-from, Cut(tags, min(from, len(tags)), len(tags)))
		}
		Clear(values, tags)
	}()
	for i, end := range r.ends {
		if from == end {
			continue
		}
		if err = r.hand(i, values[from:end], Cut(tags, min(from, len(tags)), min(end, len(tags)))); err != nil {
			return err
		}
		from = end
	}
	return nil
}

// hand puts items into edge i.
func (r *Router[T]) hand(i int, values []T, tags []*Tag) error {
	took := 0
	if l := r.links[i]; l != nil {
		var err error
		took, err = l.Put(r.W.Out, values, tags, nil)
		switch {
		case err == nil:
			return nil
		case err != queue.ErrLeft || r.lanes:
			r.W.suspect(err)
			return edgeError(r.W, err)
		}
		r.drop(i)
	}
	release(Cut(tags, min(took, len(tags)), len(tags)), stage.Outcome{})
	return nil
}
