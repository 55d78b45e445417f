package flow

import (
	"github.com/weir-go/weir/internal/engine"
	"github.com/weir-go/weir/stage"
)

// MergeSorted makes one sorted flow of several: f and all others must be sorted by cmp, which is negative if a comes before b, as
// for slices.SortFunc. Of equal values that of the earlier input comes first. What is not sorted comes through all the
// same, not sorted.
//
//	Shape:        several T → T, sorted; an edge in front of each input, no goroutine of its own; holds at most 64
//	              values of each.
//	Emits:        the smallest value, once there is one of every input that has not ended.
//	Backpressure: waits for downstream, and for the input that has no value: the others go on until their edges are
//	              full.
//	Ends:         when all inputs have ended.
//	Errors:       cmp can't fail. A panic in it stops the run. A nil cmp is a build error, and so are inputs that
//	              are branches of one fan-out, Balance aside: they would wait for each other (docs/deadlock.md).
//	Claims:       travel along.
//	Cost:         about log2 of the number of inputs calls of cmp, up to twice as many; no allocation per item.
func (f Flow[T]) MergeSorted(cmp func(a, b T) int, others ...Flow[T]) Flow[T] {
	nd, ups := joinedNode("mergesorted", &settings{}, append([]Flow[T]{f}, others...)...)
	nd.check(cmp != nil, "function must not be nil")
	return Flow[T]{&fused[T]{node: nd, read: func(b *build, w *engine.Worker) engine.Input[T] {
		ports, s := newPorts(b, w, ups, nd)
		step := &sortedStep[T]{Fused: engine.NewFused(w, b.stage(nd)), ports: ports, cmp: cmp}
		return engine.Paced(w, step, s)
	}}}
}

type sortedStep[T any] struct {
	engine.Fused
	ports []*engine.Port[T]
	cmp   func(a, b T) int

	asked int   // inputs that were asked for their first value
	heap  []int // inputs with values at hand, the one with the smallest first value on top
	dry   bool  // the one on top has none at hand
}

// Pull implements engine.Reader. It hands on what can be compared without waiting.
func (s *sortedStep[T]) Pull(dst []T, tags []*engine.Tag) (n int, err error) {
	if err := s.ready(len(dst)); err != nil {
		return 0, err
	}
	n, err = s.merge(dst, tags)
	s.Stage.Count(n, n)
	return n, err
}

// ready waits until every input has a value at hand, or has ended.
func (s *sortedStep[T]) ready(demand int) error {
	for ; s.asked < len(s.ports); s.asked++ {
		more, err := s.fill(s.asked, demand)
		if more {
			s.heap = append(s.heap, s.asked)
			err = s.order(func() { s.up(len(s.heap) - 1) })
		}
		if err != nil {
			return err
		}
	}
	if s.dry {
		more, err := s.fill(s.heap[0], demand)
		if err != nil {
			return err
		}
		if !more {
			last := len(s.heap) - 1
			s.heap[0], s.heap = s.heap[last], s.heap[:last]
		}
		s.dry = false
		if err := s.order(func() { s.down(0) }); err != nil {
			return err
		}
	}
	if len(s.heap) == 0 {
		return stage.ErrEnd
	}
	return nil
}

// fill waits for values of input i. It reports whether there are any, or the input has ended.
func (s *sortedStep[T]) fill(i, demand int) (more bool, err error) {
	if err = s.ports[i].Fill(demand); err == stage.ErrEnd {
		return false, nil
	}
	return err == nil, err
}

// order calls what calls the user's function.
func (s *sortedStep[T]) order(fn func()) (err error) {
	defer s.GuardAll(&err)
	s.Begin()
	fn()
	return nil
}

// merge hands on values until dst is full or an input has no more at hand.
func (s *sortedStep[T]) merge(dst []T, tags []*engine.Tag) (n int, err error) {
	defer s.GuardAll(&err)
	began := s.Begin()
	for n < len(dst) {
		port := s.ports[s.heap[0]]
		n += port.Move(dst[n:n+1], engine.Cut(tags, min(n, len(tags)), min(n+1, len(tags))))
		if len(port.Values) == 0 {
			s.dry = true
			break
		}
		s.down(0)
	}
	s.End(began, 0, 0)
	return n, nil
}

// less compares the first values of the inputs at i and j in the heap.
func (s *sortedStep[T]) less(i, j int) bool {
	a, b := s.heap[i], s.heap[j]
	c := s.cmp(s.ports[a].Values[0], s.ports[b].Values[0])
	return c < 0 || c == 0 && a < b
}

// up moves the input at i towards the top of the heap.
func (s *sortedStep[T]) up(i int) {
	for i > 0 && s.less(i, (i-1)/2) {
		s.heap[i], s.heap[(i-1)/2] = s.heap[(i-1)/2], s.heap[i]
		i = (i - 1) / 2
	}
}

// down moves the input at i away from it.
func (s *sortedStep[T]) down(i int) {
	for {
		least := 2*i + 1
		if least >= len(s.heap) {
			return
		}
		if r := least + 1; r < len(s.heap) && s.less(r, least) {
			least = r
		}
		if !s.less(least, i) {
			return
		}
		s.heap[i], s.heap[least] = s.heap[least], s.heap[i]
		i = least
	}
}

// Leave implements engine.Reader.
func (s *sortedStep[T]) Leave() {
	for _, p := range s.ports {
		p.Leave()
	}
}
