package flow_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// sized is a sink that wishes for pushes of some size, and notes those that it gets.
type sized struct {
	wish  int
	asked int
	takes time.Duration

	mu    sync.Mutex
	began time.Time
	sizes []int
	got   []int
	at    []time.Duration
	err   func(vs []int) error
}

func newSized(wish int, takes time.Duration) *sized {
	return &sized{wish: wish, takes: takes, began: time.Now()}
}

func (s *sized) PushSize() int { s.asked++; return s.wish }

func (s *sized) Push(ctx context.Context, vs []int) error {
	if err := nap(ctx, s.takes); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		if err := s.err(vs); err != nil {
			return err
		}
	}
	s.sizes, s.got = append(s.sizes, len(vs)), append(s.got, vs...)
	s.at = append(s.at, time.Since(s.began))
	return nil
}

// sizedItems is one for items.
type sizedItems struct{ *sized }

func (s sizedItems) PushItems(ctx context.Context, its []stage.Item[int]) error {
	vs := make([]int, len(its))
	for i, it := range its {
		vs[i] = it.Value
	}
	return s.Push(ctx, vs)
}

// eachSecond is 0 to n-1, the first at once and then one a second.
func eachSecond(n int) flow.Flow[int] {
	i := -1
	return flow.FromFunc(func(ctx context.Context) (int, error) {
		if i++; i == n {
			return 0, stage.ErrEnd
		}
		if i == 0 {
			return 0, nil
		}
		return i, nap(ctx, time.Second)
	})
}

// A slow sink gets what has come meanwhile, up to what it wishes for.
func TestPushSizeOfASlowSink(t *testing.T) {
	for name, to := range map[string]func(f flow.Flow[int], s *sized) flow.Pipeline{
		"To":      func(f flow.Flow[int], s *sized) flow.Pipeline { return f.To(s) },
		"ToItems": func(f flow.Flow[int], s *sized) flow.Pipeline { return f.ToItems(sizedItems{s}) },
	} {
		inBubble(t, name+", as many as there are", func(t *testing.T) {
			s := newSized(100, 4700*time.Millisecond)
			must(t, to(eachSecond(12), s).Run(t.Context()))
			equalSlices(t, "sizes", s.sizes, []int{1, 4, 5, 2})
			equalSlices(t, "values", s.got, ints(12))
			equal(t, "asked", s.asked, 1)
		})
		inBubble(t, name+", growing up to the size", func(t *testing.T) {
			s := newSized(150, time.Second)
			b := newBroker(1000)
			r := start(t, to(flow.FromItems(b), s))
			must(t, r.Wait())
			equalSlices(t, "values", s.got, ints(1000))
			b.once(t)
			if n := len(s.sizes); n < 7 || n > 9 || slices.Max(s.sizes) != 150 {
				t.Errorf("pushes of %v, want that they grow up to 150", s.sizes)
			}
			if e := r.Stats().Edges[0]; e.Capacity != 150 {
				t.Errorf("the edge has a capacity of %d, want 150", e.Capacity)
			}
		})
	}
}

// A fast sink gets each item when it comes.
func TestPushSizeOfAFastSinkHoldsNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSized(100, 0)
		must(t, eachSecond(5).To(s).Run(t.Context()))
		equalSlices(t, "sizes", s.sizes, []int{1, 1, 1, 1, 1})
		equalSlices(t, "times", s.at, []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second})
	})
}

// A wish is one only where nobody has said how many: Gather goes before it, and without one the sink is part of the chain.
func TestPushSizeAndWhatIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		wish     int
		build    func(f flow.Flow[int], s *sized) flow.Pipeline
		sizes    []int // nil: not exact
		capacity int   // 0: no edge
	}{
		"Gather":          {100, func(f flow.Flow[int], s *sized) flow.Pipeline { return f.To(s, flow.Gather(4, 0)) }, []int{4, 4, 2}, 64},
		"no wish":         {0, func(f flow.Flow[int], s *sized) flow.Pipeline { return f.To(s) }, nil, 0},
		"less than none":  {-1, func(f flow.Flow[int], s *sized) flow.Pipeline { return f.To(s) }, nil, 0},
		"a small wish":    {2, func(f flow.Flow[int], s *sized) flow.Pipeline { return f.To(s) }, nil, 64},
		"workers":         {100, func(f flow.Flow[int], s *sized) flow.Pipeline { return f.To(s, flow.Workers(3)) }, nil, 300},
		"an edge written": {100, func(f flow.Flow[int], s *sized) flow.Pipeline { return f.Buffer(7, flow.Block).To(s) }, nil, 7},
	} {
		inBubble(t, name, func(t *testing.T) {
			s := newSized(c.wish, time.Second)
			r := start(t, c.build(flow.FromSlice(ints(10)), s))
			must(t, r.Wait())
			slices.Sort(s.got)
			equalSlices(t, "values", s.got, ints(10))
			if c.sizes != nil {
				equalSlices(t, "sizes", s.sizes, c.sizes)
			}
			if c.wish > 0 && slices.Max(s.sizes) > c.wish {
				t.Errorf("pushes of %v, want at most %d", s.sizes, c.wish)
			}
			capacity := 0
			for _, e := range r.Stats().Edges {
				capacity += e.Capacity
			}
			equal(t, "capacity of the edge", capacity, c.capacity)
		})
	}
	t.Run("a panic", func(t *testing.T) {
		checkRefusal(t, flow.FromSlice(ints(1)).To((*sized)(nil)).Check(), "PushSize panics")
	})
}

// A stop gives back what waits and what is being pushed, a drain pushes it, and decisions are asked as for Gather.
func TestPushSizeEnds(t *testing.T) {
	inBubble(t, "stop", func(t *testing.T) {
		b := newBroker(200)
		b.stays = true
		s := newSized(50, time.Second)
		r := start(t, flow.FromItems(b).To(s))
		time.Sleep(2500 * time.Millisecond) // two pushes are through, one is on its way
		stopped(t, r)
		b.once(t)
		equalSlices(t, "done", b.kind(stage.Done), s.got)
		equal(t, "report", sum(r.Report()), int64(b.next))
		checkBlame(t, b, fate{})
	})
	inBubble(t, "drain", func(t *testing.T) {
		b := newBroker(100)
		b.stays = true
		s := newSized(50, time.Second)
		r := start(t, flow.FromItems(b).To(s))
		time.Sleep(500 * time.Millisecond)
		must(t, r.Drain(t.Context()))
		b.once(t)
		equal(t, "done", len(b.kind(stage.Done)), b.next)
	})
	inBubble(t, "skip", func(t *testing.T) {
		b := newBroker(100)
		s := newSized(50, time.Second)
		s.err = func(vs []int) error {
			if slices.Contains(vs, 30) {
				return errA
			}
			return nil
		}
		r := start(t, flow.FromItems(b).To(s, flow.OnError(flow.Skip)))
		must(t, r.Wait())
		equalSlices(t, "values", s.got, slices.DeleteFunc(ints(100), func(i int) bool { return i == 30 }))
		equal(t, "skipped", r.Report().Skipped, 1)
		b.once(t)
	})
}
