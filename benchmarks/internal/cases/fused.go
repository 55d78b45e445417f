package cases

import (
	"context"

	"github.com/weir-go/weir/benchmarks/internal/bench"
	"github.com/weir-go/weir/flow"
)

// The functions of the fused chain. They are variables so that no side can inline them.
var (
	addOne  = func(v int64) int64 { return v + 1 }
	isOdd   = func(v int64) bool { return v&1 == 1 }
	triple  = func(v int64) int64 { return 3 * v }
	sum     = func(acc, v int64) int64 { return acc + v }
	tryOne  = func(_ context.Context, v int64) (int64, error) { return v + 1, nil }
	tryMore = func(_ context.Context, v int64) (int64, error) { return 3 * v, nil }
)

// Fused is row P2: steps without an edge.
func Fused() bench.Case {
	return fused("P2", "Map, Filter, Map and a sum, fused", 2.0, func(f flow.Flow[int64]) flow.Flow[int64] {
		return f.Map(addOne).Filter(isOdd).Map(triple)
	})
}

// FusedTry is row P2b: the same with functions that get a context and may fail.
func FusedTry() bench.Case {
	c := fused("P2b", "P2 with TryMap in place of Map", 2.6, func(f flow.Flow[int64]) flow.Flow[int64] {
		return f.TryMap(tryOne).Filter(isOdd).TryMap(tryMore)
	})
	c.Figures = bench.PerNoisyItem(2.6) // it looks at the clock, which some machines make dear
	return c
}

func fused(row, what string, target float64, chain func(flow.Flow[int64]) flow.Flow[int64]) bench.Case {
	return bench.Case{
		Row: row, What: what, Against: "a loop over the same functions", Figures: bench.PerItem(target),
		Items: 8_000_000, AllocItems: amortised, NoAllocs: true,
		Weir: func(n int) bench.Trial {
			var got int64
			f := chain(flow.From(numbers(n)))
			return bench.Trial{
				Run: func() (err error) {
					got, err = f.Reduce(context.Background(), 0, sum)
					return err
				},
				Verify: func() error { return fusedSum(n, got) },
			}
		},
		Baseline: func(n int) bench.Trial {
			var got int64
			return bench.Trial{
				Run: func() error {
					got = loop(n, addOne, triple, isOdd, sum)
					return nil
				},
				Verify: func() error { return fusedSum(n, got) },
			}
		},
	}
}

// loop does by hand what the fused chain does.
//
//go:noinline
func loop(n int, first, second func(int64) int64, keep func(int64) bool, add func(acc, v int64) int64) (acc int64) {
	for v := range int64(n) {
		if v = first(v); keep(v) {
			acc = add(acc, second(v))
		}
	}
	return acc
}

// fusedSum verifies the result: three times the sum of the odd numbers up to n.
func fusedSum(n int, got int64) error {
	odds := int64(n+1) / 2
	t := total{count: odds, sum: got}
	return t.verify(odds, 3*odds*odds, false)
}
