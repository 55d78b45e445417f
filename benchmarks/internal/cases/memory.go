package cases

import (
	"context"

	"github.com/weir-go/weir/benchmarks/internal/bench"
)

// Memory is row P7: P1's graph, however long it runs, needs no more memory.
func Memory() *bench.Memory {
	return &bench.Memory{
		Row: "P7", What: "peak memory of 20 M items through P1's graph", Short: 2_000_000, Long: 20_000_000, Target: 3,
		Run: func(n int) error {
			var t total
			if err := hopPipeline(n, addOne, t.push).Run(context.Background()); err != nil {
				return err
			}
			return t.verify(int64(n), sumTo(int64(n))+3*int64(n), true)
		},
	}
}
