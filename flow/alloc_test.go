package flow_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// allocItems is how many items separate the two runs that are compared, the shorter of which has fewItems: enough for every
// buffer to have grown. What a run allocates once is then the same for both.
const (
	allocItems = 100_000
	fewItems   = 20_000
)

// perItem is how many allocations an item may cost: none, but for what the runtime does meanwhile.
const perItem = 0.001

func TestHotPathsAllocateNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(n int) error
	}{
		{"three hops", pushes(func(f flow.Flow[int]) flow.Flow[int] {
			for range 3 {
				f = f.Buffer(1024, flow.Block).Map(twice)
			}
			return f
		})},
		{"Map, Filter and Tap, fused", pushes(func(f flow.Flow[int]) flow.Flow[int] {
			return f.Map(twice).Filter(even).Tap(func(int) {})
		})},
		{"TryMap", pushes(func(f flow.Flow[int]) flow.Flow[int] { return f.TryMap(same) })},
		{"FlatMap to a slice that is there", pushes(func(f flow.Flow[int]) flow.Flow[int] {
			one := make([]int, 1)
			return f.FlatMap(func(i int) []int {
				one[0] = i
				return one
			})
		})},
		{"Parallel in order", pushes(func(f flow.Flow[int]) flow.Flow[int] { return f.Buffer(1024, flow.Block).Parallel(4, same) })},
		{"Parallel, unordered", pushes(func(f flow.Flow[int]) flow.Flow[int] {
			return f.Buffer(1024, flow.Block).Parallel(4, same, flow.Unordered)
		})},
		{"Merge", func(n int) error {
			a, b := flow.From(counting(n/2)), flow.From(counting(n-n/2))
			return counted(flow.Merge(a, b), n)
		}},
		{"Broadcast", func(n int) error {
			branches := flow.From(counting(n)).Broadcast(2)
			a, b := &tally{}, &tally{}
			p := flow.Join(branches[0].To(a), branches[1].To(b))
			return errors.Join(p.Run(context.Background()), a.want(n), b.want(n))
		}},
		{"Gather", pushes(func(f flow.Flow[int]) flow.Flow[int] { return f }, flow.Gather(100, 0))},
		{"ForEach", func(n int) error {
			k := 0
			err := flow.From(counting(n)).ForEach(func(context.Context, int) error {
				k++
				return nil
			}).Run(context.Background())
			return errors.Join(err, (&tally{n: k}).want(n))
		}},
		{"Reduce", func(n int) error {
			k, err := flow.From(counting(n)).Reduce(context.Background(), 0, func(k, _ int) int { return k + 1 })
			return errors.Join(err, (&tally{n: k}).want(n))
		}},
		{"All", func(n int) error {
			k := 0
			for _, err := range flow.From(counting(n)).All(context.Background()) {
				if err != nil {
					return err
				}
				k++
			}
			return (&tally{n: k}).want(n)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := allocsPerItem(t, c.run); got >= perItem {
				t.Errorf("%.4f allocations an item, want less than %v", got, perItem)
			}
		})
	}
}

func TestOffersToAFullEdgeAllocateNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		onFull flow.Policy
		want   error // nil: accepted
	}{
		{"refused by DropNewest", flow.DropNewest, flow.ErrDropped},
		{"refused by Reject", flow.Reject, errFull},
		{"refused by Block", flow.Block, errFull},
		{"accepted by DropOldest", flow.DropOldest, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := allocsPerItem(t, func(n int) error { return offers(c.onFull, n, c.want) })
			if got >= perItem {
				t.Errorf("%.4f allocations an offer, want less than %v", got, perItem)
			}
		})
	}
}

func TestABatchAllocatesItsSliceOnly(t *testing.T) {
	const size = 50
	got := size * allocsPerItem(t, func(n int) error {
		items := 0
		err := flow.From(counting(n)).Batch(size, 0).ForEach(func(_ context.Context, b []int) error {
			items += len(b)
			return nil
		}).Run(context.Background())
		return errors.Join(err, (&tally{n: items}).want(n))
	})
	if got < 1-size*perItem || got > 1+size*perItem {
		t.Errorf("%.3f allocations a batch, want 1", got)
	}
}

// allocsPerItem runs fewItems items, and allocItems more, and returns by how many allocations an item the second run differs.
func allocsPerItem(t *testing.T, run func(n int) error) float64 {
	t.Helper()
	return allocsOf(t, fewItems, fewItems+allocItems, run)
}

// allocsOf runs few items, and many, and returns by how many allocations an item the second run differs. Each number is the least of
// some runs: the runtime allocates now and then, too.
func allocsOf(t *testing.T, few, many int, run func(n int) error) float64 {
	t.Helper()
	allocs := func(n int) float64 {
		least := uint64(math.MaxUint64)
		for range 3 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := run(n)
			runtime.ReadMemStats(&after)
			must(t, err)
			least = min(least, after.Mallocs-before.Mallocs)
		}
		return float64(least)
	}
	return (allocs(many) - allocs(few)) / float64(many-few)
}

// pushes returns a run that counts what comes out of the operators.
func pushes(operators func(flow.Flow[int]) flow.Flow[int], opts ...flow.SinkOption) func(n int) error {
	return func(n int) error { return counted(operators(flow.From(counting(n))), n, opts...) }
}

func counted(f flow.Flow[int], n int, opts ...flow.SinkOption) error {
	var sink tally
	return errors.Join(f.To(&sink, opts...).Run(context.Background()), sink.want(n))
}

// counting is a source of 0 to n-1 that allocates nothing.
func counting(n int) stage.Source[int] {
	next := 0
	return stage.SourceFunc(func(_ context.Context, dst []int) (int, error) {
		if next == n {
			return 0, stage.ErrEnd
		}
		k := min(len(dst), n-next)
		for i := range dst[:k] {
			dst[i] = next + i
		}
		next += k
		return k, nil
	})
}

// tally is a sink that counts.
type tally struct{ n int }

// Push implements stage.Sink.
func (s *tally) Push(_ context.Context, items []int) error {
	s.n += len(items)
	return nil
}

func (s *tally) want(n int) error {
	if s.n != n {
		return fmt.Errorf("got %d items, want %d", s.n, n)
	}
	return nil
}

// errFull stands for any *flow.FullError.
var errFull = errors.New("full")

// offers makes n offers to a full edge and wants the same answer to each.
func offers(onFull flow.Policy, n int, want error) error {
	const capacity = 16
	in := flow.NewInlet(flow.Edge[int]{Capacity: capacity, OnFull: onFull})
	ctx := context.Background()
	for i := range capacity {
		if _, err := in.Offer(ctx, i); err != nil {
			return err
		}
	}
	for i := range n {
		if _, err := in.Offer(ctx, i); !answers(err, want) {
			return fmt.Errorf("offer %d: got error %w, want %w", i, err, want)
		}
	}
	in.Close()
	return counted(in.Flow(), capacity)
}

// answers reports whether err is the answer that is wanted.
func answers(err, want error) bool {
	if _, full := errors.AsType[*flow.FullError](err); full {
		return errors.Is(want, errFull)
	}
	return errors.Is(err, want) // nil is nil
}
