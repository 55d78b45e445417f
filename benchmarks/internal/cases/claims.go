package cases

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-go/weir/benchmarks/internal/bench"
	"github.com/weir-go/weir/flow"
	"github.com/weir-go/weir/stage"
)

// Claims is row P9: what it costs on top to know of each message when all that was made of it has left the pipeline. The target
// is for a machine that has little else to do.
func Claims() bench.Case {
	return bench.Case{
		Row: "P9", What: "Map, Filter, Batch of 64 and FlatMap, each item a message with a claim", Against: "the same without claims",
		Figures: []bench.Figure{
			{Unit: "ns/item", Extra: 60},
			{Name: "cpu", Unit: "ns/item", Extra: 60, CPU: true},
		},
		Items: 1_000_000, AllocItems: 2_000_000, MaxAllocs: 1,
		Weir: func(n int) bench.Trial {
			var t total
			m := &messages{settled: make([]uint8, n)}
			p := claimsPipeline(flow.FromItems(m), t.push)
			return bench.Trial{
				Run:    func() error { return p.Run(context.Background()) },
				Verify: func() error { return errors.Join(fusedCount(n, &t), m.verify()) },
			}
		},
		Baseline: func(n int) bench.Trial {
			var t total
			p := claimsPipeline(flow.From(numbers(n)), t.push)
			return bench.Trial{
				Run:    func() error { return p.Run(context.Background()) },
				Verify: func() error { return fusedCount(n, &t) },
			}
		},
	}
}

// claimsPipeline sends the odd numbers up to n to push.
func claimsPipeline(f flow.Flow[int64], push func(context.Context, []int64) error) flow.Pipeline {
	return f.Map(addOne).Filter(isOdd).Batch(64, time.Second).
		FlatMap(func(b []int64) []int64 { return b }).
		To(stage.SinkFunc(push))
}

// fusedCount verifies that the odd numbers up to n have arrived in order.
func fusedCount(n int, t *total) error {
	odds := int64(n+1) / 2
	return t.verify(odds, odds*odds, true)
}

// messages is a source of the values 0 to n-1 as messages, which are settled by their number.
type messages struct {
	next    int
	settled []uint8 // how often each was
}

// PullItems implements stage.ItemSource.
func (m *messages) PullItems(_ context.Context, dst []stage.Item[int64]) (int, error) {
	if m.next == len(m.settled) {
		return 0, stage.ErrEnd
	}
	k := min(len(dst), len(m.settled)-m.next)
	for i := range dst[:k] {
		dst[i] = stage.Claimed(int64(m.next+i), stage.Meta{}, m, uint64(m.next+i))
	}
	m.next += k
	return k, nil
}

// Settle implements stage.Settler. Each message is settled by one goroutine, so it needs no lock.
func (m *messages) Settle(token uint64, _ stage.Outcome) { m.settled[token]++ }

// verify checks that each message was settled once.
func (m *messages) verify() error {
	for i, k := range m.settled {
		if k != 1 {
			return fmt.Errorf("message %d was settled %d times", i, k)
		}
	}
	return nil
}
